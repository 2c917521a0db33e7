"""The book's own graph of citations, which the article on reading papers ranks, says what the pages cite."""

from __future__ import annotations

from warpbook import references
from warpbook.book import here


def test_the_graph_follows_the_pages() -> None:
    book = here()
    kept = (book.snippets / references.FILE).read_text("utf-8")
    assert kept == references.text(references.graph(book)), f"run: {references.REMEDY}"


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
