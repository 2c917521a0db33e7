"""A page as plain Markdown: nothing of HTML or of the book's own marks is left, and its blocks can be cut out again."""

from __future__ import annotations

import pytest

from warpbook.book import LANGUAGES, here
from warpbook.exports import llms, plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.run.hashes import normal_python
from warpbook.source.pages import Page

BOOK = here()
VALUES = Values(BOOK)


def text_of(markdown: str, **tokens: str) -> str:
    return plain.tidy("\n".join(plain.lines_of(markdown, tokens)))


def test_anchors_values_and_front_matter_go():
    value = '<data class="wb-value" value="2"><a href="r">2&nbsp;ms</a></data>'
    assert text_of(f"# X {{ #x }}\n\nIt takes {value}.\n") == "# X\n\nIt takes 2\u00a0ms.\n"


def test_an_output_stands_under_its_block():
    box = (
        '<div class="wb-output"><details open><summary>Output</summary><pre data-device="a"><samp>1 &lt; 2\n3</samp>'
        '</pre><pre data-device="b" hidden><samp>other</samp></pre><details class="wb-output__fold"><summary>All 30 '
        'lines</summary></details></details><div class="wb-switch"><button>b</button>'
        "</div></div>"
    )
    made = text_of("```python\nprint(1)\n\n\n\nprint(2)\n```\n\nWARPBOOK0TOKEN\n", WARPBOOK0TOKEN=box)
    assert made == "```python\nprint(1)\n\n\n\nprint(2)\n```\n\n*Output*\n\n```text\n1 < 2\n3\n```\n"
    assert plain.cells(made) == [plain.Cell("code", "print(1)\n\n\n\nprint(2)", "1 < 2\n3", "Output")]


def test_an_output_names_the_device_that_is_shown():
    box = (
        '<div class="wb-output"><details open><summary>Output</summary><pre aria-label="Output: NVIDIA H200">'
        '<samp>1</samp></pre><pre aria-label="Output: no GPU (softcuda)" hidden><samp>2</samp></pre></details></div>'
    )
    made = text_of("```python\nprint(1)\n```\n\nWARPBOOK0TOKEN\n", WARPBOOK0TOKEN=box)
    assert "*Output: NVIDIA H200*" in made and "softcuda" not in made
    assert plain.cells(made)[0].caption == "Output: NVIDIA H200"


def test_a_box_is_a_quotation_and_its_block_a_cell():
    made = text_of('Why?\n\n??? success "Answer"\n    So.\n\n    ```python\n    if 1:\n        a = 1\n    ```\n\nOn.\n')
    assert made == "Why?\n\n> **Answer**\n>\n> So.\n>\n> ```python\n> if 1:\n>     a = 1\n> ```\n\nOn.\n"
    assert plain.cells(made) == [
        plain.Cell("markdown", "Why?\n\n> **Answer**\n>\n> So.\n>"),
        plain.Cell("code", "if 1:\n    a = 1"),
        plain.Cell("markdown", "On."),
    ]


def test_a_launch_in_the_title_of_a_box_is_no_tag():
    made = text_of(
        '??? older "They say: `hello<<<1, 10>>>()` prints <b>one</b> line, as `<<<1, 1>>>` does"\n    It prints ten.\n'
    )
    assert made.startswith("> **They say: `hello<<<1, 10>>>()` prints one line, as `<<<1, 1>>>` does**\n")


def test_a_box_that_the_page_folds_is_folded_in_a_notebook():
    """Text before and after its block, each folded by itself, since a cell is a whole; so is the block."""
    code = "    ```python\n    a = 1\n    ```\n"
    one = f'??? success "A < B"\n    So.\n\n    > A quotation.\n\n{code}\n    Thus.\n'
    text = f'Why?\n\n{one}\nOn.\n\n??? success "C"\n{code}'
    made = plain.tidy("\n".join(plain.lines_of(text, {}, folds=True)))
    first = "<details>\n<summary>A &lt; B</summary>\n\nSo.\n\n> A quotation.\n\n</details>"
    assert plain.cells(made) == [
        plain.Cell("markdown", f"Why?\n\n{first}"),
        plain.Cell("code", "a = 1", folded=True),
        plain.Cell("markdown", "<details>\n<summary>A &lt; B</summary>\n\nThus.\n\n</details>\n\nOn.\n\n*C*"),
        plain.Cell("code", "a = 1", folded=True),
    ]


def test_a_chart_is_its_table_and_a_drawing_its_description():
    chart = (
        '<figure class="wb-chart"><svg><title>no</title></svg><figcaption>Rates</figcaption><details class="wb-data">'
        "<summary>The numbers</summary><table><thead><tr><th>a|b</th><th>c</th></tr></thead><tbody><tr><th>1</th>"
        "<td>2</td></tr></tbody></table></details></figure>"
    )
    drawing = '<figure class="wb-figure"><svg><title>A tree</title><desc>It\n has leaves.</desc></svg></figure>'
    assert plain.of_html(chart) == "*Rates*\n\n| a\\|b | c |\n| --- | --- |\n| 1 | 2 |"
    assert plain.of_html(drawing) == "*A tree: It has leaves.*"


def test_code_in_a_table_stays_code():
    """A kernel's line, in marks of colour, would else be emphasis; a table's bar is no column there either."""
    line = '<code><span class="k">__global__</span> void f(int* a, int* b) { *a |= 1 &lt; *b; }</code>'
    made = plain.of_html(
        f"<table><tr><th>n</th><th>line</th></tr><tr><td>1</td><td>{line} and __all__</td></tr></table>"
    )
    row = r"| 1 | `__global__ void f(int* a, int* b) { *a \|= 1 < *b; }` and \_\_all\_\_ |"
    assert made.splitlines()[-1] == row


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_of_the_book(language):
    for path in BOOK.pages(language):
        page = Page(BOOK, path)
        parsed = parse(page, language, VALUES)
        named = plain.markdown(parsed, folds=True)  # without the stubs of exercises in Python
        codes = [cell.source for cell in plain.cells(named) if cell.kind == "code"]
        same = str.strip if language == "en" else normal_python  # comments are in the page's language
        assert [same(code) for code in codes] == [same(block.code) for block in page.python], page.name
        text = plain.markdown(parsed)
        prose = "".join(cell.source for cell in plain.cells(text) if cell.kind == "markdown")
        assert "WARPBOOK" not in prose and "<data" not in prose and "<span" not in prose, page.name


def test_llms_txt_lists_every_page(book):
    listed = llms.index(book, "zh", "https://example.org/zh/")
    assert "- [访存模式](https://example.org/zh/foundations/memory-access.md): " in listed
    assert listed.partition("\n## 练习")[0].count("\n- [") == len(book.in_reading_order("zh"))
