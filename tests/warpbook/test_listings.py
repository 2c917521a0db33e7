"""Listings: what each is called, which lines it numbers, what is copied of it, and which lines the notes are on."""

from __future__ import annotations

import re

import pytest

from warpbook.blocks import listings
from warpbook.book import Book, BookError, write_text
from warpbook.pipeline import render
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


ADD = shown("language-cuda", "__global__ void add(int* x) {\n    x[threadIdx.x] += 1;\n}", "snippets/x/add.cu")


def test_a_listing_is_named_after_its_section_and_numbered_as_its_file(book: Book) -> None:
    made = listings.complete(ADD, page(book, HEAD), "en", "../")
    assert '<div class="language-cuda highlight" data-lines="3-3 5-5 7-7">' in made
    assert '<code id="add.cu:add">' in made
    assert '<a href="../snippets/x/run/#add.cu-L3">snippets/x/add.cu</a>:3, 5, 7</span>' in made


def test_one_written_in_the_page_is_named_after_the_heading_above(book: Book) -> None:
    text = "# X\n\n## Scale { #scale }\n\n```python\na = 1\n```\n\n```python\nb = 2\n```\n"
    html = f'<h2 id="scale">Scale</h2>{shown("language-python", "a = 1")}{shown("language-python", "b = 2")}'
    assert re.findall(r'<code id="([^"]*)"', listings.complete(html, page(book, text), "en", "")) == [
        "scale.1",
        "scale.2",
    ]


def test_of_a_console_neither_prompts_nor_answers_are_copied() -> None:
    assert listings.commands("$ make site \\\n>   ONLY=x\nbuilt\n\n$ ls\nsite\n") == "make site \\\n  ONLY=x\nls"
    assert listings.commands(">>> for i in x:\n...     print(i)\n1\n") == "for i in x:\n    print(i)"
    assert listings.commands("no prompt\n") == "no prompt"


def test_a_kernel_and_the_program_that_follows_at_once_stand_in_one_element(book: Book) -> None:
    text = HEAD + "```python\nrun()\n```\n"
    output = '<div class="wb-output"><div>1</div></div>'
    made = listings.complete(
        ADD + "\n" + shown("language-python", "run()") + output + "<p>Then.</p>", page(book, text), "en", ""
    )
    assert made.startswith('<div class="wb-pair"><div><div class="language-cuda')
    assert made.endswith(f"{output}</div></div><p>Then.</p>")
    apart = listings.complete(f"{ADD}<p>But.</p>{shown('language-python', 'run()')}", page(book, text), "en", "")
    assert "wb-pair" not in apart


def test_a_note_numbers_the_line_that_it_begins_with(book: Book) -> None:
    one = page(book, HEAD + "{{ notes }}\n\n1.  `+= 1` One more.\n")
    assert list(render.markdown_of(one, "en", Values(book)).tokens.values()) == ["<!-- notes 1 -->"]
    made = listings.complete(f"{ADD}\n<!-- notes 1 -->\n<ol>\n<li>One more.</li>\n</ol><p>Then.</p>", one, "en", "")
    mark = '<a class="wb-note" href="#add.cu:add-note1" aria-label="Note 1" data-note="1"></a>'
    assert f"x[threadIdx.x] += 1;{mark}\n" in made
    assert '</div><ol class="wb-notes"><li id="add.cu:add-note1">One more.</li>\n</ol>' in made


def test_a_program_that_is_shown_and_not_run_has_its_colours(book: Book) -> None:
    made = render.markdown_of(page(book, '# X\n\n```text title="rows.py"\nx = 1\n```\n'), "en", Values(book))
    assert '```py3 title="rows.py"\nx = 1\n```' in made.markdown
    made = render.markdown_of(page(book, '# X\n\n```text title="rows.txt"\nx = 1\n```\n'), "en", Values(book))
    assert '```text title="rows.txt"' in made.markdown


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
    assert any(said in problem for problem in render.markdown_of(page(book, text), "en", Values(book)).problems)


def test_blocks_that_are_not_shown_are_told(book: Book) -> None:
    with pytest.raises(BookError, match="1 blocks are written and 0 are shown"):
        listings.complete("<p></p>", page(book, HEAD), "en", "")


def test_a_program_s_page_shows_the_kernels_it_loads_with_an_anchor_a_line(book: Book) -> None:
    files = listings.beside(book, book.snippets / "x" / "run.py")
    assert list(files) == ["snippets/x/add.cu"]
    made = listings.of_file("snippets/x/add.cu", files["snippets/x/add.cu"])
    assert re.findall(r'<b id="([^"]*)">', made) == ["add.cu-L1", "add.cu-L3", "add.cu-L5", "add.cu-L7"]
    assert "8&lt;" not in made
