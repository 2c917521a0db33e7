"""A second check takes what was in order before, and sees every edit of what that was found from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded import keep, value

from warpbook import cli
from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, here
from warpbook.check import checks, kept
from warpbook.check.kept import FILE, Kept
from warpbook.source import translation

NAV = """nav:
  - Home: index.md
  - Glossary: glossary.md
  - Basics:
      - Basics: basics/index.md
      - Hello: basics/hello.md
      - Other: basics/other.md
"""
PAGES = '["index", "glossary", "basics/index", "basics/hello", "basics/other"]'
CHANGES = f'[[change]]\ndate = 2026-01-02\npages = {PAGES}\nen = "New."\nzh = "新。"\n'
KERNEL = """// --8<-- [start:twice]
// Each thread doubles one number.
extern "C" __global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
// --8<-- [end:twice]
"""
PROGRAM = 'KERNEL = "hello/hello.cu"\nprint("right for all", 1000)\n'
COMMENTS = '"Each thread doubles one number." = "每个线程把一个数乘以二。"\n'
CLAIMS = '[hello.rate]\nen = "fast"\nzh = "快"\nvalue = "v0.rate"\npredicted = 1e12\nat_least = 9e11\n'
GLOSSARY = """[[group]]
en = "Terms"
zh = "术语"
[[group.term]]
en = "barrier"
zh = "屏障"
says.en = "Where threads wait for each other."
says.zh = "线程互相等待的地方。"
"""
SEARCHED = '[en]\n"doubles" = "basics/hello"\n'
WORDS = {
    "en": ("A page of a small book, number {}, for the tests of the check.", "You will be able to", "You need"),
    "zh": ("小书里的第 {} 页，供检查命令的测试使用，每次只改其中一处，别的都不动。", "读完这一篇，你能够", "你需要"),
}
ARTICLE = """---
summary: "A page."
description: "{description}"
---

# {title}

!!! goals "{goals}"
    - test.

!!! needs "{needs}"
    - Python.

{text}[^guide]

## First {{ #first }}

{more}

[^guide]: NVIDIA, CUDA Programming Guide, 2026.
"""
MORE = """```cuda
--8<-- "snippets/hello/hello.cu:twice"
```

```python
print(6 * 7)
```

{{ v0.rate }}

