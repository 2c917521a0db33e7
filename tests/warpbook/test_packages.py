"""Programs and blocks that ask for PyTorch or Triton: with the packages, without them, and what records keep.

Most tests bring packages of their own, folders that are called as the real ones. The last ones take the real ones from
where `make setup-torch` puts them, and are skipped where they are not.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from warpbook.blocks import line_counters
from warpbook.blocks.outputs import Outputs
from warpbook.book import BookError, here
from warpbook.exports import notebooks
from warpbook.pipeline.extension import parse
from warpbook.records import lines, packages, profile, recorder, records
from warpbook.records.values import Values
from warpbook.run.child import given_names, names_asked
from warpbook.run.compare import lacked, skipped
from warpbook.run.run import LackingError, RunError, run_blocks, run_page, run_program
from warpbook.source.pages import Page

SOFTCUDA = {"name": "NVIDIA H200 (softcuda)", "softcuda": True}
BOTH = "needs PyTorch and Triton, which `make setup-torch` installs"
PROGRAM = """import warpbench as wb

wb.needs(packages=("torch", "triton"))

import torch
import triton

print(torch.ONE + triton.ONE)
"""
PAGE = """# X

```python
import warpbench as wb
```

```python
wb.needs(packages=("torch", "triton"))
import triton
```

```python
def two():
    return triton.ONE + 1
```

```python
print(two())
```

```python
two = 3
print("needs neither")
```

