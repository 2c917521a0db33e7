"""A first hour without a GPU: every mistake of a new page is reported at once: where it is, and what to do.

`book` is a small book in order, an article in a track, of which softcuda has a record and no GPU has. Each test makes
one mistake in it and runs `warpbook check`.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded import keep, value

from warpbook import cli
from warpbook.book import PRIMARY, SOFTCUDA, Book, here
from warpbook.check import checks, search_rank
from warpbook.records import claims, recorder, records
from warpbook.source import translation

KERNEL = """// --8<-- [start:hello]
extern "C" __global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
// --8<-- [end:hello]
"""
PROGRAM = 'KERNEL = "hello/hello.cu"\nprint("twice: right for all", 1000)\n'
NAV = "nav:\n  - Home: index.md\n  - Basics:\n      - Basics: basics/index.md\n      - Hello: basics/hello.md\n"
CHANGES = '[[change]]\ndate = 2026-01-02\npages = ["index", "basics/index", "basics/hello"]\nen = "New."\nzh = "新。"\n'
HOME = {
    "en": '---\ndescription: "A small book about one kernel, for the tests of what is checked."\n---\n\n# Home\n',
    "zh": '---\ndescription: "一本只讲一个核函数的小书，供测试检查命令时使用，每次只改错一处。"\n---\n\n# 首页\n',
}
TRACK = {
    "en": '---\ndescription: "The basics: a first kernel, and how it is launched."\n---\n\n# Basics\n\n{{ track }}\n',
    "zh": '---\ndescription: "基础：第一个核函数，以及怎样启动它；读完就能写出自己的第一个程序。"\n---\n'
    "\n# 基础\n\n{{ track }}\n",
}
ARTICLE = {
    "en": """---
summary: "A first kernel."
description: "A first kernel, which doubles numbers: how it is launched and checked."
---

# Hello

!!! goals "You will be able to"
    - launch a kernel.

!!! needs "You need"
    - Python.

A kernel[^guide] doubles each number.

## Launch { #launch }

```cuda
--8<-- "snippets/hello/hello.cu:hello"
```

```python
print(6 * 7)
```

[^guide]: NVIDIA, CUDA Programming Guide, 2026.
""",
    "zh": """---
summary: "第一个核函数。"
description: "第一个核函数把每个数乘以二：怎样启动它，又怎样检查它算出的结果；文中的代码都能在没有 GPU 的机器上运行。"
---

# 你好

!!! goals "读完这一篇，你能够"
    - 启动一个核函数。

!!! needs "你需要"
    - Python。

核函数[^guide]把每个数乘以二。

## 启动 { #launch }

```cuda
--8<-- "snippets/hello/hello.cu:hello"
```

```python
print(6 * 7)
```

[^guide]: NVIDIA，CUDA Programming Guide，2026。
""",
}
EN, ZH = "docs/en/basics/hello.md", "docs/zh/basics/hello.md"


@pytest.fixture
def book(book: Book, small: Book, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Book:
    """A small book in which nothing is wrong. (`book`, the argument, is the book itself.)"""
    (small.root / "node_modules").symlink_to(book.root / "node_modules")
    write("mkdocs.yml", NAV)
    write("mkdocs.zh.yml", NAV)
    write("docs/paths.toml", "")
    write("docs/changes.toml", CHANGES)
    write("snippets/hello/hello.cu", KERNEL)
    write("snippets/hello/hello.py", PROGRAM)
    for language in ("en", "zh"):
        write(f"docs/{language}/index.md", HOME[language])
        write(f"docs/{language}/basics/index.md", TRACK[language])
        write(f"docs/{language}/basics/hello.md", ARTICLE[language])
    for page in ("docs/zh/index.md", "docs/zh/basics/index.md", ZH):
        translation.mark(small, page)
    keep(small, SOFTCUDA, "hello", {"hello/hello.py": {"stdout": "twice: right for all 1000\n"}}, printed=["42\n"])
    monkeypatch.setattr(cli, "here", lambda: small)
    return small


@pytest.fixture
def edit(book: Book) -> Callable[[str, str, str], None]:
    """Replace a text that a file of the small book has."""

    def one(name: str, old: str, new: str) -> None:
        path = book.root / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return one


@pytest.fixture
def check(book: Book, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Run `warpbook check`; what it prints, without its last line. Each line says something else."""

    def run() -> list[str]:
        status = cli.main(["check"])
        said = capsys.readouterr()
        lines = said.out.splitlines()
        assert said.err == "" and len(set(lines)) == len(lines)
        assert status == (lines[-1] != "pages, records and claims are in order")
        return [line for line in lines[:-1] if not line.startswith("pending: ")]

    return run


