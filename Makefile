# Warpbook.  Each target does the set-up that it needs, and calls one tool.
#
#   make serve        the site in both languages at localhost:8000; an edit shows at once, page by page  (ARGS="--port 8001")
#   make test         every code block, softcuda's and the book's tests, and the site in a browser  (ARGS: for pytest);
#                     what passed before on the same code is left out  (ARGS=--all: everything)
#   make site         the site into site/ (Chinese under site/zh/), strictly  (OUTPUT=PATH: elsewhere, also for offline and pdf)
#   make offline      site/warpbook.zip: both languages, to unpack and read without a server or a network
#   make pdf          site/warpbook-en.pdf and -zh.pdf: the book, printed by an installed Chromium
#   make audit        weight, layout shift, axe and Lighthouse for every page of the built site, as a table; exits 1 where a target is
#                     missed or a page got worse  (ARGS=--update: renew audit.json; --quick: without Lighthouse; --only models/)
#   make site-next    the pages into site-next/ with Zensical, another host, from the same sources: a proof, not yet a site
#   make record       run pages and programs on this machine's device, write records/  (ONLY=reduction: one article; UPDATE=1: all of it anew;
#                     SHARD=1/2: the first half)
#   make try          the list of exercises, and which of them are done
#   make setup        only the set-up, into .venv
#   make setup-torch  PyTorch and Triton, which some programs ask for, into .cache/torch  (0.5 GB; ONLY=triton: without PyTorch;
#                     CUDA=1: PyPI's PyTorch, for a GPU, several GB; NEWEST=1: to try the newest versions)
#   make claims       every claim, how good its prediction was, whether its gate holds  (ARGS=--release: fails while a GPU is waited for)
#   make lint         ruff, clang-format, mypy, and the messages of new commits
#   make lock         renew the locks  (UPGRADE=1: take newer versions)
#   make clean        remove all that these made
#
# softcuda, beyond its own tests:
#
#   make test-pycuda  PyCUDA's own test suite and examples
#   make test-triton  Triton's kernels and programs on softcuda; fetches Triton into .cache (1 GB), if setup-torch has not
#   make sweep        a corpus of CUDA C++ through NVIDIA's compilers 12.9 to 13.5, fetched into .cache (2 GB)
#   make fuzz         parser, machine, driver and linker under libFuzzer; needs clang  (SECONDS=60 per target, TARGETS="load driver")
#   make sanitize     the tests under AddressSanitizer and UBSan, or ThreadSanitizer  (ARGS=--thread; or for pytest)
#   make bench        speed beside PoCL, vgre, Numba's simulator and Oclgrind  (ARGS: for bench/run.py)
#   make wheel        a wheel for other machines, into dist/
#   make aarch64      compiled for arm64 and tried on an emulated CPU
#
# PYTHON=python3.13 sets up with another Python (3.11 or newer): make test PYTHON=python3.13 ARGS=tests/softcuda/test_hook.py

# The one in .venv, if it still starts: a distribution's upgrade takes away what it links to.
PYTHON ?= $(shell .venv/bin/python -c '' 2>/dev/null && echo .venv/bin/python || echo python3)
RUN := .venv/bin/python -m

.PHONY: setup setup-site setup-print setup-torch serve site site-next offline pdf audit test record try claims lint lock clean
.PHONY: test-pycuda test-triton sweep fuzz sanitize bench wheel aarch64

setup:
	@$(PYTHON) tools/setup_env.py all

setup-site:
	@$(PYTHON) tools/setup_env.py site

setup-print:
	@$(PYTHON) tools/setup_env.py print

# Beside .venv, not in it: they are larger than all else, and the set-up would take them out again.
setup-torch: setup
	@.venv/bin/python tools/setup_torch.py $(if $(NEWEST),newest$(ONLY:%=-%),$(or $(ONLY),$(if $(filter 0,$(CUDA)),cpu,$(if $(filter 1,$(CUDA)),cuda))))

serve: setup-site
	@$(RUN) warpbook serve $(ARGS)

site: setup-site
	@$(RUN) warpbook site $(if $(OUTPUT),--output '$(OUTPUT)')

site-next: setup-site
	@.venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes --requirement requirements-next.lock
	@$(RUN) warpbook.site.next_host

offline: site
	@$(RUN) warpbook offline $(if $(OUTPUT),'$(OUTPUT)')

pdf: setup-print site
	@$(RUN) warpbook pdf $(if $(OUTPUT),'$(OUTPUT)')

test: setup
	@$(RUN) pytest $(ARGS)

audit: setup-print
	@$(RUN) warpbook audit $(ARGS)

record: setup
	@$(RUN) warpbook record $(if $(ONLY),--only $(ONLY)) $(if $(UPDATE),--update) $(if $(SHARD),--shard $(SHARD))

try: setup
	@$(RUN) warpbook try $(ARGS)

claims: setup-site
	@$(RUN) warpbook claims $(ARGS)

lint: setup
	@tools/lint.sh

lock: setup-site
	@UPGRADE=$(UPGRADE) tools/lock.sh

test-pycuda: setup
	@$(RUN) pytest -n 0 tests/pycuda $(ARGS)

# Beside .venv, not in it: the set-up would take it out again, and nothing else needs it.
test-triton: setup
	@test -d .cache/torch/packages/triton || .venv/bin/uv pip install --quiet --python .venv/bin/python --target .cache/triton/packages --require-hashes --requirement requirements-triton.lock
	@PYTHONPATH="$(CURDIR)/.cache/$$(test -d .cache/torch/packages/triton && echo torch || echo triton)/packages" $(RUN) pytest tests/triton $(ARGS)

sweep: setup
	@.venv/bin/python tests/softcuda/sweep/header_forms.py --compilers all --forms
	@.venv/bin/python tests/softcuda/sweep/sweep.py --variants all --architectures 75,90,100a,120 --forms $(ARGS)
	@.venv/bin/python tests/softcuda/sweep/sweep.py --compilers all --forms $(ARGS)

fuzz: setup
	@.venv/bin/python tests/softcuda/fuzz/fuzz.py --seconds $(or $(SECONDS),60) $(TARGETS)

sanitize: setup
	@.venv/bin/python tools/sanitize.py $(ARGS)

bench: setup
	@.venv/bin/python bench/run.py $(ARGS)

wheel: setup
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(RUN) auditwheel repair --wheel-dir dist .cache/softcuda/*.whl

aarch64: setup
	@tools/aarch64.sh

clean:
	rm -rf .venv .cache site site-next .site-* dist node_modules softcuda/build .pytest_cache .mypy_cache .ruff_cache