{{ output:a.py }}
"""


@pytest.fixture
def book(small, book, monkeypatch, tmp_path):
    """A small book with the helper, on a machine without the packages."""
    (small.root / "snippets").mkdir()
    (small.root / "snippets" / "warpbench.py").symlink_to(book.snippets / "warpbench.py")
    (small.root / packages.FILE).write_text("torch==2.0\ntriton==3.0\n")
    monkeypatch.setenv("WARPBENCH_PACKAGES", str(tmp_path / "none"))
    return small


@pytest.fixture
def install(book, monkeypatch, write):
    """Make packages of these versions: modules with one constant each."""

    def one(**versions: str) -> Path:
        for name, version in versions.items():
            write(f"{version}/{name}/__init__.py", "ONE = 1\n")
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            write(f"{version}/{name}-{version}.dist-info/METADATA", about)
        write(f"{version}/numpy/__init__.py", "raise ImportError('not the one of .venv')\n")
        monkeypatch.setenv("WARPBENCH_PACKAGES", str(book.root / version))
        monkeypatch.setenv("TRITON_INTERPRET", "1")  # softcuda then leaves it alone
        return book.root / version

    return one


# -- the helper --------------------------------------------------------------------------------------------------------


def test_a_program_without_them_says_what_installs_them(book, write):
    run = run_program(book, write("snippets/x/a.py", PROGRAM))
    assert (run.stdout, run.skipped, run.packages) == (f"skipped: {BOTH}\n", BOTH, {})
    assert skipped(run.stdout) and lacked(run.stdout) == BOTH


def test_a_program_with_them_imports_them_and_nothing_else_from_there(book, write, install):
    install(torch="2.0", triton="2.0")
    run = run_program(book, write("snippets/x/a.py", PROGRAM + "import numpy\n"))
    assert run.stdout == "2\n" and run.packages == {"torch": "2.0", "triton": "2.0"}
    assert run.device == {}, "no device was asked"


@pytest.mark.parametrize("asked", ['"triton"', '("triton",)', '["triton"]'])
def test_one_of_them_is_enough(book, write, install, asked):
    install(torch="2.0")
    program = f"import warpbench as wb\nwb.needs(packages={asked})\n"
    assert run_program(book, write("snippets/x/a.py", program)).skipped == BOTH.replace("PyTorch and ", "")
    install(triton="3.0")
    assert run_program(book, write("snippets/x/a.py", program)).packages == {"triton": "3.0"}


def test_an_article_of_that_name_is_no_package(book, write, install):
    path = write("snippets/triton/a.py", PROGRAM)
    assert run_program(book, path).skipped == BOTH
    page = Page(book, write("docs/en/triton.md", PAGE.replace("{{ output:a.py }}", "")))
    assert lacked(run_page(page)[1]) == BOTH
    install(torch="2.0", triton="2.0")
    assert run_program(book, path).stdout == "2\n" and run_page(page)[3] == "2\n"


def test_an_unknown_package_is_an_error(book, write):
    with pytest.raises(RunError, match=r"ValueError: package 'numpy' is none of torch, triton"):
        run_program(book, write("snippets/x/a.py", 'import warpbench as wb\nwb.needs(packages="numpy")\n'))


def test_outside_the_book_pip_installs_them(tmp_path, book):
    (tmp_path / "warpbench.py").write_text((here().snippets / "warpbench.py").read_text("utf-8"))
    (tmp_path / "a.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "a.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        77, "skipped: needs PyTorch and Triton, which `pip install torch triton` installs"
    )  # fmt: skip


# -- a page goes on ----------------------------------------------------------------------------------------------------


def test_blocks_that_need_a_skipped_one_are_skipped_and_the_others_run(book, write, install):
    page = Page(book, write("docs/en/x.md", PAGE))
    line = f"skipped: {BOTH}\n"
    assert run_page(page) == ["", line, line, line, "needs neither\n"]
    install(torch="2.0", triton="2.0")
    assert run_page(page) == ["", "", "", "2\n", "needs neither\n"]


def test_a_name_that_no_block_gives_is_an_error_all_the_same(book, write):
    page = Page(book, write("docs/en/x.md", PAGE + "\n```python\nprint(thre)\n```\n"))
    with pytest.raises(RunError, match="NameError: name 'thre' is not defined"):
        run_page(page)


def test_what_a_block_gives_and_what_it_asks_for():
    code = (
        "import a.b, c as d\nfrom e import f\nx, y = g(x)\ndef h(i, j=k):\n    l = i + m\n    return [n for n in o]\n"
    )
    assert given_names(code) == {"a", "d", "f", "x", "y", "h"}
    assert names_asked(code) == {"g", "k", "m", "o"}
    assert names_asked("class A:\n    b = c\n    def d(self):\n        global e\n        e = A.b\n") == {"c"}


# -- records -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(book, write, install, monkeypatch):
    """The book with a page and a program that were recorded with the packages, which are gone then."""
    install(torch="2.0", triton="2.0")
    for language in ("en", "zh"):
        write(f"docs/{language}/x.md", PAGE)
    write("snippets/x/a.py", PROGRAM)
    assert recorder.record(book, [], device=SOFTCUDA) == 0
    monkeypatch.setenv("WARPBENCH_PACKAGES", str(book.root / "none"))
    return book


def test_a_record_keeps_the_versions(recorded):
    record = records.read(recorded, "softcuda", "x")
    both = {"torch": "2.0", "triton": "2.0"}
    assert record["programs"]["x/a.py"]["packages"] == both
    assert [block.get("packages") for block in record["blocks"]["printed"]] == [None, both, both, both, both]


@pytest.mark.parametrize("update", [False, True])
def test_without_the_packages_a_record_stays_as_it_is(recorded, write, capsys, update):
    kept = records.path_of(recorded, "softcuda", "x").read_bytes()
    capsys.readouterr()
    write("snippets/x/a.py", PROGRAM.replace("torch.ONE +", "2 * torch.ONE +"))
    assert recorder.record(recorded, [], update=update, device=SOFTCUDA) == 0
    said = capsys.readouterr().out
    assert re.search(rf"^snippets/x/a.py  left out  {re.escape(BOTH)}$", said, re.MULTILINE), said
    assert records.path_of(recorded, "softcuda", "x").read_bytes() == kept
    assert any("stale" in line for line in records.stale(recorded, "softcuda", "x")), "and says so"


def test_a_program_that_was_never_recorded_stays_missing(recorded, write, capsys):
    write("snippets/x/b.py", PROGRAM)
    assert recorder.record(recorded, [], device=SOFTCUDA) == 0
    assert "x/b.py" not in records.read(recorded, "softcuda", "x")["programs"]


def test_counters_of_what_is_left_out_are_left_out(recorded):
    with pytest.raises(LackingError, match=re.escape(f"counters of x/a.py: {BOTH}")):
        profile.count(recorded, "x/a.py")


def test_counters_of_tensors_are_equal_but_for_what_the_model_of_the_l1_finds():
    """Its sets follow addresses, and PyTorch's tensors lie elsewhere in each run."""
    kept = [{"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "metrics": {"a": 5, profile.MODELLED[0]: 1000}}]

    def now(**changes):
        metrics = {**kept[0]["metrics"], **changes.pop("metrics", {})}
        return [{**kept[0], **changes, "metrics": metrics}]

    def differ(now, wandering=True):
        return profile.difference(kept, now, wandering=wandering)

    assert differ(now()) == differ(now(metrics={profile.MODELLED[0]: 1004})) == ""
    assert "counted as 1004" in differ(now(metrics={profile.MODELLED[0]: 1004}), wandering=False)
    assert differ(now(metrics={"a": 6})) == "launch 1, k: a is recorded as 5 and counted as 6"
    assert "counted as 1100" in differ(now(metrics={profile.MODELLED[0]: 1100}))
    assert differ(now(grid=[2, 1, 1])) == "launch 1, k: its grid is [2, 1, 1] now"
    assert differ([]) == "1 launches are recorded, 0 counted"


def test_an_output_names_the_versions(recorded):
    page = Page(recorded, recorded.root / "docs/en/x.md")
    assert "PyTorch 2.0, Triton 2.0 (this book was tried with Triton 3.0)<" in Outputs(page, "en").of_program("a.py")
    assert "PyTorch 2.0, Triton 2.0（本书所用版本为 Triton 3.0）<" in Outputs(page, "zh").of_program("a.py")
    (recorded.root / packages.FILE).write_text("torch==2.0\ntriton==2.0\n")
    assert "no GPU (softcuda) · PyTorch 2.0, Triton 2.0<" in Outputs(page, "en").of_program("a.py")


def test_versions_that_were_not_tried_are_said_to_whoever_records(recorded, install, capsys):
    install(torch="2.1+cpu", triton="2.1+cpu")
    recorder.record(recorded, [], update=True, device=SOFTCUDA)
    said = capsys.readouterr().out
    assert "with PyTorch 2.1, Triton 2.1, tried with PyTorch 2.0, Triton 3.0: `make setup-torch` installs that" in said


def test_a_build_is_no_other_version(book):
    part = {"packages": {"torch": "2.0+cpu", "triton": "3.0"}}
    assert packages.untried(book, part) == {} and packages.note(book, part) == ""
    assert packages.named(part) == "PyTorch 2.0, Triton 3.0"


def test_a_difference_names_the_versions():
    then = {"packages": {"triton": "3.0"}}
    assert packages.apart(then, {"triton": "3.0"}) == "" and packages.apart({}, {}) == ""
    assert packages.apart(then, {"triton": "3.1"}) == " (recorded with Triton 3.0, run with Triton 3.1)"


def test_a_page_says_which_versions_were_tried(book, write):
    page = Page(book, write("docs/en/x.md", "# X\n\nTriton {{ tried:triton }}, {{ tried:jax }}\n"))
    made = parse(page, "en", Values(book))
    assert "Triton 3.0," in made.html
    assert made.problems == [f'docs/en/x.md:3: "tried:jax": {packages.FILE} has torch and triton']


# -- line counters of Triton's kernels ---------------------------------------------------------------------------------

KERNEL = """import triton


# --8<-- [start:kernel]
@triton.jit
def twice(x, n):
    store(x, 2 * load(x))
# --8<-- [end:kernel]
"""
SHOWN = """# X

```python
import triton
```

```{fence}
--8<-- "snippets/x/k.py:kernel"
```

{{{{ lines:twice{program} }}}}

```python
@triton.jit
def thrice(x, n):
    store(x, 3 * load(x))
```

{{{{ lines:thrice }}}}
"""
COUNTS = {"requests": 2, "sectors": 8, "warps": 5, "lanes": 160}


def launch(kernel: str, file: str, number: int, source: str) -> dict:
    """As `softcuda profile` has one; it knows no source of a page's block."""
    metrics = {"softcuda__warp_instructions.sum": 5, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 2}
    counted = [{"file": file, "line": number, "source": source, "metrics": metrics}]
    return {"kernel": kernel, "grid": [1, 1, 1], "block": [128, 1, 1], "metrics": metrics, "lines": counted}


@pytest.fixture
def shown(book, write, monkeypatch):
    """Pages that show a kernel of a file and one of their own, and what the profiler would count of them."""

    def one(fence: str = "python", program: str = "") -> list[Page]:
        path = write("snippets/x/k.py", KERNEL)
        text = SHOWN.format(fence=fence, program=program)
        pages = [Page(book, write(f"docs/{language}/x.md", text)) for language in ("en", "zh")]
        pages[1].path.write_text(text.replace("# X\n", "# 某\n\n另一种语言。\n"), "utf-8")
        names = [f"<{block.where}>" for block in pages[0].python]
        by_page = [launch("thrice", names[-1], 3, "")]
        by_program = [launch("twice", str(path), 7, "    store(x, 2 * load(x))")]
        if not program:
            by_page.append(launch("twice", names[1], 3, ""))

        def counted(run, name):
            return (by_program if "k.py" in name else by_page), {"triton": "3"}

        monkeypatch.setattr(profile, "counted", counted)
        return pages

    return one


@pytest.mark.parametrize(("fence", "program"), [("python", ""), ("text", "@k.py"), ("{.text}", "@k.py")])
def test_counters_of_a_kernel_by_python_line(shown, book, fence, program):
    pages = shown(fence, program)
    lines.record(book, "x")
    assert lines.stale(book, "x") == []
    kept = lines.read(book, "x")
    assert kept["x/k.py" if program else ""]["packages"] == {"triton": "3"}
    assert kept[""]["launches"]["thrice#1"]["lines"] == {
        "block 3" if not program else "block 2": {
            "3": {"source": "store(x, 3 * load(x))", "requests": 2, "warps": 5}
        }
    }  # fmt: skip
    for page, language in zip(pages, ("en", "zh"), strict=True):
        made = parse(page, language, Values(book))
        assert [line for line in made.problems if "softcuda/x.json: missing" not in line] == []
        assert 'scope="row">7</th>' in made.html and "store(x, 2 * load(x))</code>" in made.html, "a line of the file"
        assert 'scope="row">3</th>' in made.html and "store(x, 3 * load(x))</code>" in made.html, "a line of the block"
        assert {"en": "Made with Triton 3 (this", "zh": "所用版本：Triton 3（本书"}[language] in made.html
        assert re.search(r'<span class="kn">import|<span class="nd">@triton', made.html), "in Python's colours"


def test_a_line_that_moved_is_stale(shown, book, write):
    shown("text", "@k.py")
    lines.record(book, "x")
    write("snippets/x/k.py", "# one more\n" + KERNEL)
    assert any("k.py:7 is another line now" in line for line in lines.stale(book, "x"))


def test_counters_stand_under_no_listing_of_text(book, write):
    page = Page(book, write("docs/en/x.md", "# X\n\n```text\nno kernel\n```\n\n{{ lines:twice }}\n"))
    with pytest.raises(BookError, match="lines of twice stand under no listing of a kernel"):
        line_counters.fold_out(page, "en", lines.wanted([page])[0], page.blocks[0], "")


# -- notebooks ---------------------------------------------------------------------------------------------------------


def test_cells_that_need_a_skipped_one_say_so(book, write):
    path = write("snippets/x/a.py", PROGRAM.replace("print", "def one():\n    return triton.ONE\n\n\nprint"))
    cells = json.loads(notebooks.notebook(book, path, "en", "https://x/"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"][2:]
    assert [code.startswith("%%or_skip\n") for code in codes] == [True] * 3
    page = Page(book, write("docs/en/x.md", PAGE))
    made = json.loads(notebooks.of_page(page, PAGE, "en", "https://x/", "H200"))
    codes = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"][2:]
    assert [code.startswith("%%or_skip\n") for code in codes] == [False, True, True, True, False]


def test_a_notebook_goes_on_after_a_cell_that_was_skipped(capsys):
    shell = InteractiveShell()
    shell.run_cell(notebooks.OR_SKIP)
    shell.run_cell("%%or_skip\nprint(one)")
    assert re.search("NameError.*: name 'one' is not defined", capsys.readouterr().out)
    skip = "class Skipped(SystemExit):\n    def __str__(self):\n        return 'needs one'\nraise Skipped(77)\none = 1"
    shell.run_cell(f"%%or_skip\n{skip}")
    shell.run_cell("%%or_skip\nprint(one)")
    assert capsys.readouterr().out == "skipped: needs one\n"
    shell.run_cell("%%or_skip\nimport inspect\ndef f():\n    return 2\nprint(inspect.getsource(f))")
    assert capsys.readouterr().out == "def f():\n    return 2\n\n", "Triton reads its kernels' source"


# -- the real ones -----------------------------------------------------------------------------------------------------

REAL = here().root / ".cache" / "torch" / "packages"
ADD = '''"""Two vectors are added."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.gpuarray as gpuarray
import warpbench as wb

wb.needs(packages="triton")

import triton
import triton.language as tl


# --8<-- [start:kernel]
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {operation}(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
# --8<-- [end:kernel]


x, y = np.random.rand(2, 1000).astype(np.float32)
out = gpuarray.to_gpu(np.full(1000, {start}, np.float32))
add[(4,)](gpuarray.to_gpu(x), gpuarray.to_gpu(y), out, 1000, BLOCK=256)
wb.check(out.get(), {start} + x + y if {start} == 1 else x + y, 1e-6)
print("right")
'''
STORED = {"operation": "tl.store", "start": "np.nan"}
ADDED = {"operation": "tl.atomic_add", "start": "1"}


@pytest.fixture
def real(book, monkeypatch):
    if not (REAL / "triton").is_dir():
        pytest.skip("needs Triton, which `make setup-torch` installs")
    monkeypatch.setenv("WARPBENCH_PACKAGES", str(REAL))
    return book


@pytest.mark.parametrize("kernel", [STORED, ADDED], ids=["store", "atomic"])
def test_the_sabotage_breaks_triton_s_kernels(real, write, monkeypatch, kernel):
    path = write("snippets/x/a.py", ADD.format(**kernel))
    assert run_program(real, path).stdout == "right\n"
    monkeypatch.setenv("PYTHONPATH", str(here().root / "tests" / "pages" / "sabotage"))
    for kind in ("unwritten", "zeros", "nan"):
        monkeypatch.setenv("SABOTAGE", kind)
        with pytest.raises(RunError, match="AssertionError: result"):
            run_program(real, path)


def test_lines_of_a_real_kernel_on_a_page_and_in_a_program(real, write):
    write("snippets/x/a.py", ADD.format(**STORED))
    text = '# X\n\n```{.python}\n--8<-- "snippets/x/a.py"\n```\n\n{{ lines:add }}\n\n'
    text += '```{.text}\n--8<-- "snippets/x/a.py:kernel"\n```\n\n{{ lines:add@a.py }}\n'
    page = Page(real, write("docs/en/x.md", text))
    for program in ("", "x/a.py"):
        made = lines.measure(page, lines.wanted([page]), program)
        [(file, counted)] = made["launches"]["add#1"]["lines"].items()
        assert file == "snippets/x/a.py" and counted["18"]["source"].startswith("tl.store(out + i, tl.load(")
        assert counted["18"]["requests"] == 3 * 32, "of 1000 numbers: three arrays, 32 warps of four bytes a lane"
        assert list(made["packages"]) == ["triton"]


def test_both_are_imported_beside_the_packages_of_this_environment(real, write):
    if not (REAL / "torch").is_dir():
        pytest.skip("needs PyTorch, which `make setup-torch` installs")
    text = 'import warpbench as wb\nwb.needs(packages=("torch", "triton"))\nimport numpy, torch\n'
    ran = run_blocks(Page(real, write("docs/en/x.md", f"# X\n\n```python\n{text}print(torch.ones(2).numpy())\n```\n")))
    assert ran.printed == ["[1. 1.]\n"] and set(ran.packages[0]) == {"torch", "triton"}
