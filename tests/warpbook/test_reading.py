"""A reading time is counted by the rule that reading.py states."""

from __future__ import annotations

import pytest

from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import reading
from warpbook.source.pages import Page


def page(write, small, text, name="docs/en/x.md") -> Page:
    return Page(small, write(name, text))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("one two three four " * 100, 4.0),
        ("线程束" * 400, 6.0),
        ("线程束 warp " * 100, 300 / 200 + 100 / 100),
        ("`a + b * c` " * 100 + "$x + y$ " * 100, 2.0),  # a piece of code or a formula is one word
        ("{{ v0.time }} and {{ v1.time / v0.time }} " * 100, 3.0),  # and so is a number
        ("```python\n" + "x = 1\n" * 39 + "\n```\n", 4.0),
        ("{{ chart:ladder }}\n\n{{ figure:tree }}\n\n{{ lines:k }}\n\n{{ claims }}\n", 3.0),
        ("$$\na = b\n$$\n\n" * 6, 2.0),
        ('??? success "Answer"\n    word word\n\n    ```python\n    1\n    ```\n\nword\n', 0.01),  # what is folded
        ("{{ chart:ladder upto=v1 }}\n", 0.0),  # repeats another
        ("---\ndescription: five words that count nothing\n---\n\n[^a]: Nor does a source.\n", 0.0),
    ],
)
def test_the_rule(small, write, text, minutes):
    assert reading.exact(page(write, small, text)) == pytest.approx(minutes, abs=0.02)


def test_a_time_is_shown_in_steps_of_five_minutes(small, write):
    assert reading.minutes(page(write, small, "word " * 2350)) == 25  # 23.5
    assert reading.minutes(page(write, small, "word " * 10)) == 5
    assert [reading.shown(n, "en").replace("\u00a0", " ") for n in (25, 60, 190)] == ["25 min", "1 h", "3 h 10 min"]
    assert [reading.shown(n, "zh").replace("\u00a0", " ") for n in (25, 60, 190)] == [
        "25 分钟",
        "1 小时",
        "3 小时 10 分钟",
    ]


def test_a_page_that_grows_takes_longer(small, write):
    assert reading.minutes(page(write, small, "word " * 1000)) == 10
    assert reading.minutes(page(write, small, "word " * 2000)) == 20


def test_a_deep_dive_says_how_long_it_takes(small, write):
    words = "word " * 300
    text = f'# X\n\nOne.\n\n??? dive "Below the surface"\n    {words}\n\n    ??? note "More"\n        {words}\n\nTwo.\n'
    one = page(write, small, text, "docs/zh/x.md")
    assert reading.folds(one) == [4] and reading.dive(one, 4) == 6
    made = parse(one, "zh", Values(small))
    assert not made.problems and "Below the surface · 6 分钟" in made.html.replace("\u00a0", " ")
