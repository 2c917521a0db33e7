"""Where exercises appear: the page that lists them, notebooks, llms.txt, Markdown; and where solutions do."""

from __future__ import annotations

import base64
import bz2
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from warpbook.book import LANGUAGES, Book, here
from warpbook.exercises import box, exercises, overview
from warpbook.exports import exports, llms, notebooks, plain
from warpbook.pipeline.extension import parse
from warpbook.pipeline.parsed import Parsed
from warpbook.records.values import Values
from warpbook.site import search
from warpbook.source.pages import Page

BOOK = here()
HOME = "https://example.org/book/"
NAME = "memory-access/eight-per-thread"
PAGE = f"""# X

Why?

```python
1
```

## Exercises {{ #exercises }}

{{{{ {box.DIRECTIVE}{NAME} }}}}

## On {{ #on }}

On.
"""


@pytest.fixture
def lent(small: Book, write) -> Book:
    """A small book in two languages: an article with one exercise, and a list of exercises."""
    shutil.copytree(BOOK.root / "exercises" / NAME, small.root / "exercises" / NAME)
    shutil.copytree(BOOK.snippets / "warpjudge", small.snippets / "warpjudge")
    for language in LANGUAGES:
        write(f"docs/{language}/t/memory-access.md", PAGE)
        write(f"docs/{language}/list.md", "# List\n\n{{ exercises }}\n")
    return small


def parsed(book: Book, name: str, language: str = "en") -> Parsed:
    found = parse(Page(book, book.docs / language / f"{name}.md"), language, Values(book))
    assert [one for one in found.problems if not one.startswith("records/")] == []  # it has none
    return found


def answer(book: Book) -> list[str]:
    """The statements of the solution that the stub lacks."""
    [one] = exercises.all(book)
    lines = [line.strip() for line in one.solution.splitlines() if line not in one.stub.splitlines()]
    return [line for line in lines if line.endswith(";")]


def cells(book: Book, language: str = "en") -> list[dict[str, Any]]:
    page = Page(book, book.docs / language / "t" / "memory-access.md")
    text = plain.markdown(parsed(book, "t/memory-access", language), folds=True)
    return list(json.loads(notebooks.of_page(page, text, language, HOME, "H200"))["cells"])


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["X", "Eight elements per thread", "1 of 3", "10", "Eight elements per thread: mark as done"]),
        ("zh", ["X", "每个线程处理八个元素", "1/3", "10", "每个线程处理八个元素：标记为已完成"]),
    ],
)
def test_the_list_has_a_row_for_each_exercise(lent: Book, language: str, expected: list[str]) -> None:
    made = overview.markdown(lent, language, Page(lent, lent.docs / language / "list.md"))
    row = made.splitlines()[4]
    assert re.sub(r"\[([^\]]*)\]\([^)]*\)|<span[^>]* title=\"([^\"]*)\"></span>", r"\1\2", row) == (
        f"| {' | '.join(expected)} |"
    )
    assert re.findall(r"\]\(([^)]*)\)", row) == ["t/memory-access.md", "t/memory-access.md#try-eight-per-thread"]
    assert f'data-done="{NAME}"' in row


def test_the_list_leads_to_where_the_exercise_is(lent: Book) -> None:
    assert 'id="try-eight-per-thread"' in parsed(lent, "t/memory-access").html
    assert "try-eight-per-thread" in parsed(lent, "list").html


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notebook_has_the_stub_and_far_below_the_solution_folded(lent: Book, language: str) -> None:
    [one], found = exercises.all(lent), cells(lent, language)
    at = next(i for i, cell in enumerate(found) if source(cell).startswith("%%judge"))
    task, stub, *empty, note, solution, after = found[at - 1 : at + 7]
    assert source(task).startswith(f"### {one.title[language]}\n") and source(task).count("<details>") == 3
    assert source(stub) == f"%%judge {NAME}\n{one.stub}".rstrip("\n") and stub["metadata"] == {}
    assert [(cell["cell_type"], source(cell)) for cell in empty] == [("code", "")] * 3
    assert note["cell_type"] == "markdown"
    assert source(solution) == f"%%judge {NAME}\n{one.solution}".rstrip("\n")
    assert solution["metadata"]["cellView"] == "form" and solution["metadata"]["jupyter"]["source_hidden"]
    assert source(after) == "## On\n\nOn."


def test_the_judge_travels_and_the_solution_is_not_packed(lent: Book) -> None:
    helpers = source(cells(lent)[2])
    packed = json.loads(bz2.decompress(base64.b64decode(re.search(r'^PACKED = "(.*)"$', helpers, re.MULTILINE)[1])))
    assert {f"exercises/{NAME}/judge.py", "snippets/warpjudge/worker.py", "snippets/warpjudge/messages.toml"} <= set(
        packed
    )
    assert "to exercises/ and snippets/" in helpers.splitlines()[0] and "warpjudge/" in helpers.splitlines()[1]
    assert not any(line in text for text in packed.values() for line in answer(lent))


def test_a_notebook_without_exercises_has_no_judge(lent: Book, write) -> None:
    write("docs/en/t/memory-access.md", "# X\n\n```python\n1\n```\n")
    assert not any("judge" in source(cell) for cell in cells(lent))


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_else_that_readers_take_along_has_the_solution(lent: Book, language: str, tmp_path: Path) -> None:
    texts = {}
    for name in ("t/memory-access", "list"):
        found = parsed(lent, name, language)
        texts[lent.docs / language / f"{name}.md"] = plain.markdown(found), plain.markdown(found, folds=True)
    site = tmp_path / "site"
    exports.write(lent, language, texts, site, HOME)
    files = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*") if path.is_file()}
    assert {"t/memory-access.md", "t/memory-access.ipynb", "list.md", "llms.txt"} <= set(files)
    assert [name for name, text in files.items() if any(line in text for line in answer(lent))] == [
        "t/memory-access.ipynb"
    ]
    [one] = exercises.all(lent)
    text = files["t/memory-access.md"]
    assert one.title[language] in text and one.stub.strip() in text and one.hints[language][0] in text


def test_search_finds_the_task_and_not_the_solution(lent: Book) -> None:
    found = parsed(lent, "t/memory-access")
    assert "int first = " in re.sub(r"<[^>]+>", "", found.html)  # folded on the page
    documents = json.dumps(search.documents(lent, "en", "t/memory-access", "t/memory-access/", found.searched))
    assert "Eight elements per thread" in documents and "blockDim" not in re.sub(r"<code>.*?</code>", "", documents)


def test_llms_txt_lists_the_tasks(lent: Book) -> None:
    listed = llms.index(lent, "en", HOME).partition("## Exercises")[2]
    assert f"- [Eight elements per thread]({HOME}t/memory-access.md) (`{NAME}`): Write a kernel that" in listed
    shutil.rmtree(lent.root / "exercises")
    assert "## Exercises" not in llms.index(lent, "en", HOME)