# -- without a GPU: numbers wait, and nothing else does -------------------------------------------------------------


def test_a_first_snippet_is_in_order_and_one_line_says_what_waits(book, capsys):
    assert cli.main(["check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "pending: nvidia-h200 has not measured hello/hello.py, blocks of hello yet; pages say so, and you may commit; "
        "run `.venv/bin/warpbook record --only hello` on the machine of nvidia-h200",
        "pages, records and claims are in order",
    ]


def test_a_program_without_a_page_or_a_docstring_is_in_order(book, write, check, capsys):
    """README's first snippet, up to its third step: a program, a kernel and softcuda's record."""
    assert check() == []
    write("snippets/first/first.cu", KERNEL)
    write("snippets/first/first.py", PROGRAM.replace("hello/", "first/"))
    [line] = check()
    assert line == "records/softcuda/first.json: missing; run `.venv/bin/warpbook record --only first`"
    recorder.record(book, ["first"], device={"name": "softcuda", "softcuda": True})
    capsys.readouterr()
    assert check() == []


def test_an_edited_kernel_waits_for_a_gpu_and_a_release_for_its_numbers(book, edit, capsys):
    edit("snippets/hello/hello.cu", "2.0f", "3.0f")
    recorder.record(book, ["hello"], device={"name": "softcuda", "softcuda": True})
    capsys.readouterr()
    assert cli.main(["check"]) == 0 and "you may commit" in capsys.readouterr().out
    assert cli.main(["claims"]) == 0
    assert cli.main(["claims", "--release"]) == 1


def test_gates_are_those_of_the_file_and_without_a_gpu_s_record_nothing_is_judged(book, write, capsys):
    gate = '[hello.fast]\nen = "fast"\nzh = "快"\nvalue = "v0.rate"\npredicted = 2e12\nat_least = '
    write("snippets/hello/claims.toml", f"{gate}1e12\n")
    assert cli.main(["claims"]) == 0
    assert "no GPU record, so nothing to judge" in capsys.readouterr().out
    programs = {"hello/hello.py": {"values": {"v0.rate": value(3e12)}}}
    keep(book, PRIMARY, "hello", programs, printed=["42\n"])
    assert cli.main(["claims"]) == 0
    write("snippets/hello/claims.toml", f"{gate}9.25e12\n")
    capsys.readouterr()
    assert cli.main(["claims"]) == 1 and "FALLS SHORT" in capsys.readouterr().out
    assert records.stale(book, PRIMARY, "hello") == []
    assert len(claims.broken(book, PRIMARY, "hello")) == 1


def test_a_trace_in_the_repository_is_ignored():
    done = subprocess.run(
        ["git", "check-ignore", "rolled_v0.trace.json"], cwd=here().root, capture_output=True, text=True
    )
    if "not a git repository" in done.stderr:
        pytest.skip("no checkout")
    assert done.stdout == "rolled_v0.trace.json\n"


def test_commands_in_messages_can_be_pasted():
    """Debian has no `python`, and nothing of the book is on PATH."""
    wrong = []
    for path in (here().root / "warpbook").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
        texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        wrong += [
            f"{path.name}:{text.lineno}: {text.value}"
            for text in texts
            if text.value not in docstrings
            and re.search(r"(?<!\.venv/bin/)python -m warpbook|`warpbook \w", text.value)
        ]
    assert not wrong, "\n".join(wrong)


# -- what `check` says ----------------------------------------------------------------------------------------------


def test_a_navigation_entry_without_its_page_is_reported_with_its_line(book, edit, check):
    edit("mkdocs.yml", "basics/hello.md", "basics/helo.md")
    assert check()[:2] == [
        "mkdocs.yml:5: there is no docs/en/basics/helo.md; write that page, or take this line, "
        '"Hello: basics/helo.md", out of the navigation',
        "docs/en/basics/hello.md: the navigation does not list this page; add a line under nav in mkdocs.yml: "
        "- Title: basics/hello.md",
    ]
    assert all("No such file" not in line for line in check())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "- Home: index.md",
            "- index.md",
            "mkdocs.yml:2: an entry of the navigation has a title: - Title: folder/page.md",
        ),
        ("nav:\n", "nav: [\n", "mkdocs.yml:2: not YAML: "),
    ],
)
def test_a_navigation_that_cannot_be_read_is_reported_with_its_line(edit, check, old, new, said):
    edit("mkdocs.yml", old, new)
    assert check()[0].startswith(said)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("../hello.md", "there is no docs/zh/hello.md; did you mean hello.md?"),
        ("#lunch", 'this page has no #lunch; did you mean "launch"?'),
        ("index.md#hallo", 'basics/index.md has no #hallo; did you mean "hello"?'),
        ("notes.txt", "there is no docs/zh/basics/notes.txt"),
        ("/basics/hello.md", "write the address relative to this page"),
    ],
)
def test_a_broken_link_is_reported_with_its_language_and_line(edit, check, link, said):
    edit(ZH, "核函数[^guide]", f"[核函数]({link})[^guide]")
    [line] = [line for line in check() if "follow" not in line]
    assert line == f"{ZH}:15: {link}: {said}"


