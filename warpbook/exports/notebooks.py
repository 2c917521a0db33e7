"""Each program and each article as a notebook to take away: the helper and the kernels come with it, so that it runs
where it lands."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from warpbook.book import BOOKS, Book
from warpbook.exports import plain
from warpbook.run.hashes import needed
from warpbook.source.pages import Page

WORDS = {
    "en": "{name} of {book}. The first cells write the helper and the kernels beside this notebook; it wants NumPy "
    "and PyCUDA, and a GPU or softcuda.",
    "zh": "《{book}》的 {name}。前几个单元格把辅助模块和核函数写到本文件所在的目录；"
    "运行需要 NumPy、PyCUDA，以及一块 GPU 或 softcuda。",
}
ARTICLE = {
    "en": "[{title}]({url}), as a notebook. The first cells fetch PyCUDA if need be, and write the helper and "
    "the kernels beside this notebook. It wants a GPU or softcuda; a cell that needs a newer GPU says so and is left "
    "out. Numbers and outputs in the text were measured on {device}; below the cells you see your own.",
    "zh": "[{title}]({url})的 Notebook 版。前几个单元格会装好 PyCUDA（若还没有），再把辅助模块和核函数写到同一目录；"
    "运行需要一块 GPU 或 softcuda。需要更新的 GPU 的单元格会说明原因并跳过。正文中的数字和输出测自 {device}，"
    "单元格下面显示的是你自己的结果。",
}
SETUP = """import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("pycuda") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "pycuda"], check=True)
{folders}

def or_skip(line, cell):
    \"\"\"Run a cell; where it says that the device lacks something, go on with the next.\"\"\"
    try:
        exec(compile(cell, "<cell>", "exec"), globals())
    except Exception as error:
        if type(error).__name__ != "Skipped":
            raise


if "get_ipython" in globals():
    get_ipython().register_magic_function(or_skip, "cell")
"""


def notebook(book: Book, program: Path, language: str) -> str:
    """The program's .ipynb as text: a cell for each file that it needs, then the program itself, cut where it is."""
    name = program.relative_to(book.snippets).as_posix()
    code = program.read_text("utf-8")
    files = needed_files(book, [code], program.parent.name, book.relative(program))
    cells = [cell("markdown", WORDS[language].format(name=plain.as_code(name), book=BOOKS[language]))]
    folders = made(files)
    if folders:  # %%writefile makes none
        cells.append(cell("code", f"from pathlib import Path\n\n{folders}"))
    cells += [cell("code", f"%%writefile {path}\n{text}") for path, text in sorted(files.items())]
    return as_text(cells + [cell("code", part) for part in parts(code)])


def of_page(page: Page, text: str, language: str, url: str, device: str) -> str:
    """The article's .ipynb: `text` (its plain Markdown) with each Python block a cell; empty if it has none."""
    if not page.python:
        return ""
    codes = [block.code for block in page.python]
    files = needed_files(page.book, codes, page.article, page.name)
    about = ARTICLE[language].format(title=page.title, url=url, device=plain.literally(device))
    cells = [cell("markdown", about), cell("code", SETUP.format(folders=made(files)))]
    cells += [cell("code", f"%%writefile {path}\n{kept}") for path, kept in sorted(files.items())]
    for kind, part, output in plain.cells(text):
        skips = "%%or_skip\n" if kind == "code" and re.search(r"\bwb\.needs\(", part) else ""
        cells.append(cell(kind, skips + part, output))
    return as_text(cells)


def needed_files(book: Book, codes: list[str], article: str, where: str) -> dict[str, str]:
    """What must lie beside a notebook of these codes: path to text."""
    modules, kernels, data = needed(book, codes, article, where)
    beside = {**modules, **data}  # Python finds modules beside the notebook, and they find their data beside them
    files = {Path(path).name: text for path, text in beside.items()}
    everything = "\n".join([*codes, *modules.values()])
    for path, text in modules.items():  # one that is run as a program is looked for where it lies in the book
        if f'"{Path(path).name}"' in everything:
            files[f"{article}/{Path(path).name}"] = text
    helper = book.snippets / "warpbench.py"
    if helper.exists():
        files[helper.name] = helper.read_text("utf-8")
    return files | {(book.root / path).relative_to(book.snippets).as_posix(): text for path, text in kernels.items()}


def made(files: dict[str, str]) -> str:
    """Lines that make the files' folders."""
    folders = sorted({Path(path).parent.as_posix() for path in files} - {"."})
    return "\n".join(f'Path("{folder}").mkdir(parents=True, exist_ok=True)' for folder in folders)


def as_text(cells: list[dict[str, Any]]) -> str:
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    kept = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def address(lab: str) -> str:
    """Where the notebook of a lab page is: snippets/reduction/ladder.py → notebooks/reduction/ladder.ipynb."""
    return f"notebooks/{Path(lab).relative_to('snippets').with_suffix('.ipynb').as_posix()}"


def cell(kind: str, source: str, output: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.strip("\n").splitlines(keepends=True)}
    if kind == "markdown":
        return out
    printed = {"output_type": "stream", "name": "stdout", "text": output.splitlines(keepends=True)}
    return {**out, "execution_count": None, "outputs": [printed] if output else []}


def parts(code: str) -> list[str]:
    """The program in cells: its docstring and imports, then a cell for each definition, and the runs between them."""
    lines = [line for line in code.splitlines() if not re.match(r"\s*# --8<--", line)]
    tree = ast.parse("\n".join(lines))
    out: list[str] = []
    begin, kind = 0, None
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)]) - 1
        while first > begin and lines[first - 1].lstrip().startswith("#"):
            first -= 1  # a comment belongs to what follows
        now = isinstance(node, ast.ClassDef | ast.FunctionDef)
        if kind is not None and (now or kind):
            out.append("\n".join(lines[begin:first]))
            begin = first
        kind = now
    out.append("\n".join(lines[begin:]))
    return [part.strip("\n") for part in out if part.strip()]
