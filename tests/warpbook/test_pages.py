"""Which blocks a page has, where each line came from, and what is said of a page that is wrong."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.source.pages import Page

FENCES = """# A page

```python
a = 1
```

```python title="x.py"
b = 2
```

```{.python title="x.py"}
c = 3
```

```py
d = 4
```

~~~python
e = '''
```
'''
~~~

=== "Tab"

    ```python
    if True:
        f = 6
    ```

```cuda
__global__ void k() {}
```

```text
not run
```
"""


def test_every_way_of_writing_a_fence_is_a_block(small, write):
    page = Page(small, write("docs/en/x.md", FENCES))
    assert [block.code for block in page.python] == [
        "a = 1\n",
        "b = 2\n",
        "c = 3\n",
        "d = 4\n",
        "e = '''\n```\n'''\n",
        "if True:\n    f = 6\n",
    ]
    assert [block.language for block in page.blocks][-2:] == ["cuda", "text"]
    assert [block.page_number for block in page.python] == [3, 7, 11, 15, 19, 27]


def test_an_indented_block_keeps_its_empty_lines(small, write):
    page = Page(small, write("docs/en/x.md", '??? "Answer"\n    ```python\n    a = 1\n\n\n    b = 2\n    ```\n'))
    assert [block.code for block in page.python] == ["a = 1\n\n\nb = 2\n"]


def test_a_line_of_a_snippet_knows_its_file(small, write):
    write("snippets/x/a.py", "import os\n# --8<-- [start:part]\ndef f():\n    return 1\n# --8<-- [end:part]\n")
    page = Page(small, write("docs/en/x.md", 'Text\n\n```python\n--8<-- "snippets/x/a.py:part"\nf()\n```\n'))
    (block,) = page.python
    assert block.code == "def f():\n    return 1\nf()\n"
    assert [(line.file, line.number) for line in block.lines] == [
        ("snippets/x/a.py", 3),
        ("snippets/x/a.py", 4),
        ("docs/en/x.md", 5),
    ]


KNOWN = (
    "known are python (run) and asm, bash, c, cmake, console, cpp, cuda, diff, html, ini, json, make, markdown, ptx, "
    "sass, sh, text, toml, yaml (shown)"
)
INSTEAD = "what is not to be run is shown as `console` or `text`"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\n--8<-- "snippets/no.py"\n', 'docs/en/x.md:2: snippet "snippets/no.py": there is no snippets/no.py'),
        (
            '--8<-- "snippets/a.py:none"\n',
            'docs/en/x.md:1: snippet "snippets/a.py:none": snippets/a.py has no section "none"',
        ),
        (
            '--8<-- "snippets/a.py:open"\n',
            'docs/en/x.md:1: snippet "snippets/a.py:open": section "open" has no end in snippets/a.py',
        ),
        (
            "\n\n--8<--\na.py\n--8<--\n",
            'docs/en/x.md:3: write each snippet on a line of its own: --8<-- "file:section"',
        ),
        (
            "```pyhton\nprint()\n```\n",
            f'docs/en/x.md:1: unknown language "pyhton"; {KNOWN}',
        ),
        (
            "```\nprint()\n```\n",
            f"docs/en/x.md:1: a block without a language; {KNOWN}",
        ),
        ("a\n```python\n1\n", "docs/en/x.md:2: this block is never closed"),
        (
            "a\n\n```text\n1\n\nb\n\n```python\n2\n```\n",
            "docs/en/x.md:3: this block is never closed: ```python begins another within it; close it, or, if that line"
            " is its text, fence it with ````",
        ),
        (
            "> ```python\n> 1\n> ```\n",
            "docs/en/x.md:1: a block within a quotation would be shown and not run; take it out of the `>`",
        ),
        (  # superfences shows such a fence as a paragraph
            "-   a\n\n    ```python\n  1\n    ```\n",
            "docs/en/x.md:3: this block is never closed",
        ),
        (
            "<!--pytest.mark.skip-->\n```python\n1\n```\n",
            f"docs/en/x.md:1: every block is run, so pytest marks have no place here; {INSTEAD}",
        ),
    ],
)
def test_a_wrong_page_is_told_in_one_line(small, write, text, said):
    write("snippets/a.py", "# --8<-- [start:open]\n1\n")
    page = Page(small, write("docs/en/x.md", text))
    with pytest.raises(BookError) as raised:
        page.blocks  # noqa: B018
    assert str(raised.value) == said


def test_counters_are_a_list_in_the_front_matter(small, write):
    page = Page(small, write("docs/en/x.md", '---\ncounters: ["x/a.py --small"]\n---\n# X\n'))
    assert page.counters == ["x/a.py --small"]
    wrong = Page(small, write("docs/en/y.md", "---\ncounters: x/a.py\n---\n# X\n"))
    with pytest.raises(BookError, match=r"^docs/en/y.md: counters must be a list of texts"):
        wrong.counters  # noqa: B018
