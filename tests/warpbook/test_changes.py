"""docs/changes.toml: read newest first, and every mistake in it is one line."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.source import changes

TWO = """
[[change]]
date = 2026-11-22
pages = ["track/a", "index"]
en = "New: A."
zh = "新页面：A。"

[[change]]
date = 2026-11-22
pages = ["index"]
en = "Corrected."
zh = "更正。"

[[change]]
date = 2026-11-21
pages = ["index"]
en = "First."
zh = "开篇。"
"""


@pytest.fixture
def told(small, write):
    write("docs/en/index.md", "# Home\n")
    write("docs/en/track/a.md", "# A\n")
    return lambda text: write("docs/changes.toml", text)


def test_changes_are_read_newest_first_and_keep_their_names(small, told):
    told(TWO)
    assert [change.key for change in changes.read(small)] == ["2026-11-22-2", "2026-11-22-1", "2026-11-21-1"]
    assert [change.says["zh"] for change in changes.of(small, "track/a")] == ["新页面：A。"]
    told(
        TWO.replace("[[change]]", '[[change]]\ndate = 2026-11-22\npages = ["index"]\nen = "X"\nzh = "X"\n[[change]]', 1)
    )
    assert [change.key for change in changes.read(small)][1:] == ["2026-11-22-2", "2026-11-22-1", "2026-11-21-1"]


def test_without_a_file_nothing_changed(small):
    assert changes.read(small) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"track/a"', '"track/b"', 'change 1: there is no page "track/b"'),
        ('zh = "更正。"', "", "change 2: say in one line of zh what changed"),
        ("2026-11-21", "2026-11-23", "change 3 is of 2026-11-23, below one of 2026-11-22; put the newest first"),
        ("2026-11-22", "2999-01-01", "change 1: 2999-01-01 is yet to come"),
        ("date = 2026-11-21", "", "change 3: give its day as date = 2026-11-22"),
        ("2026-11-21", '"2026-11-21"', "change 3: give its day as date = 2026-11-22"),
        ('["index"]', "[]", 'change 2: name its pages, as pages = ["models/attention"]'),
        ("en =", "fr =", "change 1 has fr; known are date, en, pages, zh"),
    ],
)
def test_what_is_not_in_order_is_one_line(small, told, old, new, message, monkeypatch):
    monkeypatch.setattr(changes, "today", lambda: changes.date(2026, 11, 23))
    told(TWO.replace(old, new, 1))
    with pytest.raises(BookError) as error:
        changes.read(small)
    assert str(error.value) == f"docs/changes.toml: {message}"


def test_the_books_changes_are_in_order(book):
    assert changes.read(book)
    pages = {p.relative_to(book.docs / "en").with_suffix("").as_posix() for p in book.pages("en")}
    assert not pages - {page for change in changes.read(book) for page in change.pages}, (
        "pages whose first day is untold"
    )
