"""Line counters under a listing: what an author writes, what a reader sees, and when they are stale."""

from __future__ import annotations

import json
import re

import pytest

from warpbook.blocks import line_counters
from warpbook.book import BookError
from warpbook.pipeline.extension import parse
from warpbook.records import lines
from warpbook.records.values import Values
from warpbook.source.pages import Page

KERNEL = """#include <cstdio>
__global__ void twice(float *a) {
    a[threadIdx.x] *= 2;  // in place
}
"""
PAGE = """# X

```python
load("x/twice.cu")
```

```cuda
--8<-- "snippets/x/twice.cu:2:4"
```

{{ lines:twice }}
"""
COUNTS = {"requests": 2, "sectors": 8, "warps": 5, "lanes": 160, "branches": 4, "diverged": 1}


@pytest.fixture
def page(small, write):
    """A page with a listing, its kernel, and a record of its lines that is fresh."""
    write("snippets/x/twice.cu", KERNEL)
    path = write("docs/en/x.md", PAGE)
    write("docs/zh/x.md", PAGE)
    page = Page(small, path)
    counted = {"snippets/x/twice.cu": {"3": {"source": "a[threadIdx.x] *= 2;  // in place"} | COUNTS}}
    launch = {"grid": [1, 1, 1], "block": [32, 1, 1], "total": COUNTS, "lines": counted}
    entry = {"code": lines.code_of(page, ""), "launches": {"twice#1": launch}}
    write("records/softcuda/lines/x.json", json.dumps({"format": 1, "programs": {"": entry}}))
    return page


@pytest.mark.parametrize(
    ("written", "kernel", "launch", "program"),
    [
        ("{{ lines:twice }}", "twice", 1, ""),
        ("{{ lines:twice#3 }}", "twice", 3, ""),
        ("{{ lines:twice@other.py }}", "twice", 1, "x/other.py"),
        ("  {{ lines:twice#2@y/other.py }}", "twice", 2, "y/other.py"),
    ],
)
def test_what_an_author_writes(page, written, kernel, launch, program):
    assert lines.parse(page, written) == lines.Wanted(kernel, launch, program)


def test_another_line_asks_for_nothing(page):
    assert lines.parse(page, "see {{ lines:twice }}") is None
    assert lines.wanted([page]) == [lines.Wanted("twice", 1, "")]


def rows(markup: str) -> list[list[str]]:
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", markup)]
    return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in cells]


def test_what_a_reader_sees(page):
    shown = line_counters.fold_out(page, "en", lines.wanted([page])[0], page.blocks[1], "../..")
    _, head, line, total = rows(shown)
    assert head == ["line", "requests", "sectors each", "warp instructions", "active lanes", "diverged", "source"]
    assert line == ["3", "2", "4.0", "5", "32.0", "25 %", "a[threadIdx.x] *= 2;  // in place"]
    assert total[:2] == ["all", "2"]
    assert 'href="../../profile-your-kernel/#sectors"' in shown
    assert re.search(r'colspan="2"[^>]*>as on the GPU<.*colspan="3"[^>]*>counted on PTX<', shown), "never mixed"
    assert "bank conflicts" not in shown, "a kernel without shared memory has no column for it"


def test_both_languages_say_the_same_of_it():
    assert set(line_counters.WORDS["en"]) == set(line_counters.WORDS["zh"])


def test_fresh(page):
    assert lines.stale(page.book, "x") == []


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("snippets/x/twice.cu", KERNEL.replace("*= 2", "*= 3"), "docs/en/x.md or a kernel it loads has changed"),
        ("snippets/x/twice.cu", "// a line more\n" + KERNEL, "snippets/x/twice.cu:3 is another line now"),
        ("docs/en/x.md", PAGE.replace("lines:twice", "lines:twice#2"), "no lines of twice#2 in docs/en/x.md"),
        ("records/softcuda/lines/x.json", "{}", "must contain"),
    ],
)
def test_stale(page, write, file, text, told):
    write(file, text)
    try:
        found = lines.stale(page.book, "x")
    except BookError as error:
        found = [str(error)]
    assert any(told in line and "run `.venv/bin/warpbook record --only x`" in line for line in found), found


def test_lines_that_no_page_shows_any_more_are_stale(page, write):
    for language in ("en", "zh"):
        write(f"docs/{language}/x.md", PAGE.replace("lines:twice", "lines:twice#2"))
    assert any("nothing shows lines of twice#1 in docs/en/x.md" in line for line in lines.stale(page.book, "x"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PAGE.replace("lines:twice", "lines:thrice"), "no lines of thrice#1 in the page"),
        (PAGE.replace("twice }}", "twice@ }}"), "is not lines:KERNEL"),
        (PAGE.replace("```cuda", "```text"), "stand under no listing of a kernel"),
        (PAGE.replace("twice.cu:2:4", "twice.cu:1:1"), "no line of this listing was run by launch twice#1"),
    ],
)
def test_a_page_that_asks_for_what_is_not_there(page, write, text, told):
    write("docs/en/x.md", text)
    problems = parse(Page(page.book, page.path), "en", Values(page.book)).problems
    assert any(told in problem and problem.startswith("docs/en/x.md:") for problem in problems), problems


def test_another_page_shows_the_kernel_with_its_counters(page, write):
    other = Page(page.book, write("docs/en/y.md", "# Y\n\n{{ counters:x:twice }}\n"))
    made = parse(other, "en", Values(page.book))
    assert not made.problems
    assert "wb-lines--open" in made.html and "diverged" in made.html


def test_counters_of_a_kernel_name_its_article(page, write):
    other = Page(page.book, write("docs/en/y.md", "# Y\n\n{{ counters:twice }}\n"))
    [problem] = parse(other, "en", Values(page.book)).problems
    assert problem == 'docs/en/y.md:3: "counters:twice" is not counters:ARTICLE:KERNEL'
