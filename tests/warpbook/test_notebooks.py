"""A program taken away as a notebook runs where it lands: its cells one after another, in an empty folder."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from warpbook.book import here
from warpbook.exports import notebooks, plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.run.compare import difference
from warpbook.run.run import run_page, run_program
from warpbook.source.pages import Page

BOOK = here()
PROGRAMS = [
    BOOK.snippets / name for name in ("reduction/shuffles.py", "reduction/branch.py", "reading-papers/cocitation.py")
]

RUNNER = """
import json, sys
from pathlib import Path
cells = json.loads(Path(sys.argv.pop(1)).read_text())["cells"]
sys.path.insert(0, "")
for cell in cells:
    text = "".join(cell["source"])
    head, _, body = text.partition("\\n")
    if text.startswith("%%writefile "):
        Path(head.split()[1]).write_text(body + "\\n")
    elif text.startswith("%%or_skip"):
        or_skip("", body)
    elif cell["cell_type"] == "code":
        exec(compile(text, "<cell>", "exec"), globals())
"""


ARTICLES = [path.stem for path in BOOK.in_reading_order("en") if Page(BOOK, path).python]


def run_taken(text: str, folder: Path) -> str:
    """What a notebook prints, run from top to bottom in an empty folder."""
    path = folder / "taken.ipynb"
    path.write_text(text)
    empty = folder / "empty"
    empty.mkdir()
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or "softcuda" in value}
    done = subprocess.run(
        [sys.executable, "-u", "-c", RUNNER, str(path)], cwd=empty, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_program_s_notebook_runs_in_an_empty_folder(program, tmp_path):
    printed = run_taken(notebooks.notebook(BOOK, program, "en"), tmp_path)
    assert difference("notebook", run_program(BOOK, program).stdout, printed) is None


@pytest.mark.timeout(300)
@pytest.mark.parametrize("article", ARTICLES)
def test_an_article_s_notebook_runs_from_top_to_bottom(article, tmp_path):
    page = Page(BOOK, BOOK.page_of(article, "en"))
    text = plain.markdown(parse(page, "en", Values(BOOK)))
    taken = notebooks.of_page(page, text, "en", "https://example.org/", "NVIDIA H200")
    assert len([cell for cell in json.loads(taken)["cells"] if cell.get("outputs")]) > 0
    printed = run_taken(taken, tmp_path)
    assert difference("notebook", "".join(run_page(page)), printed) is None


def test_a_cell_that_the_device_cannot_serve_is_skipped_aloud(small, write, tmp_path):
    helper = "class Skipped(Exception): pass\ndef needs(what):\n    print('skipped:', what)\n    raise Skipped"
    write("snippets/warpbench.py", helper)
    blocks = "```python\nimport warpbench as wb\nwb.needs('9.0')\n```\n\n```python\nprint(2)\n```\n"
    page = Page(small, write("docs/en/x.md", f"# X\n\n{blocks}"))
    taken = notebooks.of_page(page, page.source, "en", "https://example.org/", "H200")
    assert run_taken(taken, tmp_path) == "skipped: 9.0\n2\n"


def test_cells_are_the_program_cut_where_its_definitions_are(small, write):
    program = write(
        "snippets/x/a.py", '"""Doc."""\n\nimport math\n\nA = 1\n\n\n# Twice.\ndef f():\n    return 2\n\n\nprint(f())\n'
    )
    cells = json.loads(notebooks.notebook(small, program, "zh"))["cells"]
    assert "".join(cells[0]["source"]).startswith("《线程束手册》的 `x/a.py`。")
    assert ["".join(cell["source"]) for cell in cells[1:]] == [
        '"""Doc."""\n\nimport math\n\nA = 1', "# Twice.\ndef f():\n    return 2", "print(f())",
    ]  # fmt: skip


def test_kernels_keep_their_folders(small, write):
    write("snippets/x/k.cu", "__global__ void k() {}\n")
    program = write("snippets/x/a.py", 'NAME = "x/k.cu"\n')
    texts = ["".join(cell["source"]) for cell in json.loads(notebooks.notebook(small, program, "en"))["cells"]]
    assert 'Path("x").mkdir(parents=True, exist_ok=True)' in texts[1]
    assert texts[2] == "%%writefile x/k.cu\n__global__ void k() {}"


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
    taken = json.loads(notebooks.of_page(page, made, "en", "https://example.org/", name))
    written = ["".join(cell["source"]) for cell in taken["cells"] if cell["cell_type"] == "markdown"]
    about, _, below = map(markdown2html_mistune, written)
    read = html.unescape(re.sub(r"</?(?:em|table|thead|tbody|tr|th|td|p|ul|li)>\s*", " ", below))
    assert " ".join(read.split()) == " ".join([" ".join(name.split())] * 5)
    assert f"were measured on {html.escape(name)}; below" in about


def test_what_a_page_writes_as_a_character_stays_one():
    made = markdown_of("2&nbsp;ms &lt;img src=x&gt; &amp;lt; &eacute;\n")
    assert made == "2\u00a0ms &lt;img src=x&gt; &amp;lt; é\n"
