"""A notebook runs where it lands: in Jupyter, in an empty folder and an environment that do not know the repository."""

from __future__ import annotations

import base64
import bz2
import functools
import hashlib
import html
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import venv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from warpbook.book import LANGUAGES, SOFTCUDA, Book, here
from warpbook.exports import notebooks, plain
from warpbook.pipeline.extension import parse
from warpbook.records import records
from warpbook.records.values import Values
from warpbook.run.compare import difference, lacked
from warpbook.source.pages import Page

BOOK = here()
HOME = "https://example.org/book/"
PROGRAMS = [
    BOOK.snippets / name
    for name in ("reduction/shuffles.py", "programming-model/async_error.py", "flash-attention/wgmma.py")
]
# Articles whose notebooks run in Jupyter: between them they have everything that notebooks have.
RUN = ("start", "programming-model", "triton", "torch-operator", "automata", "pagerank")
ARTICLES = [path.stem for path in BOOK.in_reading_order("en") if Page(BOOK, path).python]

RUNNER = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], nbformat.NO_CONVERT)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=800, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Path:
    """An environment outside of the repository, to which this one's packages are lent; the book is none of them."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    lent = Path(sysconfig.get_path("platlib"))
    (packages / "lent.pth").write_text(f"{lent}\n")
    (packages / "softcuda.pth").write_bytes((lent / "softcuda.pth").read_bytes())
    return folder


# What C code prints reaches Jupyter through a pipe that a thread reads. On a busy machine a cell may be over before;
# nbclient then takes nothing more for it, where a reader's Jupyter does.
STARTUP = """
def wait_for_printf(*_):
    import fcntl, struct, termios, time
    end = time.monotonic() + 10
    while time.monotonic() < end and struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, bytes(4)))[0]:
        time.sleep(0.01)
    time.sleep(0.03)  # what has been read is on its way
get_ipython().events.register("post_run_cell", wait_for_printf)
del wait_for_printf
"""


def run_in_jupyter(text: str, elsewhere: Path, folder: Path) -> list[str]:
    """What each code cell of a notebook prints, run from top to bottom on softcuda in an empty folder."""
    path = folder / "taken.ipynb"
    path.write_text(text, "utf-8")
    empty = folder / "empty"
    empty.mkdir()
    startup = folder / "ipython" / "profile_default" / "startup" / "wait.py"
    startup.parent.mkdir(parents=True)
    startup.write_text(STARTUP)
    strange = ("PYTHON", "SOFTCUDA", "JUPYTER", "PYTEST", "VIRTUAL_ENV")  # with PYTEST_…, Jupyter leaves printf alone
    env = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    env |= {"SOFTCUDA": "force", "PATH": f"{elsewhere / 'bin'}:{os.defpath}", "IPYTHONDIR": str(folder / "ipython")}
    env |= {f"JUPYTER_{what}_DIR": str(folder / "jupyter") for what in ("CONFIG", "DATA", "RUNTIME")}
    env |= {"WARPBENCH_PACKAGES": str(BOOK.root / ".cache" / "torch" / "packages")}  # lent, too, where they are
    python = elsewhere / "bin" / "python"
    known = subprocess.run([python, "-c", "import warpbench"], cwd=empty, env=env, capture_output=True)
    assert known.returncode, "the environment outside of the repository knows its helper"
    command = [python, "-W", "error::nbformat.warnings.MissingIDFieldWarning", "-c", RUNNER, path]
    done = subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stderr
    return [printed(cell) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    return "".join("".join(output["text"]) for output in cell["outputs"] if output.get("name") == "stdout")


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def cells_of(text: str, kind: str = "") -> list[dict[str, Any]]:
    return [cell for cell in json.loads(text)["cells"] if kind in ("", cell["cell_type"])]


@functools.cache
def markdown_with_folds(article: str, language: str) -> str:
    return plain.markdown(parse(Page(BOOK, BOOK.page_of(article, language)), language, Values(BOOK)), folds=True)


def taken(article: str, language: str = "en") -> str:
    page = Page(BOOK, BOOK.page_of(article, language))
    return notebooks.of_page(page, markdown_with_folds(article, language), language, HOME, "NVIDIA H200")


def small_page(small: Book, write: Callable[[str, str], Path], text: str, name: str = "x") -> str:
    """The notebook of a small book's page."""
    page = Page(small, write(f"docs/en/{name}.md", text))
    lines = plain.lines_of(page.source, {}, folds=True)
    return notebooks.of_page(page, plain.tidy("\n".join(lines)), "en", HOME, "H200")


