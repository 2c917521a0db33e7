"""Listings: what each is called, which lines it numbers, what is copied of it, and which lines the notes are on."""

from __future__ import annotations

import re

import pytest

from warpbook.blocks import listings
from warpbook.book import Book, BookError, write_text
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source.pages import Page

KERNEL = """// Adds.
// --8<-- [start:add]
__global__ void add(int* x) {
    // --8<-- [start:line]
    x[threadIdx.x] += 1;
    // --8<-- [end:line]
}
// --8<-- [end:add]
"""
PROGRAM = 'import warpbench as wb\n\nmodule = wb.module("x/add.cu")\n'
HEAD = '# X\n\n```cuda title="snippets/x/add.cu"\n--8<-- "snippets/x/add.cu:add"\n```\n\n'


@pytest.fixture
def book(small: Book) -> Book:
    write_text(small.snippets / "x" / "add.cu", KERNEL)
    write_text(small.snippets / "x" / "run.py", PROGRAM)
    return small


def page(book: Book, text: str) -> Page:
    path = book.docs / "en" / "x.md"
    write_text(path, text)
    return Page(book, path)


def shown(classes: str, code: str, title: str = "") -> str:
    head = f'<span class="filename">{title}</span>' if title else ""
    return f'<div class="{classes} highlight">{head}<pre><span></span><code>{code}\n</code></pre></div>'


def complete(content: str, page: Page, *listings_: str, root: str = "") -> str:
    """`content` with these listings where {} stands, as readers get them."""
    places = [listings.PLACE.format(i) for i in range(len(listings_))]
    kept = {i: (block, html) for i, (block, html) in enumerate(zip(page.blocks, listings_, strict=True))}
    return listings.complete(content.format(*places), page, kept, "en", root)


ADD = shown("language-cuda", "__global__ void add(int* x) {\n    x[threadIdx.x] += 1;\n}", "snippets/x/add.cu")


def test_a_listing_is_named_after_its_section_and_numbered_as_its_file(book: Book) -> None:
    made = complete("{}", page(book, HEAD), ADD, root="../")
    assert '<div class="language-cuda highlight" data-lines="3-3 5-5 7-7">' in made
    assert '<code id="add.cu:add">' in made
    assert '<a href="../snippets/x/run/#add.cu-L3">snippets/x/add.cu</a>:3, 5, 7</span>' in made


def test_one_written_in_the_page_is_named_after_the_heading_above(book: Book) -> None:
    text = "# X\n\n## Scale { #scale }\n\n```python\na = 1\n```\n\n```python\nb = 2\n```\n"
    made = complete(
        '<h2 id="scale">Scale</h2>{}{}',
        page(book, text),
        shown("language-python", "a = 1"),
        shown("language-python", "b = 2"),
    )
    assert re.findall(r'<code id="([^"]*)"', made) == ["scale.1", "scale.2"]


def test_of_a_console_neither_prompts_nor_answers_are_copied() -> None:
    assert listings.commands("$ make site \\\n>   ONLY=x\nbuilt\n\n$ ls\nsite\n") == "make site \\\n  ONLY=x\nls"
    assert listings.commands(">>> for i in x:\n...     print(i)\n1\n") == "for i in x:\n    print(i)"
    assert listings.commands("no prompt\n") == "no prompt"


def test_a_kernel_and_the_program_that_follows_at_once_stand_in_one_element(book: Book) -> None:
    text = HEAD + "```python\nrun()\n```\n"
    output = '<div class="wb-output"><div>1</div></div>'
    run = shown("language-python", "run()")
    made = complete("{}\n{}" + output + "<p>Then.</p>", page(book, text), ADD, run)
    assert made.startswith('<div class="wb-pair"><div><div class="language-cuda')
    assert made.endswith(f"{output}</div></div><p>Then.</p>")
    apart = complete("{}<p>But.</p>{}", page(book, text), ADD, run)
    assert "wb-pair" not in apart


def test_a_note_numbers_the_line_that_it_begins_with(book: Book) -> None:
    one = page(book, HEAD + "{{ notes }}\n\n1.  `+= 1` One more.\n")
    assert parse(one, "en", Values(book)).directives == [("notes", "<!-- notes 1 -->")]
    made = complete("{}\n<!-- notes 1 -->\n<ol>\n<li>One more.</li>\n</ol><p>Then.</p>", one, ADD)
    mark = '<a class="wb-note" href="#add.cu:add-note1" aria-label="Note 1" data-note="1"></a>'
    assert f"x[threadIdx.x] += 1;{mark}\n" in made
    assert '</div><ol class="wb-notes"><li id="add.cu:add-note1">One more.</li>\n</ol>' in made


def test_a_program_that_is_shown_and_not_run_has_its_colours(book: Book) -> None:
    made = parse(page(book, '# X\n\n```text title="rows.py"\nx = 1\n```\n'), "en", Values(book))
    assert '<span class="mi">1</span>' in made.html and not made.problems
    made = parse(page(book, '# X\n\n```text title="rows.txt"\nx = 1\n```\n'), "en", Values(book))
    assert '<code id="code.1">x = 1\n</code>' in made.html


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            HEAD + "{{ notes }}\n\n1.  `-= 1` Less.\n",
            'docs/en/x.md:7: note 1: "-= 1" stands in no lines of the listing',
        ),
        (HEAD + "{{ notes }}\n\nNo list.\n", "notes without a list below them whose points begin with code"),
        ("# X\n\n{{ notes }}\n", "notes stand under no listing"),
    ],
)
def test_a_note_on_no_line_is_told(book: Book, text: str, said: str) -> None:
    assert any(said in problem for problem in parse(page(book, text), "en", Values(book)).problems)


def test_blocks_that_are_not_shown_are_told(book: Book) -> None:
    with pytest.raises(BookError, match=r"docs/en/x\.md:3: this block is collected and not shown as one"):
        complete("<p></p>", page(book, HEAD), ADD)


def test_a_program_s_page_shows_the_kernels_it_loads_with_an_anchor_a_line(book: Book) -> None:
    files = listings.beside(book, book.snippets / "x" / "run.py")
    assert list(files) == ["snippets/x/add.cu"]
    made = listings.of_file("snippets/x/add.cu", files["snippets/x/add.cu"])
    assert re.findall(r'<b id="([^"]*)">', made) == ["add.cu-L1", "add.cu-L3", "add.cu-L5", "add.cu-L7"]
    assert "8&lt;" not in made
