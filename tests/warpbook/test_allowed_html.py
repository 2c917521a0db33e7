"""What authors may write as HTML, and that the rest is refused with its file and line."""

from __future__ import annotations

import re

import pytest

from warpbook.book import Book
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import allowed_html
from warpbook.source.pages import Page

REFUSED = [
    "<script>alert(1)</script>",
    "<SCRIPT src=x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<img src=x OnError=alert(1)>",
    '<p title=">" onclick=alert(1)>',
    '<img src="https://example.org/pixel.png" alt="">',
    '<img src="//example.org/pixel.png" alt="">',
    '<img src="data:image/svg+xml,%3Csvg%3E" alt="">',
    '<iframe src="https://example.org"></iframe>',
    '<iframe srcdoc="&lt;script&gt;"></iframe>',
    '<object data="x.swf"></object>',
    "<embed src=x>",
    '<base href="https://example.org/">',
    '<meta http-equiv="refresh" content="0;url=https://example.org">',
    "<link rel=stylesheet href=x.css>",
    '<form action="https://example.org"><button>go</button></form>',
    '<button formaction="https://example.org">go</button>',
    "<input type=image src=x>",
    '<svg><script>alert(1)</script></svg>',
    '<svg><use href="https://example.org/x.svg#a"/></svg>',
    "<svg><foreignObject><p>x</p></foreignObject></svg>",
    "<math><mtext></mtext></math>",
    "<style>p { background: url(https://example.org/x) }</style>",
    '<p style="background: url(https://example.org/x)">x</p>',
    '<td style="background: url(https://example.org/x)">x</td>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVaScRiPt:alert(1)">x</a>',
    '<a href=" java\tscript:alert(1)">x</a>',
    '<a href="javascript&colon;alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="vbscript:x">x</a>',
    '<a href="data:text/html,%3Cscript%3E">x</a>',
    "[x](javascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](data:text/html,y)",
    "A word{ onclick=alert(1) }\n{ onclick=alert(1) }",
    "*a word*{ onmouseover=alert(1) }",
    "[x](y.md){ ping=https://example.org }",
    '<p id="__config">{}</p>',
    "<!-- a --!><img src=x onerror=alert(1)>-->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><p>x</p></template>",
    "<textarea>x</textarea>",
    "<!doctype html>",
]  # fmt: skip
ALLOWED = [
    "A paragraph with `<script>` in code, 3 < 4, *em* and [a link](https://example.org/?a=1&b=2).",
    "<details open><summary>More</summary><p>Text</p></details>",
    '<table><tr><th scope="row" colspan="2">a</th><td style="text-align: right;">b</td></tr></table>',
    '<div class="wb-home" markdown>\nText\n</div>',
    '<img src="figures/tree.png" alt="A tree" width="10" height="10" loading="lazy">',
    "[mail](mailto:a@example.org) [up](../memory/) [line](#reduce.cu:v8) <https://example.org/>",
    "Water is H<sub>2</sub>O, press <kbd>Ctrl</kbd>, <span lang=\"zh-Hans\">线程束</span>",
    "<!-- a comment - with a hyphen -->",
    "$a<b$ and $c>d$",
    "| a | b |\n|---|--:|\n| 1 | 2 |",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_could_run_or_fetch_is_refused(text):
    found = allowed_html.text_problems(f"First.\n\n{text}\n", "docs/glossary.toml", 7)
    assert found and all(one.startswith("docs/glossary.toml:") and "\n" not in one for one in found)
    assert int(found[0].split(":")[1]) >= 9


@pytest.mark.parametrize(
    "html",
    [
        '<img/src="x"/onerror=alert(1)>',
        "<img\nsrc=x\nonerror=alert(1)>",
        '<p title="<img src=x">',
        "<p title='a > b'>",
        "<a href='java\nscript:x'>",
        '<a href="\x01javascript:x">',
        "<p",
        "<?php ?>",
        "<![CDATA[x]]>",
        "<p hidden onclick>",
    ],
)
def test_html_that_browsers_and_parsers_may_read_in_two_ways_is_refused(html):
    """Markdown escapes some of these today; what it writes is what is checked."""
    assert allowed_html.refused(f"<p>a</p>{html}")


@pytest.mark.parametrize("text", ALLOWED)
def test_what_pages_are_written_with_is_allowed(text):
    assert allowed_html.text_problems(text, "docs/en/a.md") == []


@pytest.mark.parametrize("text", REFUSED)
def test_a_page_is_held_to_it_as_the_site_reads_it(small: Book, write, text):
    """By the book's own Markdown, with all its extensions."""
    page = Page(small, write("docs/en/a.md", f"# A\n\nFirst.\n\n{text}\n"))
    found = [one for one in parse(page, "en", Values(small)).problems if re.match(r"docs/en/a\.md:\d", one)]
    assert found and int(found[0].split(":")[1]) >= 5


@pytest.mark.parametrize("text", ALLOWED)
def test_what_a_page_may_have_it_has(small: Book, write, text):
    page = Page(small, write("docs/en/a.md", f"# A\n\nFirst.\n\n{text}\n"))
    assert [
        one for one in parse(page, "en", Values(small)).problems if "node_modules" not in one
    ] == []  # no formulas here


def test_the_line_is_that_of_the_source_whatever_comes_before_it(small: Book, write):
    """After an include of many lines, the second of two equal tags, beside the same text as code."""
    write("snippets/a/long.cu", "// --8<-- [start:k]\n" + "int x; // <iframe>\n" * 30 + "// --8<-- [end:k]\n")
    write("snippets/a/words.md", "Included prose.\n\n<iframe></iframe>\n")
    lines = [
        "# A",
        '```cuda\n--8<-- "snippets/a/long.cu:k"\n```',
        "In code `<iframe>` is a word.",
        "<iframe></iframe>",
        '--8<-- "snippets/a/words.md"',
        "<iframe></iframe>",
    ]
    path = write("docs/en/a.md", "\n\n".join(lines) + "\n")
    html = "<h1>A</h1><pre>&lt;iframe&gt;</pre>" + "<iframe></iframe>" * 3
    source = path.read_text("utf-8").splitlines()
    first, last = [i for i, text in enumerate(source, 1) if text.startswith("<iframe>")]
    found = [one.rsplit(": <iframe>", 1)[0] for one in allowed_html.page_problems(Page(small, path), html, "en")]
    assert found == [f"docs/en/a.md:{first}", "snippets/a/words.md:3", f"docs/en/a.md:{last}"]


def test_a_problem_that_another_page_brings_in_is_told_where_it_was_written(small: Book, write):
    write("docs/en/b.md", "# B\n\nOne.\n\n<object></object>\n")
    errata = write("docs/en/errata.md", "# Errata\n\n{{ errata }}\n")
    found = allowed_html.page_problems(Page(small, errata), "<object></object>", "en")
    assert [one.split(": ")[0] for one in found] == ["docs/en/b.md:5"]


TASK = """---
title: Eight
minutes: 10
difficulty: 1
section: a#a
---
A question.

{}

## Hints

1. One `code`{{: onclick="x"}}.
2. Two.
3. Three.
"""


def test_an_exercise_is_held_to_it_in_the_page_that_shows_it(small: Book, write):
    for language, marks in (("en", "Hints"), ("zh", "提示")):
        text = TASK.format("[x](javascript:alert(1))").replace("Hints", marks)
        write(f"exercises/a/one/task.{language}.md", text)
    for name in ("stub.cu", "solution.cu"):
        write(f"exercises/a/one/{name}", "// your code\n// end of your code\n")
    write("exercises/a/one/judge.py", "")
    page = Page(small, write("docs/en/a.md", "# A { #a }\n\nText.\n\n{{ exercise:a/one }}\n"))
    found = [one for one in parse(page, "en", Values(small)).problems if "is not allowed" in one]
    assert [one.split(": ")[0] for one in found] == ["exercises/a/one/task.en.md:9", "exercises/a/one/task.en.md:13"]


GLOSSARY = """[[group]]
en = "Hardware"
zh = "硬件"
[[group.term]]
en = "warp"
zh = "线程束"
avoid = ["(?<!a)<b>"]
says.en = "Threads that <img src=x onerror=\\"alert(1)\\"> run together."
says.zh = "一起执行的线程。"
"""


def test_the_texts_of_toml_files_are_held_to_the_same(small: Book, write):
    write("docs/glossary.toml", GLOSSARY)
    write("docs/changes.toml", '[[change]]\nen = "[x](javascript:alert(1))"\nzh = "一"\n')
    found = allowed_html.source_problems(small)
    assert [one.split(": ")[0] for one in found] == ["docs/changes.toml:2", "docs/glossary.toml:8"]
    assert "javascript:alert(1)" in found[0] and "onerror" in found[1]


def test_front_matter_is_held_to_it_as_yaml_reads_it(small: Book, write):
    write("docs/zh/a.md", '---\nsummary: "fine"\ntitle: "\\x3ciframe>"\n---\n# A\n')
    [found] = allowed_html.source_problems(small)
    assert found.startswith("docs/zh/a.md:3: <iframe> is not allowed")


CLAIMS = """[run.v1]
en = "<iframe></iframe> is faster"
zh = "更快"
value = "v1.time"
predicted = 2.0
source = "made <b onclick=x>up</b>, for a[i] < b[i]"
published_link = "javascript:alert(1)"
"""


def test_claims_are_held_to_it(small: Book, write):
    write("snippets/a/claims.toml", CLAIMS)
    found = [one.split(": ")[0] for one in allowed_html.source_problems(small)]
    assert found == [f"snippets/a/claims.toml:{line}" for line in (2, 6, 7)]


def test_files_that_a_browser_would_run_are_not_published(small: Book, write):
    for name in ("page.html", "run.js", "style.css", "old.xhtml", "table.csv"):
        write(f"docs/en/theory/{name}", "")
    found = [one.split(": ")[0] for one in allowed_html.source_problems(small)]
    assert found == [f"docs/en/theory/{name}" for name in ("old.xhtml", "page.html", "run.js", "style.css")]


def drawing(inner: str, attributes: str = "") -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"{attributes}>\n{inner}\n</svg>'
    )


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
        '<h:img xmlns:h="http://www.w3.org/1999/xhtml" src="x" onerror="alert(1)"/>',
        '<rect onclick="alert(1)"/>',
        '<rect ONCLICK="alert(1)"/>',
        "<foreignObject><p>x</p></foreignObject>",
        '<use href="https://example.org/x.svg#a"/>',
        '<use l:href="other.svg#a"/>',
        '<use href="data:image/svg+xml,x#a"/>',
        '<a href="javascript:alert(1)"><text>x</text></a>',
        '<image href="https://example.org/x.png"/>',
        '<rect fill="url(https://example.org/x)"/>',
        '<rect style="fill: url(\'https://example.org/x\')"/>',
        '<rect style="fill: \\75rl(x)"/>',
        '<rect style="background: image-set(\'x\' 1x)"/>',
        "<style>rect { fill: red }</style>",
        '<animate attributeName="href" to="javascript:alert(1)"/>',
        '<set attributeName="onclick" to="alert(1)"/>',
        "<title><![CDATA[<img src=x onerror=alert(1)>]]></title>",
        "<!--><img src=x onerror=alert(1)>-->",
        '<?xml-stylesheet href="https://example.org/x.css"?>',
    ],
)  # fmt: skip
def test_a_drawing_holds_shapes_and_nothing_that_runs(inner):
    found = allowed_html.drawing_problems(drawing(inner), "docs/en/figures/a.svg")
    assert found and all(one.startswith("docs/en/figures/a.svg:2: ") for one in found)


def test_a_drawing_may_not_define_entities():
    text = '<!DOCTYPE svg [<!ENTITY x "<script/>">]>\n' + drawing("<title>&x;</title>")
    assert "DOCTYPE" in allowed_html.drawing_problems(text, "a.svg")[0]


def test_a_broken_drawing_is_told_with_its_line():
    assert allowed_html.drawing_problems(drawing("<rect>"), "a.svg") == ["a.svg:3: not well-formed SVG"]


def test_a_drawing_as_the_book_has_them_is_allowed(book: Book):
    inner = (
        '<defs><marker id="m"/></defs><path d="M0 0" marker-end="url(#m)" fill="var(--wb-bar, #2f8)"/><use href="#m"/>'
    )
    assert allowed_html.drawing_problems(drawing(inner, ' role="img" aria-label="x (y)"'), "a.svg") == []
    assert allowed_html.source_problems(book) == []
