"""The book's own graph of citations, which the article on PageRank ranks, says what the pages cite."""

from __future__ import annotations

from warpbook.book import here
from warpbook.source import references


def test_the_graph_follows_the_pages() -> None:
    book = here()
    kept = (book.snippets / references.FILE).read_text("utf-8")
    far = references.drift(kept, references.graph(book))
    assert far <= references.MOST_DRIFT, f"{far:.0%} of the edges differ from the pages; {references.REMEDY}"


def test_how_far_a_graph_is_from_the_pages() -> None:
    now = [("a", "cites", "x"), ("a", "links", "b"), ("b", "cites", "x"), ("b", "cites", "y")]
    assert references.drift(references.text(now), now) == 0
    assert references.drift(references.text(now[1:]), now) == 0.25
    assert references.drift(references.text([*now, ("b", "cites", "z")]), now) == 0.25


def test_a_source_has_one_name_however_a_footnote_names_it() -> None:
    def of(note: str) -> set[str]:
        return references.sources(note, {"before"})

    guide = {"CUDA Programming Guide"}
    assert of("CUDA Programming Guide, C++ language extensions, warp reduce functions.") == guide
    assert of("NVIDIA, [section 3](https://docs.nvidia.com/cuda/cuda-programming-guide/03-advanced/x.html).") == guide
    assert of("D. Knuth, [A title](https://arxiv.org/abs/1203.12345), 2012, read in 2026.") == {
        "Knuth 2012 (1203.12345)"
    }
    assert of("N. J. Higham, The accuracy of summation, SIAM 14, 783-799, 1993.") == {"Higham 1993"}
    assert of("someone/thing, [issue 36](https://github.com/someone/thing/issues/36), 2019.") == {"someone/thing"}
    assert of("The same guide, section 10.2.1.2.") == {"before"}
    assert of("We know of no document that promises it.") == set()


def test_pages_link_to_pages(small, write) -> None:
    write(
        "docs/en/a.md",
        "[b](b.md#there), [a](a.md), [nobody](c.md)\n\n```text\n[b](d.md)\n```\n\n[^x]: W. Kahan, 1965.\n",
    )
    write("docs/en/b.md", "Nothing.\n")
    write("docs/en/d.md", "Nothing.\n")
    assert references.graph(small) == [("a", "cites", "Kahan 1965"), ("a", "links", "b")]


def test_a_paper_known_by_its_number_alone_is_the_one_that_has_an_author(small, write) -> None:
    write("docs/en/a.md", "[^x]: D. Knuth, [A title](https://arxiv.org/abs/1203.12345), 2012.\n")
    write("docs/en/b.md", "[^x]: Version 2 of [the paper](https://arxiv.org/abs/1203.12345v2).\n")
    assert {target for _, _, target in references.graph(small)} == {"Knuth 2012 (1203.12345)"}