{{ claims }}"""
EN, ZH = "docs/en/basics/hello.md", "docs/zh/basics/hello.md"


@pytest.fixture
def book(book: Book, small: Book, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Book:
    """A small book in which nothing is wrong; its tool does not change. (`book`, the argument, is the book itself.)"""
    monkeypatch.setattr(kept, "code", lambda: "one tool")
    monkeypatch.setattr(cli, "here", lambda: small)
    (small.root / "node_modules").symlink_to(book.root / "node_modules")
    (small.root / "theme").symlink_to(book.root / "theme")
    write("mkdocs.yml", NAV)
    write("mkdocs.zh.yml", NAV)
    write("docs/paths.toml", "")
    write("docs/changes.toml", CHANGES)
    write("docs/glossary.toml", GLOSSARY)
    write("docs/queries.toml", SEARCHED)
    write("snippets/hello/hello.cu", KERNEL)
    write("snippets/hello/hello.py", PROGRAM)
    write("snippets/hello/comments.toml", COMMENTS)
    write("snippets/hello/claims.toml", CLAIMS)
    for language, (described, goals, needs) in WORDS.items():
        texts = {"en": ("It doubles numbers", "See [the other](other.md#first).", "Words.")}
        doubles, see, words = texts.get(language, ("它把数乘以二", "见[另一页](other.md#first)。", "文字。"))
        more = MORE + f"\n\n{see}"
        for i, (name, text, rest) in enumerate((("hello", doubles, more), ("other", words, words))):
            page = ARTICLE.format(
                description=described.format(i), title=name, goals=goals, needs=needs, text=text, more=rest
            )
            write(f"docs/{language}/basics/{name}.md", page)
        lists = {"index": "", "basics/index": "{{ track }}", "glossary": "{{ glossary }}"}
        for i, (name, body) in enumerate(lists.items()):
            head = f'---\ndescription: "{described.format(i + 2)}"\n---\n\n# {name}\n\n{body}\n'
            write(f"docs/{language}/{name}.md", head)
    for page in small.pages("zh"):
        translation.mark(small, small.relative(page))
    programs = {"hello/hello.py": {"stdout": "right for all 1000\n", "values": {"v0.rate": value(1e12)}}}
    for device in (SOFTCUDA, PRIMARY):
        keep(small, device, "hello", programs, printed=["42\n"])
    return small


@pytest.fixture
def check(book: Book, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Run `warpbook check`; what it prints, without its last line."""

    def run() -> list[str]:
        cli.main(["check"])
        said = capsys.readouterr()
        assert said.err == ""
        return said.out.splitlines()[:-1]

    return run


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that are parsed, in order."""
    names: list[str] = []
    parse = checks.parse

    def noted(page, language, values):
        names.append(page.name)
        return parse(page, language, values)

    monkeypatch.setattr(checks, "parse", noted)
    return names


def test_a_second_check_parses_nothing(book, check, parsed):
    assert check() == []
    assert len(parsed) == 10
    parsed.clear()
    assert check() == [] and parsed == []


def test_one_edit_checks_the_pages_that_read_it(book, check, parsed):
    check()
    parsed.clear()
    other = book.docs / "en/basics/other.md"
    other.write_text(other.read_text("utf-8").replace("Words.", "Other words.", 1), "utf-8")
    [line] = check()
    assert "of docs/en/basics/other.md:1 has changed since it was followed here" in line
    assert "docs/en/basics/other.md" in parsed and "docs/en/basics/hello.md" not in parsed


EDITS = {
    "page": (EN, "It doubles", "It takes 3 ms and doubles", '"3 ms" is typed by hand'),
    "front matter": (EN, "description: ", "description: x: ", "front matter"),
    "snippet": ("snippets/hello/hello.cu", "2.0f", "3.0f", "snippets/hello/hello.cu has changed"),
    "section of a snippet": ("snippets/hello/hello.cu", "start:twice", "start:thrice", 'has no section "twice"'),
    "program": ("snippets/hello/hello.py", "1000", "1001", "records/softcuda/hello.json: stale"),
    "claims.toml": ("snippets/hello/claims.toml", "9e11", "2e12", "no longer holds on nvidia-h200"),
    "comments.toml": ("snippets/hello/comments.toml", "Each thread", "Each lane", "has the comment"),
    "record": ("records/nvidia-h200/hello.json", "v0.rate", "v1.rate", 'no value "v0.rate"'),
    "softcuda's record": ("records/softcuda/hello.json", '"sha256:', '"sha256:0', "records/softcuda/hello.json"),
    "glossary": ("docs/glossary.toml", "[[group.term]]", '[[spelling]]\navoid = "numbers"\nwrite = "digits"\n'
                 "[[group.term]]", "numbers: write digits"),
    "another page's anchor": ("docs/en/basics/other.md", "#first", "#second", "basics/other.md has no #first"),
    "another page's section": ("docs/en/basics/other.md", "Words.", "More.", "has changed since it was followed"),
    "other language": (ZH, "print(6 * 7)", "print(6 * 8)", "the two languages show different blocks"),
    "navigation": ("mkdocs.yml", "      - Other: basics/other.md\n", "", "does not list this page"),
    "changes": ("docs/changes.toml", '"basics/other"', '"basics/index"', "add an entry"),
    "paths": ("docs/paths.toml", "", "[[path]]\n", "paths.toml: path 1"),
    "queries": ("docs/queries.toml", '"basics/hello"', '"basics/other"', 'docs/queries.toml: [en]: "doubles"'),
}  # fmt: skip


@pytest.mark.parametrize("edited", EDITS)
def test_an_edit_of_each_kind_is_seen_and_so_is_its_end(book, check, edited):
    name, old, new, said = EDITS[edited]
    assert check() == []
    path = book.root / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else new, "utf-8")
    found = check()
    assert any(said in line for line in found), found
    assert check() == found  # what is wrong is found anew
    assert [line for line in checks.problems(book, [SOFTCUDA, PRIMARY]) if line not in found] == []
    path.write_text(text, "utf-8")
    assert check() == []


def test_files_that_come_and_go_are_seen(book, write, check):
    assert check() == []
    added = write("docs/en/basics/more.md", "# More\n")
    assert any("docs/en/basics/more.md" in line for line in check())
    added.unlink()
    assert check() == []
    kernel = book.snippets / "hello/hello.cu"
    kernel.unlink()
    assert any("there is no snippets/hello/hello.cu" in line for line in check())
    write("snippets/hello/hello.cu", KERNEL)
    assert check() == []
    (book.records / PRIMARY / "hello.json").unlink()
    assert any(line.startswith("pending: nvidia-h200 has not measured hello/hello.py") for line in check())


def test_another_tool_takes_nothing(book, check, parsed, monkeypatch):
    check()
    parsed.clear()
    monkeypatch.setattr(kept, "code", lambda: "another tool")
    assert check() == [] and len(parsed) == 10


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"code": "one tool"}', '{"code": "one tool", "found": 1}'])
def test_a_file_that_is_broken_is_none(book, check, content):
    check()
    (book.root / FILE).write_text(content, "utf-8")
    assert check() == []


def test_what_was_edited_during_a_check_is_not_kept(book, write):
    path = write("docs/en/x.md", "one")
    known = Kept(book)

    def read():
        text = checks.reads.text(path)
        return {"problems": [], "text": text}

    known.find("one", read, bool)
    path.write_text("two", "utf-8")
    known.find("two", read, bool)
    known.write()
    found = json.loads((book.root / FILE).read_text("utf-8"))["found"]
    assert list(found) == ["one"]
    assert Kept(book).find("one", read, bool)["text"] == "two"


def test_the_tool_counts_with_its_packages():
    assert kept.code() == kept.code()
    root = here().root
    assert all(any(root.glob(pattern)) for pattern in kept.CODE)
    assert set(LANGUAGES) == {"en", "zh"}
