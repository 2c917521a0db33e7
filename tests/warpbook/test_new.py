"""`warpbook new`: what it refuses in one line, that it writes all or nothing, and that its template fits any title.

tests/site/test_new_article.py runs and builds what it makes.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import tomllib

import pytest

from warpbook import cli
from warpbook.book import BookError
from warpbook.new import article, files
from warpbook.source import changes, describe, terms, translation

NAV = """# The site.
nav:
  - Home: index.md
  - First: # a comment
      - First: first/index.md
      - "A: the start": first/a.md
  - Second:
      - Second: second/index.md
  - Developers:
      - Developers: developers/index.md

theme:
  name: material # stays
"""
CHANGES = """# The history.

[[change]]
date = 2026-01-02
pages = ["first/a"]
en = "New: A."
zh = "新文章：A。"
"""


@pytest.fixture
def two(small, write):
    """A book of two tracks, one of them with an article."""
    write("mkdocs.yml", NAV)
    write("mkdocs.zh.yml", NAV.replace('"A: the start"', "开始"))
    write("docs/changes.toml", CHANGES)
    for language in ("en", "zh"):
        write(f"docs/{language}/first/a.md", "# A\n")
    write("snippets/warpbench.py", "")
    return small


@pytest.fixture
def without_running(monkeypatch):
    """Only the text is looked at: nothing runs on softcuda."""
    monkeypatch.setattr(article, "run", lambda draft, name: None)


def contents(book):
    return {p.relative_to(book.root).as_posix(): p.read_bytes() if p.is_file() else b"" for p in book.root.rglob("*")}


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["hello"], '"hello": name the track and the article, such as foundations/hello; '),
        (["first/Hello"], '"first/Hello": name the track and the article'),
        (["first/../x"], '"first/../x": name the track and the article'),
        (["first/a/b"], '"first/a/b": name the track and the article'),
        (["first/index"], '"first/index": index is the track\'s own page; choose another name'),
        (["third/x"], 'mkdocs.yml: nav has no track "third"; it has first, second; a track begins with its own page'),
        (["developers/x"], 'mkdocs.yml: nav has no track "developers"; it has first, second'),
        (["first/a"], "docs/en/first/a.md is there already; choose another name for the article"),
        (["second/a"], "docs/en/first/a.md is there already; choose another name for the article"),
        (["first/x", "--title", "X"], "--title-zh is missing: give the Chinese title too, or neither"),
        (["first/x", "--title-zh", "某"], "--title is missing: give the English title too, or neither"),
        (["first/x", "--title", " ", "--title-zh", "某"], "--title is empty; give a title, or leave both titles out"),
        (["first/x", "--title", "X", "--title-zh", "某\n"], None),
        (["first/x", "--title", "<b>", "--title-zh", "某"], "--title: '<' cannot stand in a title; leave it out"),
        (["first/x", "--title", "X", "--title-zh", "某" * 26], "--title-zh: 52 columns wide, and at most 50 fit; "),
        (["first/x", "--title", "A: the start", "--title-zh", "某"], 'mkdocs.yml: "A: the start" is another page\'s'),
        (["first/x", "--title", "X", "--title-zh", "开始"], 'mkdocs.zh.yml: "开始" is another page\'s title'),
    ],
)
def test_what_is_refused_is_one_line_and_nothing_is_written(two, without_running, monkeypatch, capsys, arguments, line):
    monkeypatch.setattr(cli, "here", lambda: two)
    before = contents(two)
    status = cli.main(["new", *arguments])
    said = capsys.readouterr()
    if line is None:  # a blank at the end of a title is none of its words
        assert status == 0
        return
    assert status == 1 and said.out == "" and said.err.startswith(line) and said.err.count("\n") == 1
    assert contents(two) == before


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("docs/en/first/x.md", "docs/en/first/x.md is there already, and docs/zh/first/x.md is not: write that page"),
        ("docs/zh/first/x.md", "docs/zh/first/x.md is there already, and docs/en/first/x.md is not: write that page"),
        ("docs/zh/second/x.md", "docs/zh/second/x.md is there already; choose another name"),
        ("snippets/x/y.py", "snippets/x is there already; choose another name"),
        ("records/softcuda/x.json", "records/softcuda/x.json is there already; choose another name"),
    ],
)
def test_what_is_there_is_not_overwritten(two, write, name, line):
    write(name, "kept")
    with pytest.raises(BookError) as error:
        article.check(two, article.read("first/x", None, None))
    assert str(error.value).startswith(line)


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        (
            "mkdocs.zh.yml",
            "first/index.md",
            "first/start.md",
            'mkdocs.zh.yml: nav has no track "first"; it has first, ',
        ),
        ("mkdocs.yml", "nav:", "nav: [", "mkdocs.yml: nav: "),
        ("docs/changes.toml", "zh =", "fr =", "docs/changes.toml: change 1 has fr; known are "),
        (
            "mkdocs.yml",
            ' # a comment\n      - First: first/index.md\n      - "A: the start": first/a.md',
            " [{First: first/index.md},\n      {A: first/a.md}]",
            "mkdocs.yml: nav: its list is not written one page per line, so add this one by hand: - X (draft): first/x",
        ),
    ],
)
def test_a_book_out_of_order_is_left_as_it_is(two, write, name, old, new, line):
    text = (two.root / name).read_text("utf-8")
    assert old in text
    write(name, text.replace(old, new))
    with pytest.raises(BookError) as error:
        article.check(two, article.read("first/x", None, None))
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


# -- what is written ---------------------------------------------------------------------------------------------------


def test_the_navigation_and_the_history_gain_an_entry_and_keep_all_else(two, without_running, monkeypatch):
    monkeypatch.setattr(changes, "today", lambda: changes.date(2026, 1, 3))
    article.create(two, article.read("first/hello", "Hello: a kernel", "你好，核函数"))
    new = '      - "Hello: a kernel": first/hello.md\n'
    assert (two.root / "mkdocs.yml").read_text("utf-8") == NAV.replace(
        '"A: the start": first/a.md\n', f'"A: the start": first/a.md\n{new}'
    )
    assert (
        "      - 开始: first/a.md\n      - 你好，核函数: first/hello.md\n" in (two.root / "mkdocs.zh.yml").read_text()
    )
    text = (two.docs / "changes.toml").read_text("utf-8")
    head, others = CHANGES.split("[[change]]")
    assert text.startswith(head) and text.endswith(f"\n[[change]]{others}")
    newest = changes.read(two)[0]
    assert (str(newest.date), newest.pages) == ("2026-01-03", ("first/hello",))


def test_a_track_without_an_article_gains_its_first(two, without_running):
    made = article.create(two, article.read("second/warp-scan", None, None))
    assert "      - Second: second/index.md\n      - Warp scan (draft): second/warp-scan.md\n" in (
        two.root / "mkdocs.yml"
    ).read_text("utf-8")
    assert "    - Python and NumPy.\n\n" in (two.docs / "en/second/warp-scan.md").read_text("utf-8")
    assert made[-3:] == ["mkdocs.yml", "mkdocs.zh.yml", "docs/changes.toml"]
    assert {path for path in made if path.startswith("snippets/")} == {
        f"snippets/warp-scan/{name}" for name in ("twice.cu", "twice.py", "claims.toml", "comments.toml")
    }


def test_a_book_without_a_history_gets_one(two, without_running):
    (two.docs / "changes.toml").unlink()
    article.create(two, article.read("first/x", None, None))
    assert [change.pages for change in changes.read(two)] == [("first/x",)]


def test_the_article_needs_the_one_before_it_and_the_chinese_page_follows(two, without_running):
    article.create(two, article.read("first/x", None, None))
    assert "    - [A: the start](a.md), the article before this one.\n" in (two.docs / "en/first/x.md").read_text()
    assert "    - 读过前一篇：[开始](a.md)。\n" in (two.docs / "zh/first/x.md").read_text("utf-8")
    assert translation.problems(two, two.docs / "zh/first/x.md") == []


@pytest.mark.parametrize("width", [1, article.WIDEST])
def test_descriptions_fit_whatever_the_title(two, without_running, width):
    titles = {"en": "W" * width, "zh": "文" * (width // 2 or 1)}
    article.create(two, article.read("first/x", *titles.values()))
    for language in titles:
        path = two.docs / language / "first/x.md"
        said = describe.page(article_page(two, path), language, ""), describe.lab(two, "snippets/x/twice.py", language)
        for text in said:
            assert describe.LEAST[language] <= describe.columns(text) <= describe.MOST, text


def article_page(book, path):
    from warpbook.source.pages import Page

    return Page(book, path)


def test_the_template_has_the_spelling_of_the_book(book, two, without_running):
    shutil.copy(book.docs / "glossary.toml", two.docs)
    article.create(two, article.read("first/x", None, None))
    assert terms.problems(two) == []


# -- all or nothing ----------------------------------------------------------------------------------------------------


def test_an_article_that_does_not_run_is_not_written(two, monkeypatch):
    def refuse(_):
        raise BookError("no CUDA device and no softcuda here; run `make setup`")

    monkeypatch.setattr(article, "present_device", refuse)
    before, setting = contents(two), os.environ.get("SOFTCUDA")
    with pytest.raises(BookError, match="no softcuda here; run `make setup`"):
        article.create(two, article.read("first/x", None, None))
    assert contents(two) == before and os.environ.get("SOFTCUDA") == setting


STEPS = [("write_bytes", files, n) for n in range(11)] + [
    ("replace", os, n) for n in range(19)
]  # of 8 files, 3 of them copied


@pytest.mark.parametrize("ended", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(("name", "module", "number"), STEPS)
def test_what_cannot_be_written_leaves_nothing(two, without_running, monkeypatch, name, module, number, ended):
    """Neither a full disk nor Ctrl-C, at whatever file it comes."""
    asked = article.read("first/x", None, None)
    made = article.fill
    once = getattr(module, name)
    calls = []

    def fail_once(*arguments):
        calls.append(arguments)
        if len(calls) == number + 1:
            raise ended
        return once(*arguments)

    def fill(*arguments):
        made(*arguments)
        monkeypatch.setattr(module, name, fail_once)  # from here on

    monkeypatch.setattr(article, "fill", fill)
    before = contents(two)
    with pytest.raises(type(ended)) as error:
        article.create(two, asked)
    assert contents(two) == before
    if name == "write_bytes" and isinstance(ended, OSError):
        assert not re.search(r"\.(new|old)-\d+", str(error.value.filename))


# -- what the guides say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guide", ["README.md", "README.zh.md", "CONTRIBUTING.md"])
def test_the_command_in_the_guides_is_taken_and_makes_the_files_that_they_name(book, guide):
    text = (book.root / guide).read_text("utf-8")
    [command] = re.findall(r"^ *\$ (\.venv/bin/warpbook new .*)$", text, re.MULTILINE)
    options = cli.parse(shlex.split(command)[1:])
    asked = article.read(options.page, options.title, options.title_zh)
    assert (book.docs / "en" / asked.track / "index.md").exists()
    named = set(re.findall(rf"[\w./-]+/{asked.name}[\w./-]*\.(?:py|cu|md|toml)", text))
    assert named <= set(asked.sources().values())


def test_the_templates_claims_are_toml(book):
    assert tomllib.loads((article.TEMPLATE / "claims.toml").read_text("utf-8"))["twice"]