# -- they run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_program_s_notebook_runs_in_an_empty_folder(program, elsewhere, tmp_path):
    record = records.read(BOOK, SOFTCUDA, program.parent.name)
    outputs = run_in_jupyter(notebooks.notebook(BOOK, program, "en", HOME), elsewhere, tmp_path)
    kernels = sum(one.startswith("Writing ") for one in outputs)
    kept = record["programs"][records.program_name(program)]["stdout"]
    assert difference("notebook", kept, "".join(outputs[2 + kernels :]), (records.device_name(record),)) is None


@pytest.mark.parametrize("article", RUN)
def test_an_article_s_notebook_prints_what_is_recorded(article, elsewhere, tmp_path):
    text = taken(article)
    outputs = run_in_jupyter(text, elsewhere, tmp_path)
    codes = [source(cell) for cell in cells_of(text, "code")]
    blocks = [out for code, out in zip(codes[2:], outputs[2:], strict=True) if code and not code.startswith(OTHERS)]
    record = records.read(BOOK, SOFTCUDA, article)
    kept = [entry["stdout"] for entry in record["blocks"]["printed"]]
    assert len(blocks) == len(kept)
    name = (records.device_name(record),)
    found = [
        difference(f"cell {i}", *pair, name)
        for i, pair in enumerate(zip(kept, blocks, strict=True))
        if not lacked(pair[1])
    ]
    assert [one for one in found if one] == []
    assert outputs[0] == "device: NVIDIA H200 (softcuda)\n"
    if any(map(lacked, blocks)):
        pytest.skip("needs PyTorch and Triton, which `make setup-torch` installs")


@pytest.mark.parametrize("article", [article for article in ARTICLES if article not in RUN])
def test_an_article_s_notebook_runs_what_the_page_runs(article, tmp_path):
    """The same code on the same files prints the same: `tests/pages` runs it. The files lie in an empty folder here."""
    text = taken(article)
    codes = [source(cell) for cell in cells_of(text, "code")]
    blocks = [code.removeprefix("%%or_skip\n") for code in codes[2:] if code and not code.startswith(OTHERS)]
    page = Page(BOOK, BOOK.page_of(article, "en"))
    assert [code.rstrip("\n") for code in blocks] == [block.code.rstrip("\n") for block in page.python]
    assert features(text) <= features_of_those_that_run(), "name it in RUN: it has something new"

    unpack_in(tmp_path, codes)
    there = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert [name for name, path in there.items() if lines_of(path) != lines_of(BOOK.root / name)] == []
    carried = [path.read_text("utf-8") for name, path in there.items() if not name.startswith(JUDGES)]
    assert {name for code in [*blocks, *carried] for name in files_named(code, article)} <= there.keys()


OTHERS = ("%%writefile", "%%judge")
JUDGES = ("exercises/", "snippets/warpjudge/")


def features(text: str) -> set[str]:
    """What a notebook has of all that notebooks can have."""
    codes = [source(cell) for cell in cells_of(text, "code")]
    found = {code.split()[0] for code in codes if code.startswith("%%")}
    packed = json.loads(bz2.decompress(base64.b64decode(re.search(r'^PACKED = "(.*)"$', codes[1], re.MULTILINE)[1])))
    suffixes = {Path(name).suffix for name in packed if not name.startswith(JUDGES)}
    found |= {suffix if suffix in (".py", ".c") else "data" for suffix in suffixes}
    return found | {word for word in ("packages=", "subprocess", "__file__") if any(word in code for code in codes[2:])}


@functools.cache
def features_of_those_that_run() -> set[str]:
    return set().union(*(features(taken(one)) for one in RUN))


def lines_of(path: Path) -> list[str]:
    """Of a file, without the marks of its sections and empty lines beside them."""
    lines = path.read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("// --8<--")]


