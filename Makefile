# Warpbook.  Each target does the set-up that it needs, and calls one tool.
#
#   make serve     the site in both languages at localhost:8000
#   make test      every code block, softcuda's and the book's tests, and the site in a browser
#   make site      the site into site/ (Chinese under site/zh/), strictly
#   make sweep     softcuda's corpus of CUDA C++ through NVIDIA's compilers 12.9 to 13.5, fetched into .cache (2 GB)
#   make record    run pages and programs on this machine's device, write records/  (ONLY=reduction: one article; UPDATE=1: all of it anew)
#   make setup     only the set-up, into .venv
#   make lint      ruff, clang-format, mypy
#   make lock      renew the locks  (UPGRADE=1: take newer versions)
#   make clean     remove all that these made
#   make serve        the site in both languages at localhost:8000
#   make test         every code block, softcuda's and the book's tests, and the site in a browser
#   make test-pycuda  PyCUDA's own test suite and examples on softcuda
#   make site         the site into site/ (Chinese under site/zh/), strictly
#   make record       run pages and programs on this machine's device, write records/  (ONLY=reduction: one article; UPDATE=1: all of it anew)
#   make setup        only the set-up, into .venv
#   make lint         ruff, clang-format, mypy
#   make wheel        softcuda's wheel for other machines, into dist/
#   make aarch64      softcuda for arm64, compiled and tried on an emulated CPU
#   make lock         renew the locks  (UPGRADE=1: take newer versions)
#   make clean        remove all that these made
#
# PYTHON=python3.12 sets up with another Python (3.11 or newer).

PYTHON ?= $(or $(wildcard .venv/bin/python),python3)
RUN := .venv/bin/python -m

.PHONY: setup setup-site serve site test sweep record lint lock clean
.PHONY: setup setup-site serve site test test-pycuda record lint wheel aarch64 lock clean

setup:
	@$(PYTHON) tools/setup_env.py all

setup-site:
	@$(PYTHON) tools/setup_env.py site

serve: setup-site
	@$(RUN) warpbook serve

site: setup-site
	@$(RUN) warpbook site

test: setup
	@$(RUN) pytest $(ARGS)

sweep: setup
	@.venv/bin/python tests/softcuda/sweep/sweep.py --compilers all --forms $(ARGS)
test-pycuda: setup
	@$(RUN) pytest -n 0 tests/pycuda $(ARGS)

record: setup
	@$(RUN) warpbook record $(if $(ONLY),--only $(ONLY)) $(if $(UPDATE),--update)

lint: setup
	@tools/lint.sh

wheel: setup
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(RUN) auditwheel repair --wheel-dir dist .cache/softcuda/*.whl

aarch64: setup
	@tools/aarch64.sh

lock: setup-site
	@UPGRADE=$(UPGRADE) tools/lock.sh

clean:
	rm -rf .venv .cache site dist node_modules softcuda/build .pytest_cache .mypy_cache .ruff_cache
