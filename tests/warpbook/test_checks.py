"""The two languages show the same blocks, and a test says where they part."""

from __future__ import annotations

from warpbook.check.checks import parted, unnamed, unread
from warpbook.records.counters import METRICS, parse
from warpbook.source.pages import Page

EN = "# X\n\n```python\na = 1  # one\n```\n\n```cuda\nint a;\n```\n"


def test_comments_may_be_in_the_page_s_language(small, write):
    write("docs/en/x.md", EN)
    write("docs/zh/x.md", EN.replace("# one", "# 一"))
    assert parted(small, "x") == []


def test_the_first_block_that_differs_is_named(small, write):
    write("docs/en/x.md", EN)
    write("docs/zh/x.md", "# 某\n\n" + EN.replace("int a", "int b"))
    assert parted(small, "x") == [
        "docs/en/x.md:7 and docs/zh/x.md:9: the two languages show different blocks from here on"
    ]


def test_a_block_too_many_and_a_page_too_few(small, write):
    write("docs/en/x.md", EN)
    assert parted(small, "x") == ["docs/en/x.md: there is no docs/zh/x.md"]
    write("docs/zh/x.md", EN + "\n```python\n2\n```\n")
    assert parted(small, "x") == ["docs/zh/x.md:11: the other language does not show this block"]


def test_front_matter_is_yaml(small, write):
    page = Page(small, write("docs/en/x.md", "---\nhide: [toc]\ndescription: Two things: one\n---\n\n# X\n"))
    assert unread(page) == [
        'docs/en/x.md:3: front matter: mapping values are not allowed here; text with ": " in it wants quotation marks'
    ]
    assert unread(Page(small, write("docs/en/y.md", EN))) == []


def test_counters_are_read_after_the_program_s_own_output():
    text = (
        "ok\n==PROF== Connected\n"
        f'"ID","Kernel Name","Block Size","Grid Size","{METRICS[0]}","{METRICS[7]}"\n'
        '"","","","","","%"\n'
        '"0","reduce_v0(const float *, float *, int)","(256, 1, 1)","(16384, 1, 1)","131,072","31.5"\n'
    )
    assert parse(text) == [
        {
            "kernel": "reduce_v0",
            "grid": [16384, 1, 1],
            "block": [256, 1, 1],
            "metrics": {METRICS[0]: 131072, METRICS[7]: 31.5},
        }
    ]


def test_both_languages_use_the_same_names(small, write):
    write(
        "docs/en/x.md",
        "{{ a / b }}, {{ quoted: 2.1× [^a] }}, {{ counted: 1.0 to 1.1× }}\n\n"
        '{{ chart:curve a labels="one" }}\n\n`{{ code }}`\n',
    )
    write(
        "docs/zh/x.md",
        "{{ counted: 1.0 到 1.1× }}，{{ quoted: 2.1 倍 [^a] }}，{{ a / b }}{{ a / b }}\n\n"
        '{{ chart:curve a labels="一" }}\n',
    )
    assert unnamed(small, "x") == []

    write(
        "docs/zh/x.md",
        '{{ a }}\n{{ quoted: 2.2 倍 [^a] }}，{{ counted: 1.0 到 1.1× }}\n\n{{ chart:curve b labels="一" }}\n',
    )
    assert unnamed(small, "x") == [
        "docs/en/x.md:1: the other language's page, docs/zh/x.md, does not have {{ a / b }}",
        "docs/en/x.md:1: the other language's page, docs/zh/x.md, does not have {{ quoted: 2.1× [^a] }}",
        'docs/en/x.md:3: the other language\'s page, docs/zh/x.md, does not have {{ chart:curve a labels="one" }}',
        "docs/zh/x.md:1: the other language's page, docs/en/x.md, does not have {{ a }}",
        "docs/zh/x.md:2: the other language's page, docs/en/x.md, does not have {{ quoted: 2.2 倍 [^a] }}",
        'docs/zh/x.md:4: the other language\'s page, docs/en/x.md, does not have {{ chart:curve b labels="一" }}',
    ]
