"""Each program as a notebook to take away: the helper and the kernels come with it, so that it runs where it lands."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from warpbook.book import Book
from warpbook.hashes import needed

WORDS = {
    "en": "`{name}` of {book}. The first cells write the helper and the kernels beside this notebook; it wants NumPy "
    "and PyCUDA, and a GPU or softcuda.",
    "zh": "{book}的 `{name}`。前几个单元格把辅助模块和核函数写到笔记本旁边；"
    "运行需要 NumPy、PyCUDA，以及一块 GPU 或 softcuda。",
}
BOOKS = {"en": "Warpbook", "zh": "线程束手册"}


def notebook(book: Book, program: Path, language: str) -> str:
    """The program's .ipynb as text: a cell for each file that it needs, then the program itself, cut where it is."""
    name = program.relative_to(book.snippets).as_posix()
    code = program.read_text("utf-8")
    cells = [cell("markdown", WORDS[language].format(name=name, book=BOOKS[language]))]
    modules, kernels, data = needed(book, [code], program.parent.name, book.relative(program))
    beside = {**modules, **data}  # Python finds modules beside the notebook, and they find their data beside them
    files = {Path(path).name: text for path, text in beside.items()}
    helper = book.snippets / "warpbench.py"
    if helper.exists():
        files[helper.name] = helper.read_text("utf-8")
    files |= {(book.root / path).relative_to(book.snippets).as_posix(): text for path, text in kernels.items()}
    folders = sorted({Path(path).parent.as_posix() for path in files} - {"."})
    if folders:  # %%writefile makes none
        made = "\n".join(f'Path("{folder}").mkdir(parents=True, exist_ok=True)' for folder in folders)
        cells.append(cell("code", f"from pathlib import Path\n\n{made}"))
    cells += [cell("code", f"%%writefile {path}\n{text}") for path, text in sorted(files.items())]
    cells += [cell("code", part) for part in parts(code)]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    kept = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def address(lab: str) -> str:
    """Where the notebook of a lab page is: snippets/reduction/ladder.py → notebooks/reduction/ladder.ipynb."""
    return f"notebooks/{Path(lab).relative_to('snippets').with_suffix('.ipynb').as_posix()}"


def cell(kind: str, source: str) -> dict[str, Any]:
    out: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.strip("\n").splitlines(keepends=True)}
    return out if kind == "markdown" else {**out, "execution_count": None, "outputs": []}


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