def unpack_in(folder: Path, codes: list[str]) -> None:
    """Write what the helpers' cell and those with kernels write, with nothing but Python."""
    kernels = [code for code in codes if code.startswith("%%writefile")]
    unpacking = codes[1].partition("\nunpack()")[0] + "\nunpack()"  # without what then asks IPython for magics
    command = [sys.executable, "-I", "-"]
    done = subprocess.run(command, input=unpacking, cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    for code in kernels:
        head, _, rest = code.partition("\n")
        (folder / head.split()[1]).write_text(rest + "\n", "utf-8")


def files_named(code: str, article: str) -> set[str]:
    """Files of the book that code names in quotation marks or imports, from the root."""
    beside = [BOOK.snippets / article, BOOK.snippets]
    names = set(re.findall(r"""["'<](\w[\w./-]*\.\w+)["'>]""", code))
    modules = re.findall(r"^\s*(?:from|import) +(\w+)", code, re.MULTILINE)
    names |= {f"{module}.py" for module in modules}
    return {BOOK.relative(place / name) for name in names for place in beside if (place / name).is_file()}


def test_a_cell_that_the_device_cannot_serve_is_skipped_and_says_so(small, write, elsewhere, tmp_path):
    write("snippets/warpbench.py", (BOOK.snippets / "warpbench.py").read_text("utf-8"))
    first = "import pycuda.autoprimaryctx\nimport warpbench as wb\nwb.needs('99.0')\nprint(1)"
    text = small_page(small, write, f"# X\n\n```python\n{first}\n```\n\n```python\nprint(2)\n```\n")
    *_, skipped, after = run_in_jupyter(text, elsewhere, tmp_path)
    assert skipped.startswith("skipped: needs compute capability 99.0") and after == "2\n"


def test_the_judge_says_of_a_stub_that_it_is_wrong_and_of_the_solution_that_it_is_right(
    small, write, elsewhere, tmp_path
):
    """In an empty folder, by an environment that does not know the book; a line is the cell's own."""
    name = "memory-access/eight-per-thread"
    shutil.copytree(BOOK.root / "exercises" / name, small.root / "exercises" / name)
    shutil.copytree(BOOK.snippets / "warpjudge", small.snippets / "warpjudge")
    page = Page(small, write("docs/en/memory-access.md", f"# X\n\n```python\n1\n```\n\n{{{{ exercise:{name} }}}}\n"))
    text = plain.markdown(parse(page, "en", Values(small)), folds=True)
    made = json.loads(notebooks.of_page(page, text, "en", HOME, "H200"))
    stub, unfinished, *_ = (cell for cell in made["cells"] if source(cell).startswith("%%judge") or not source(cell))
    unfinished["source"] = source(stub).replace("// end of", "y[0] = oops;\n// end of")
    judged = [out for out in run_in_jupyter(json.dumps(made), elsewhere, tmp_path)[3:] if out]
    assert [one.split()[0] for one in judged] == ["wrong", "error", "right"]
    assert "oops" in judged[1] and f"line {source(stub).splitlines().index('    // end of your code') + 1}" in judged[1]


# -- the first cells ---------------------------------------------------------------------------------------------------


PYCUDA = """
from pathlib import Path
root = Path(__file__).parents[1]
(root / "pycuda").mkdir()
for name, text in {
    "__init__": "", "autoprimaryctx": "", "compiler": "SourceModule = str",
    "driver": "class Context:\\n get_device = staticmethod(lambda: Context)\\n name = staticmethod(lambda: 'T4')",
}.items():
    (root / "pycuda" / f"{name}.py").write_text(text)
"""
PIP = f"""
import sys
from pathlib import Path
wanted = sys.argv[-1].split()[0]
if wanted == "pycuda":
{PYCUDA.replace(chr(10), chr(10) + "    ")}
elif wanted == "softcuda":
    folder = Path(__file__).parents[1] / "softcuda"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "__main__.py").write_text({PYCUDA!r})
    (folder / "_hook.py").write_text("def notice(): print('noticed')")
else:
    (Path(__file__).parents[1] / f"{{wanted}}.py").write_text("")
"""


def run_setup(
    folder: Path, cell: str, files: dict[str, str], tools: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the set-up cell in a Python without any package but these files, beside no program but these tools."""
    environment = folder / "bare"
    venv.create(environment, symlinks=True, with_pip=False)
    (packages,) = environment.glob("lib/python3*/site-packages")
    for name, text in files.items():
        (packages / name).parent.mkdir(exist_ok=True)
        (packages / name).write_text(text)
    bin_ = folder / "tools"
    bin_.mkdir()
    for name, text in tools.items():
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(stat.S_IRWXU)
    command = [environment / "bin" / "python", "-I", "-c", cell]
    return subprocess.run(command, cwd=folder, env={"PATH": str(bin_)}, capture_output=True, text=True)


def setup_cell(language: str = "en") -> str:
    return source(notebooks.setup(language, HOME))


GPU = {"nvidia-smi": "#!/bin/sh\n"}


def test_with_a_gpu_numpy_and_pycuda_are_installed(tmp_path):
    done = run_setup(tmp_path, setup_cell(), {"pip/__main__.py": PIP}, GPU)
    assert done.stdout.splitlines() == [
        "python -m pip install --quiet numpy", "python -m pip install --quiet pycuda", "device: T4"
    ]  # fmt: skip


def test_without_a_gpu_softcuda_is_installed_from_the_books_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    done = run_setup(tmp_path, setup_cell(), {"pip/__main__.py": PIP}, {})
    assert done.stdout.splitlines() == [
        "python -m pip install --quiet softcuda @ git+https://github.com/o/r#subdirectory=softcuda",
        "python -m pip install --quiet numpy",
        "python -m softcuda install-pycuda",
        "noticed",
        "device: T4",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_gpu_and_a_repository_two_lines_say_what_to_do(tmp_path, monkeypatch, language):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    done = run_setup(tmp_path, setup_cell(language), {}, {})
    missing, advice = done.stderr.partition("SetupError: ")[2].splitlines()
    assert done.returncode and "softcuda" in missing and "Colab" in advice and f"{HOME}softcuda/" in advice


def test_with_a_gpu_softcuda_is_installed_when_the_judge_needs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    cell = f"{setup_cell()}\nprint('asked')\nneed_softcuda('one')\nneed_softcuda('two')"
    said = run_setup(tmp_path, cell, {"pip/__main__.py": PIP}, GPU).stdout.partition("asked\n")[2]
    assert said == "python -m pip install --quiet softcuda @ git+https://github.com/o/r#subdirectory=softcuda\n"


def test_without_a_repository_the_judge_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    done = run_setup(tmp_path, f"{setup_cell()}\nneed_softcuda('why\\nhow')", {"pip/__main__.py": PIP}, GPU)
    assert done.stderr.partition("SetupError: ")[2].splitlines() == ["why", "how"]


def test_what_pip_cannot_install_is_said_in_two_lines(tmp_path):
    pip = "import sys\nprint('note: x')\nsys.exit('ERROR: no network')"
    done = run_setup(tmp_path, setup_cell(), {"pip/__main__.py": pip}, GPU)
    failed, advice = done.stderr.partition("SetupError: ")[2].splitlines()
    assert failed == "ERROR: no network" and "nvcc" in advice


def test_jupyter_shows_these_two_lines_and_no_traceback():
    cell = re.search(r"^class SetupError.*?(?=\n\n)", setup_cell(), re.DOTALL | re.MULTILINE)[0]
    scope: dict[str, Any] = {}
    exec(cell, scope)
    assert scope["SetupError"]("one\ntwo")._render_traceback_() == ["one\ntwo"]


def test_the_helper_is_packed_in_a_folded_cell_that_says_what_it_holds(small, write, tmp_path, monkeypatch):
    write("snippets/warpbench.py", "A = '屏障'\n")
    write("snippets/x/b.py", "B = 2\n")
    cell = cells_of(small_page(small, write, "# X\n\n```python\nimport b\n```\n"))[2]
    assert cell["metadata"]["jupyter"]["source_hidden"] and cell["metadata"]["cellView"] == "form"
    title, about, *_ = source(cell).splitlines()
    assert title == '# @title Helpers: write 2 files to snippets/ { display-mode: "form" }'
    packed = base64.b64decode(re.search(r'^PACKED = "(.*)"$', source(cell), re.MULTILINE)[1])
    assert "warpbench.py, b.py" in about and hashlib.sha256(packed).hexdigest() in about
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", "/mine")
    for kept in ("", "# changed\n"):
        exec(source(cell), {})
        assert Path("snippets/warpbench.py").read_text("utf-8") == "A = '屏障'\n"
        Path("snippets/x/b.py").write_text("# changed\n")
        assert (Path("snippets/x/b.py.old").read_text() if kept else "") == kept
    places = [str(there / "snippets" / "x"), str(there / "snippets")]
    assert sys.path[:2] == places and sys.path.count(places[0]) == 1
    assert os.environ["PYTHONPATH"] == os.pathsep.join([*places, "/mine"])


# -- what they show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("article", ["programming-model", "automata"])
def test_a_notebook_is_valid_and_the_same_whenever_it_is_written(article, language):
    text = taken(article, language)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(nbformat.reads(text, nbformat.NO_CONVERT))
    assert text == taken(article, language)
    written = "\n".join(source(cell) for cell in cells_of(text, "markdown"))
    prose = notebooks.LINK.sub(lambda match: "" if match["verbatim"] else match[0], written)
    links = re.findall(r"\]\(([^()\s]+)", prose)
    assert links and [link for link in links if not re.match(r"https?://|#source-\d+$", link)] == []
    assert "[^" not in re.sub(r"`[^`]*`", "", prose)
    assert f"]({HOME}foundations/" in written


def test_the_page_comes_before_what_it_needs(small, write):
    """The title and what the notebook is; two folded cells; the text, cut at its headings."""
    text = small_page(small, write, "# X\n\nWhy?\n\n## Y\n\n```text\n# z\n```\n\n### Z\n\n```python\n1\n```\n")
    first, setup, helpers, *others = cells_of(text)
    assert source(first).startswith(f"# X\n\nThis is [a page of Warpbook]({HOME}x/) as a notebook.")
    assert all(cell["metadata"]["jupyter"]["source_hidden"] for cell in (setup, helpers))
    assert [source(cell) for cell in others] == ["Why?", "## Y\n\n```text\n# z\n```", "### Z", "1"]


def test_a_recorded_output_names_its_device():
    outputs = [cell["outputs"] for cell in cells_of(taken("programming-model"), "code") if cell["outputs"]]
    for caption, stream in outputs:
        assert caption["data"]["text/plain"][0].startswith("Output: ") and stream["text"]
    assert outputs[0][0]["data"]["text/markdown"] == ["*Output: NVIDIA H200*"]


def test_the_code_and_the_output_of_an_answer_are_folded(small, write):
    block = "    ```python\n    a = 1\n    ```\n"
    *_, text, code = cells_of(small_page(small, write, f'# X\n\nWhy?\n\n??? success "Answer"\n    So.\n\n{block}'))
    assert source(text) == "Why?\n\n<details>\n<summary>Answer</summary>\n\nSo.\n\n</details>"
    assert code["metadata"]["jupyter"] == {"source_hidden": True, "outputs_hidden": True}


def test_a_cell_s_id_stays_when_others_come_and_go(small, write):
    def ids(*blocks: int) -> dict[str, str]:
        text = "# X\n\n" + "".join(f"```python\n{block}\n```\n\n" for block in blocks)
        return {cell["id"]: source(cell) for cell in cells_of(small_page(small, write, text))}

    one, other = ids(1, 2, 2), ids(3, 1, 2)
    assert len(one) == 6 and {key for key, text in one.items() if text in ("1", "2")} - set(other) == {
        next(key for key in one if key.endswith("-2"))
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[a](b.md#c)", f"[a]({HOME}t/b/#c)"),
        ("[a](../b.md)", f"[a]({HOME}b/)"),
        ("[a](../t/index.md)", f"[a]({HOME}t/)"),
        ("[a](#c)", f"[a]({HOME}t/x/#c)"),
        ("[a](../snippets/y/z.py)", f"[a]({HOME}snippets/y/z/)"),
        ("[a](../feed.xml)", f"[a]({HOME}feed.xml)"),
        ("[a](https://example.com/b.md)", "[a](https://example.com/b.md)"),
        ("`f[a](b)` and ``g[`](b)``", "`f[a](b)` and ``g[`](b)``"),
        ("> ```cpp\n> [](b)\n> ```", "> ```cpp\n> [](b)\n> ```"),
        ("\\[a\\](b)", "\\[a\\](b)"),
    ],
)
def test_links_are_absolute(written, expected):
    assert notebooks.with_links(written, "t/x.md", HOME) == expected


def test_footnotes_are_a_list_and_numbers_that_lead_to_it():
    made = notebooks.with_notes("So[^b]: `x[^a]`.\n[^b][^a] [^none]\n\n[^a]: One.\n[^b]: Two[^a].\n")
    one, two = "[1](#source-1)", "[2](#source-2)"
    assert made == (
        f"So<sup>{two}</sup>: `x[^a]`.\n<sup>{two}, {one}</sup> [^none]\n\n"
        f'1. <a id="source-1"></a>One.\n2. <a id="source-2"></a>Two<sup>{one}</sup>.\n'
    )


def test_definitions_are_a_list():
    assert notebooks.with_definitions("`a`\n:   One\n    more.\n\n`b`\n:   Two.") == (
        "- `a`<br>One\n    more.\n\n- `b`<br>Two."
    )


def test_cells_are_the_program_cut_where_its_definitions_are(small, write):
    program = write(
        "snippets/x/a.py", '"""Doc."""\n\nimport math\n\nA = 1\n\n\n# Twice.\ndef f():\n    return 2\n\n\nprint(f())\n'
    )
    about, _, helpers, *cells = cells_of(notebooks.notebook(small, program, "zh", HOME))
    assert source(about).startswith(f"# x/a.py\n\n这是《线程束手册》[一个程序]({HOME}snippets/x/a/)")
    assert source(helpers).endswith('__file__ = "snippets/x/a.py"\nsys.argv = [__file__]')  # Jupyter's own is another
    assert [source(cell) for cell in cells] == [
        '"""Doc."""\n\nimport math\n\nA = 1', "# Twice.\ndef f():\n    return 2", "print(f())",
    ]  # fmt: skip


def test_a_kernel_is_a_cell_in_front_of_the_first_that_needs_it(small, write):
    """In its folder, without the marks of its sections, and open to read and change unless it is long."""
    write("snippets/x/a.cu", '#include "b.cuh"\n// --8<-- [start:a]\n__global__ void a() {}\n// --8<-- [end:a]\n')
    write("snippets/x/b.cuh", "//\n" * 100)
    write("snippets/x/m.py", 'NAME = "x/a.cu"\n')
    _, _, helpers, *cells = cells_of(small_page(small, write, "# X\n\n```python\n1\n```\n\n```python\nimport m\n```\n"))
    assert '"snippets/x"' in source(helpers)
    assert [source(cell).split("\n")[0] for cell in cells] == [
        "1", "%%writefile snippets/x/a.cu", "%%writefile snippets/x/b.cuh", "import m"
    ]  # fmt: skip
    assert source(cells[1]).split("\n")[1:] == ['#include "b.cuh"', "__global__ void a() {}"]
    assert [bool(cell["metadata"]) for cell in cells] == [False, False, True, False]


def markdown_of(text: str, **tokens: str) -> str:
    """A page's text with what stands at its tokens, as its plain Markdown has it."""
    return plain.tidy("\n".join(plain.lines_of(text, tokens)))


NAMES = [
    '<img src=x onerror="alert(1)">',
    "</td></tr></table><script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x][y] ![x](z.png) [y]: javascript:alert(1)",
    "<javascript:alert(1)> <!-- x -->",
    "&lt;img src=x onerror=alert(1)&gt;",
    "`code` *em* **strong** _em_ __strong__ $x^2$ a|b \\\\ \\<b>",
    "# heading",
    "> quotation",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_a_record_are_shown_as_they_are_and_are_no_markup(small, write, name):
    """Of a program, a value or a device: in tables, captions, lists and in what the notebook says of itself."""
    shown = html.escape(name)
    table = f"<table><thead><tr><th>{shown}</th></tr></thead><tbody><tr><td>{shown}</td></tr></tbody></table>"
    chart = f"<figure><figcaption>{shown}</figcaption>{table}</figure><p>{shown}</p><ul><li>{shown}</li></ul>"
    made = markdown_of("# X\n\n```python\n1\n```\n\nWARPBOOK0TOKEN\n", WARPBOOK0TOKEN=chart)
    page = Page(small, write("docs/en/x.md", "# X\n\n```python\n1\n```\n"))
    written = [source(cell) for cell in cells_of(notebooks.of_page(page, made, "en", HOME, name), "markdown")]
    about, below = map(markdown2html_mistune, written)
    read = html.unescape(re.sub(r"</?(?:em|table|thead|tbody|tr|th|td|p|ul|li)>\s*", " ", below))
    assert " ".join(read.split()) == " ".join([" ".join(name.split())] * 5)
    assert f"Numbers in the text are from {html.escape(name)}. The" in about


def test_what_a_page_writes_as_a_character_stays_one():
    made = markdown_of("2&nbsp;ms &lt;img src=x&gt; &amp;lt; &eacute;\n")
    assert made == "2\u00a0ms &lt;img src=x&gt; &amp;lt; é\n"
