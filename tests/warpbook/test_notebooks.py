"""A program taken away as a notebook runs where it lands: its cells one after another, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from warpbook import notebooks
from warpbook.book import here
from warpbook.compare import difference
from warpbook.run import run_program

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
    if text.startswith("%%writefile "):
        head, _, body = text.partition("\\n")
        Path(head.split()[1]).write_text(body + "\\n")
    elif cell["cell_type"] == "code":
        exec(compile(text, "<cell>", "exec"), globals())
"""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_notebook_runs_in_an_empty_folder(program, tmp_path):
    path = tmp_path / "taken.ipynb"
    path.write_text(notebooks.notebook(BOOK, program, "en"))
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or "softcuda" in value}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(path)], cwd=empty, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert difference("notebook", run_program(BOOK, program).stdout, done.stdout) is None


def test_cells_are_the_program_cut_where_its_definitions_are(small, write):
    program = write(
        "snippets/x/a.py", '"""Doc."""\n\nimport math\n\nA = 1\n\n\n# Twice.\ndef f():\n    return 2\n\n\nprint(f())\n'
    )
    cells = json.loads(notebooks.notebook(small, program, "zh"))["cells"]
    assert "".join(cells[0]["source"]).startswith("线程束手册的 `x/a.py`。")
    assert ["".join(cell["source"]) for cell in cells[1:]] == [
        '"""Doc."""\n\nimport math\n\nA = 1', "# Twice.\ndef f():\n    return 2", "print(f())",
    ]  # fmt: skip


def test_kernels_keep_their_folders(small, write):
    write("snippets/x/k.cu", "__global__ void k() {}\n")
    program = write("snippets/x/a.py", 'NAME = "x/k.cu"\n')
    texts = ["".join(cell["source"]) for cell in json.loads(notebooks.notebook(small, program, "en"))["cells"]]
    assert 'Path("x").mkdir(parents=True, exist_ok=True)' in texts[1]
    assert texts[2] == "%%writefile x/k.cu\n__global__ void k() {}"