def test_links_that_lead_somewhere_are_none_of_its_business(book, edit, check, write):
    write("docs/en/basics/notes.txt", "x")
    links = "[a](hello.md#launch) [b](index.md) [c](../index.md) [d](notes.txt) [e](https://example.org/) `[f](g.md)`"
    edit(EN, "## Launch", f"{links} [h](../snippets/hello/hello.py)\n\n## Launch")
    translation.mark(book, ZH)
    assert check() == []


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (EN, "A first kernel, which doubles numbers: how it is launched and checked.", "A kernel.",
         f"{EN}: its description is 9 columns wide, where a search shows 50 to 160 (a Han character has 2): lengthen it"
         '; description in its front matter: "A kernel."'),
        (EN, "launched and checked.", "launched and checked",
         f"{EN}: its description does not end with a full stop; description in its front matter: "
         '"A first kernel, which doubles numbers: how it is launched and checked"'),
        (EN, "A kernel[^guide]", "A kernel[^gide] and another[^guide]",
         f'{EN}:14: there is no footnote [^gide]; did you mean "guide"?'),
        ("docs/changes.toml", ', "basics/hello"', "", "basics/hello: add an entry to docs/changes.toml"),
        (EN, "doubles each number", "doubles {{ v9.rate }}",
         f'{EN}:14: no value "v9.rate" in records/nvidia-h200/hello.json; did you mean "v8.rate"?'),
        (EN, "doubles each number", "doubles {{ hallo:v8.rate }}",
         f'{EN}:14: there is no article "hallo"; did you mean "hello"?'),
        (EN, "hello.cu:hello", "hello.cu:helo",
         f'{EN}:19: snippet "snippets/hello/hello.cu:helo": snippets/hello/hello.cu has no section "helo"'),
        (EN, "```\n\n```python\n", "\n```python\n",
         f"{EN}:18: this block is never closed: ```python begins another within it; close it, or, if that line is its "
         "text, fence it with ````"),
        (EN, "```\n\n[^guide]:", "\n[^guide]:", f"{EN}:22: this block is never closed"),
        (EN, '!!! goals "You will be able to"\n    - launch a kernel.\n', "",
         f'{EN}: add at its top what a reader can do afterwards: !!! goals "You will be able to", then a list'),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(book, edit, check, name, old, new, said):
    """Once, whatever else it makes impossible, and before all that follows from it."""
    programs = {"hello/hello.py": {"values": {f"v{i}.rate": value(1e12) for i in range(9)}}}
    keep(book, PRIMARY, "hello", programs, printed=["42\n"])
    edit(name, old, new)
    lines = [
        line for line in check() if "has changed since it was followed" not in line and "the other lang" not in line
    ]
    assert lines == [said]


