"""A Chinese page says which English sections it follows; one that changed since is named."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.cli import main
from warpbook.source import translation
from warpbook.source.pages import Page

EN = """---
description: How.
---

# Copies

Two ways.

## Pageable { #pageable }

Slow[^guide].

```python
# ## no heading
a = 1
```

## Pinned { #pinned }

Fast.

[^guide]: The guide,
    section 3.
"""
ZH = EN.replace("# Copies", "# 拷贝").replace("## Pageable", "## 可分页").replace("## Pinned", "## 锁页")


@pytest.fixture
def pair(small, write):
    """Write both pages, the Chinese one following; give them back, and a way to change the English one."""
    english, chinese = write("docs/en/x.md", EN), write("docs/zh/x.md", ZH)
    translation.mark(small, "docs/zh/x.md")

    def change(old: str, new: str) -> list[str]:
        assert old in english.read_text("utf-8")
        write("docs/en/x.md", english.read_text("utf-8").replace(old, new))
        return translation.problems(small, chinese)

    return english, chinese, change


def test_a_page_that_follows_says_so_in_its_front_matter(small, pair):
    _, chinese, _ = pair
    assert translation.problems(small, chinese) == []
    assert list(translation.followed(Page(small, chinese))) == ["top", "footnotes", "pageable", "pinned"]
    assert chinese.read_text("utf-8").startswith("---\ndescription: How.\nfollows: [")
    assert chinese.read_text("utf-8").split("---\n", 2)[2] == ZH.split("---\n", 2)[2]


def test_a_section_that_changed_is_named_by_its_heading(pair):
    _, _, change = pair
    assert change("Fast.", "Fast, and scarce.") == [
        'docs/zh/x.md:19: "Pinned" of docs/en/x.md:18 has changed since it was followed here; follow it, or mark it as '
        "meant: .venv/bin/warpbook followed docs/zh/x.md#pinned"
    ]


def test_a_page_that_follows_nothing_yet_is_one_line(small, write):
    write("docs/en/x.md", EN)
    chinese = write("docs/zh/x.md", ZH)
    assert translation.problems(small, chinese) == [
        "docs/zh/x.md: new page, follows nothing yet: .venv/bin/warpbook followed docs/zh/x.md"
    ]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("Two ways.", "Two\nways.", []),  # line breaks
        ("a = 1", "a = 2", []),  # code is held elsewhere
        ("Two ways.", "Three ways.", ["top"]),
        ("section 3", "section 4", ["footnotes"]),
        ("Pageable {", "Paged {", ["pageable"]),
    ],
)
def test_what_counts_as_a_change(small, pair, old, new, changed):
    english, chinese, change = pair
    assert len(change(old, new)) == len(changed)
    assert [s.anchor for s in translation.lagging(Page(small, english), Page(small, chinese))] == changed


def test_one_section_is_marked_and_the_others_stay_late(small, pair, monkeypatch, capsys):
    _, chinese, change = pair
    change("Fast.", "Faster.")
    assert len(change("Slow", "Slower")) == 2
    monkeypatch.setattr("warpbook.cli.here", lambda: small)
    assert main(["followed", "docs/zh/x.md#pinned"]) == 0
    assert capsys.readouterr().out == "docs/zh/x.md#pinned: pinned\n"
    assert ["#pageable" in line for line in translation.problems(small, chinese)] == [True]


def test_sections_stand_in_the_same_order_under_the_same_anchors(small, write, pair):
    _, chinese, _ = pair
    write("docs/zh/x.md", chinese.read_text("utf-8").replace("#pinned", "#locked"))
    assert translation.problems(small, chinese) == [
        'docs/zh/x.md:19: "锁页" (locked) is not at the same place in the other language'
    ]


def test_bad_input_is_one_line(small, write, pair):
    with pytest.raises(BookError, match=r"docs/zh/x.md#no: docs/en/x.md has no section \"no\"; it has top, foot"):
        translation.mark(small, "docs/zh/x.md#no")
    with pytest.raises(BookError, match=r"docs/en/x.md: no page in Chinese; name one, such as"):
        translation.mark(small, "docs/en/x.md")
    write("docs/en/x.md", EN.replace(" { #pinned }", ""))
    assert translation.problems(small, small.docs / "zh/x.md") == [
        'docs/en/x.md:18: give this heading an anchor: "## Pinned { #name }"'
    ]


def test_readers_see_where_a_page_lags(small, pair):
    english, chinese, change = pair
    change("Fast.", "Faster.")
    told = translation.banner(Page(small, english), Page(small, chinese), "zh")
    assert '<a href="#pinned">锁页</a>。' in told and "可分页" not in told
    translation.mark(small, "docs/zh/x.md")
    assert translation.banner(Page(small, english), Page(small, chinese), "zh") == ""
