"""Words that the book writes in one way."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.source import terms

TERMS = """
[[group]]
en = "Execution"
zh = "执行"

[[group.term]]
en = "kernel"
zh = "核函数"
avoid = ["(?<!Linux )内核", "kernal"]
says = { en = "A function.", zh = "函数。" }

[[spelling]]
avoid = "optimiz(?:e|ing)"
write = "optimise"
"""


@pytest.fixture
def filled(small, write):
    write("docs/glossary.toml", TERMS)
    return small


def test_a_word_that_the_glossary_rules_out_is_named_with_its_line(filled, write):
    write("docs/zh/x.md", "---\ndescription: 内核\n---\n# X\n\n启动内核。Linux 内核不算。\n")
    write("docs/en/x.md", "# X\n\nOptimizing a kernal.\n")
    assert terms.problems(filled) == [
        "docs/en/x.md:3: kernal: write kernel",
        "docs/en/x.md:3: Optimizing: write optimise",
        "docs/zh/x.md:6: 内核: write 核函数",
    ]


@pytest.mark.parametrize(
    "left_alone",
    [
        "```text\noptimize\n```",
        "`optimize`, [so](optimize.md) and $optimize$",
        'They say "optimize", *optimize*, “optimize\nit”.',
        "[^s]: [How to optimize](https://x.example)",
    ],
)
def test_code_sources_and_quotations_are_as_their_authors_spell_them(filled, write, left_alone):
    write("docs/en/x.md", f"# X\n\n{left_alone}\n")
    assert terms.problems(filled) == []


def test_a_mistake_in_the_rules_is_told(filled, write):
    write("docs/glossary.toml", TERMS.replace('write = "optimise"', 'right = "optimise"'))
    with pytest.raises(BookError, match="has avoid and write, not avoid, right"):
        terms.rules(filled)


def test_the_book_itself(book):
    wrong = terms.problems(book)
    assert not wrong, "\n".join(wrong)
