"""docs/techniques.toml: each technique leads to sections and exercises that exist, in both languages."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.exercises import exercises, techniques
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source.pages import Page

TECHNIQUES = """
[[group]]
name = "sums"
en = "Sums"
zh = "求和"

[[group.technique]]
name = "shuffle"
en = "Shuffles"
zh = "洗牌"
says.en = "No barrier."
says.zh = "不用屏障。"
taught = ["a#v5", "a#v6", "b"]
practised = ["a/sum"]
"""

PAGE = """# Sums

## v5: `shfl` { #v5 }

```cuda
## v9 { #v9 }
```

## v6 { #v6 }
"""


@pytest.fixture
def told(small, write, monkeypatch):
    """A book of two articles and one exercise; call it with the text of docs/techniques.toml."""
    for language in ("en", "zh"):
        write(f"docs/{language}/track/a.md", PAGE)
        write(f"docs/{language}/track/b.md", "# Scans\n")
        write(f"docs/{language}/techniques.md", "# Techniques\n\n{{ techniques }}\n")
    one = exercises.Exercise(
        small.root, "a", "sum", {"en": "Add", "zh": "相加"}, {}, {}, 5, 1, "v5", "", ""
    )  # what is shown of it
    monkeypatch.setattr(exercises, "all", lambda book: [one])

    def fill(text: str):
        write("docs/techniques.toml", text)
        return small

    return fill


def test_a_technique_leads_to_its_sections_and_exercises(told):
    book = told(TECHNIQUES)
    assert techniques.problems(book) == []
    for language, taught, practised in (
        (
            "en",
            "Read: [v5: `shfl`](track/a.md#v5), [v6](track/a.md#v6) (Sums); [Scans](track/b.md).",
            "Practise: [Add](track/a.md#try-sum).",
        ),
        (
            "zh",
            "阅读：《Sums》[v5: `shfl`](track/a.md#v5)、[v6](track/a.md#v6)；[Scans](track/b.md)。",
            "练习：[相加](track/a.md#try-sum)。",
        ),
    ):
        made = parse(Page(book, book.docs / language / "techniques.md"), language, Values(book))
        text = plain.flat(made)[0]
        assert not made.problems and "{ #shuffle }" in text
        assert taught in text and practised in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a#v5", "a#v4", '"shuffle": a in en has no #v4'),
        ("a#v5", "a#v9", '"shuffle": a in zh has no #v9'),  # in a listing, it is no heading
        ('"b"', '"c"', '"shuffle": there is no page c in zh'),
        ("a/sum", "a/sums", '"shuffle": there is no exercise a/sums; did you mean "a/sum"?'),
    ],
)
def test_check_names_what_is_gone(told, old, new, said):
    book = told(TECHNIQUES.replace(old, new))
    assert any(one.startswith(f"docs/techniques.toml: {said}") for one in techniques.problems(book))
    with pytest.raises(BookError, match=r"^docs/techniques\.toml: "):
        techniques.markdown(book, "en")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "shuffle"', 'name = "A shuffle"', 'name "A shuffle": small letters, digits and hyphens'),
        ('name = "shuffle"', 'name = "sums"', '"sums" is there twice'),
        ("says.zh", "said.zh", '"shuffle" has said; known are '),
        ('taught = ["a#v5", "a#v6", "b"]', "", '"shuffle" wants says.en, says.zh and taught'),
    ],
)
def test_a_mistake_in_the_file_is_one_line(told, old, new, said):
    with pytest.raises(BookError, match=r"^docs/techniques\.toml: ") as error:
        techniques.read(told(TECHNIQUES.replace(old, new)))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_the_books_techniques(book):
    assert techniques.problems(book) == []
    found = [one for group in techniques.read(book) for one in group.techniques]
    assert len(found) >= 40 and sum(bool(one.practised) for one in found) > len(found) / 2