def test_an_article_names_a_source(edit, check):
    for name in (EN, ZH):
        edit(name, "[^guide]", "")
    assert check()[0] == (
        f"{EN}: names no source; refer to one, [^name], and add it at the end: [^name]: Author, title, year."
    )


def test_a_new_page_follows_nothing_yet(edit, check):
    edit(ZH, "follows: ", "unread: ")
    assert check() == [f"{ZH}: new page, follows nothing yet: .venv/bin/warpbook followed {ZH}"]


def test_the_file_that_changed_is_named_with_the_programs_that_load_it(book, write, edit, check):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    write("snippets/hello/again.py", PROGRAM)
    write("snippets/hello/alone.py", "print(1)\n")
    programs = {f"hello/{name}.py": {} for name in ("again", "alone", "hello")}
    keep(book, SOFTCUDA, "hello", programs, printed=["42\n"])
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], cwd=book.root, check=True)
    assert check() == []
    edit("snippets/hello/hello.cu", "2.0f", "3.0f")
    edit("snippets/hello/alone.py", "1", "2")
    remedy = records.remedy(SOFTCUDA, "hello")
    assert check() == [
        "records/softcuda/hello.json: stale: snippets/hello/hello.cu has changed (loaded by again.py, hello.py); "
        f"{remedy}",
        f"records/softcuda/hello.json: stale: snippets/hello/alone.py has changed; {remedy}",
    ]


def test_blocks_that_a_page_no_longer_has_leave_the_record(book, edit, check, capsys):
    for name in (EN, ZH):
        edit(name, "```python\nprint(6 * 7)\n```\n", "")
    [line] = check()
    assert line.startswith("records/softcuda/hello.json: has 1 blocks, the page 0; run ")
    recorder.record(book, ["hello"], device={"name": "softcuda", "softcuda": True})
    capsys.readouterr()
    assert check() == []


def test_a_page_that_is_no_longer_found_is_reported(book, write, check):
    (book.root / "theme").symlink_to(here().root / "theme")
    write("docs/queries.toml", '[en]\n"kernel" = "basics/hello"\n"basics" = "glossary"\n')
    [line] = check()
    assert line.startswith('docs/queries.toml: [en]: "basics" finds ')
    assert line.endswith(
        ", and glossary not among the first 3; give that page words in docs/search.toml (also), or the other less "
        "weight (boost)"
    )
    assert search_rank.queries(book, "zh") == {}


def test_an_article_that_cannot_be_read_holds_nothing_else_up(book, edit, check):
    """Everything is reported at once: a page without an end of its block, and a mistake on another page."""
    edit(EN, "```\n\n[^guide]:", "\n[^guide]:")
    edit("docs/zh/index.md", "# 首页\n", "# 首页\n\n[没有](nothing.md)\n")
    found = check()
    assert f"{EN}:22: this block is never closed" in found
    assert "docs/zh/index.md:8: nothing.md: there is no docs/zh/nothing.md" in found
    assert checks.waiting(book, [PRIMARY]) == []
