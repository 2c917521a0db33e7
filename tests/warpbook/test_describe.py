"""Every page is described in a line of its own: the front matter's, its first sentences, or its program's docstring."""

from __future__ import annotations

from warpbook.source import describe
from warpbook.source.pages import Page


def test_the_front_matter_comes_first(small, write):
    page = Page(small, write("docs/en/x.md", "---\ndescription: What it says.\n---\n\n# X\n\nAnother sentence.\n"))
    assert describe.page(page, "en", "# X\n\nAnother sentence.\n") == "What it says."


def test_otherwise_whole_sentences_of_the_first_prose_without_their_marks():
    markdown = (
        """# Copies

> **You need**

- a list

A copy moves [every byte](x.md) twice[^1]: `dst[i] = src[i]`. It is *the* yardstick. """
        + "It goes on. " * 20
    )
    found = describe.opening(markdown, "en")
    assert found.startswith("A copy moves every byte twice: dst[i] = src[i]. It is the yardstick. It goes on.")
    assert found.endswith("It goes on.") and describe.LEAST["en"] <= describe.columns(found) <= describe.MOST
    chinese = "# 拷贝\n\n一次[拷贝](x.md)要读写每个字节。它是尺子。\n"
    assert describe.opening(chinese, "zh") == "一次拷贝要读写每个字节。它是尺子。"


def test_a_lab_page_is_described_by_its_program(small, write):
    write("docs/en/copying.md", "# Copying\n")
    write("docs/zh/copying.md", "# 拷贝\n")
    write("snippets/copying/copy.py", '"""Copy 1 GiB: by bytes,\nand by words.\n\npython copy.py   anywhere\n"""\n')
    found = describe.lab(small, "snippets/copying/copy.py", "en")
    assert found.startswith("Copy 1 GiB: by bytes, and by words. A program, with")
    assert "《拷贝》的程序 copying/copy.py：" in describe.lab(small, "snippets/copying/copy.py", "zh")
