"""`{{ exercise:… }}`: what a page shows of an exercise without any script, and what its Markdown version has of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from warpbook.book import Book, here, write_text
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.pipeline.parsed import Parsed
from warpbook.records.values import Values
from warpbook.source.pages import Page

NAME = "memory-access/eight-per-thread"
FOLDER = here().root / "exercises" / NAME


@pytest.fixture
def shown(small: Book) -> Callable[..., Parsed]:
    """A page with this text, read."""
    shutil.copytree(FOLDER, small.root / "exercises" / NAME)

    def read(text: str, language: str = "en") -> Parsed:
        path = small.docs / language / "foundations" / "memory-access.md"
        write_text(path, f"# Memory {{ #memory }}\n\n## Stride {{ #stride }}\n\n{text}\n\nAfter.\n")
        return parse(Page(small, path), language, Values(small))

    return read


@pytest.mark.parametrize(("language", "title"), [("en", "Eight elements per thread"), ("zh", "每个线程处理八个元素")])
def test_an_exercise_is_whole_without_a_script(shown: Callable[..., Parsed], language: str, title: str) -> None:
    parsed = shown(f"{{{{ exercise:{NAME} }}}}", language)
    assert not parsed.problems and parsed.directives == [(f"exercise:{NAME}", parsed.directives[0][1])]
    [box] = re.findall(rf'<div class="wb-exercise" data-exercise="{NAME}">.*</div>\s*<p>After', parsed.html, re.DOTALL)
    assert re.search(rf'<h3 id="try-eight-per-thread">{title}', box)
    assert re.findall('<details class="([^"]+)">', box) == ["question", "question", "question", "success wb-solution"]
    assert box.index("my/memory-access/eight-per-thread.cu") < box.index("<details")
    assert f'data-copy=".venv/bin/warpbook try {NAME}\n.venv/bin/warpbook judge {NAME} --watch"' in box
    assert 'href="#stride"' in box


def test_its_markdown_version_has_no_solution(shown: Callable[..., Parsed]) -> None:
    solution = (FOLDER / "solution.cu").read_text("utf-8")
    secret = next(line.strip() for line in solution.splitlines() if "blockIdx" in line)
    parsed = shown(f"{{{{ exercise:{NAME} }}}}")
    text = plain.markdown(parsed)
    assert secret not in text and "Solution" not in text
    assert "### Eight elements per thread" in text and "**Hint 3**" in text and text.endswith("After.\n")
    assert secret not in plain.markdown(parsed, folds=True)  # notebooks have cells for an exercise


def test_an_exercise_that_is_not_there_is_named(shown: Callable[..., Parsed]) -> None:
    [problem] = shown("{{ exercise:memory-access/eight }}").problems
    assert "did you mean memory-access/eight-per-thread?" in problem
    assert problem.startswith("docs/en/foundations/memory-access.md:5: ")
