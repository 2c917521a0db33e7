"""What `warpbook new` makes: checked, built and run in a small book; and its kernel edited where there is no GPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import keep, value

from warpbook.book import PRIMARY, Book
from warpbook.run.run import run_page
from warpbook.source.pages import Page

TITLES = {"en": "Hello, kernel", "zh": "你好，核函数"}


def warpbook(book: Book, *arguments: str) -> str:
    """What the command prints; fails if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "warpbook", *arguments],
        cwd=book.root,
        env={**os.environ, "PYTHONPATH": str(book.root)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


DESCRIPTIONS = {
    "en": "A page of a small book that tests of the book's own commands begin with.",
    "zh": "一本小书里的一页，供测试本书自己的命令使用；测试从这一页开始，先改动它，再检查结果。",
}
CHANGE = """
[[change]]
date = 2026-01-01
pages = ["index", "copying", "first/index"]
en = "New: the small book."
zh = "新增：小书。"
"""


def describe(path: Path, description: str) -> None:
    """Give a page a description of its own."""
    text = path.read_text("utf-8")
    front = f'description: "{description}"\n'
    path.write_text(
        text.replace("---\n", f"---\n{front}", 1) if text.startswith("---") else f"---\n{front}---\n\n{text}"
    )


@pytest.fixture(scope="module")
def started(book: Book, small_site: Book) -> Book:
    """The small book with a track, and a new article in it."""
    for language, title in (("en", "First"), ("zh", "第一部分")):
        config = small_site.root / {"en": "mkdocs.yml", "zh": "mkdocs.zh.yml"}[language]
        track = f"  - {title}:\n      - {title}: first/index.md\n"
        config.write_text(re.sub(r"^(nav:\n)", rf"\1{track}", config.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
        page = small_site.docs / language / "first" / "index.md"
        page.parent.mkdir()
        page.write_text(f'---\nsummary: "{title}."\n---\n\n# {title}\n\n{{{{ track }}}}\n', "utf-8")
        for name in ("index", "copying", "first/index"):
            describe(small_site.docs / language / f"{name}.md", f"{name}: {DESCRIPTIONS[language]}")
    (small_site.docs / "paths.toml").write_text("")
    with (small_site.docs / "changes.toml").open("a") as changes:
        changes.write(CHANGE)
    shutil.copy(book.snippets / "warpbench.py", small_site.snippets)
    warpbook(small_site, "followed", *(f"docs/zh/{name}.md" for name in ("index", "copying", "first/index")))
    said = warpbook(small_site, "new", "first/hello", "--title", TITLES["en"], "--title-zh", TITLES["zh"])
    assert "wrote docs/zh/first/hello.md" in said and "http://localhost:8000/first/hello/" in said
    return small_site


@pytest.fixture(scope="module")
def built(started: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("built") / "site"
    warpbook(started, "site", "--output", str(output))
    return output


def text_of(site: Path, language: str) -> str:
    return (site / {"en": "", "zh": "zh"}[language] / "first/hello/index.html").read_text("utf-8")


def test_it_is_in_order_at_once_and_its_numbers_wait_for_a_gpu(started: Book) -> None:
    [pending, summary] = warpbook(started, "check").splitlines()
    assert "hello/twice.py" in pending and "you may commit" in pending
    assert summary == "pages, records and claims are in order"


def test_its_blocks_print_on_softcuda_what_is_recorded(started: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTCUDA", "force")
    record = json.loads((started.records / "softcuda/hello.json").read_text("utf-8"))
    printed = run_page(Page(started, started.docs / "en/first/hello.md"))
    assert printed == [block["stdout"] for block in record["blocks"]["printed"]]
    assert printed == ["twice_v0: 1003 floats right, blocks: 4\ntwice_v1: 1003 floats right, blocks: 1\n"]


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("en", ["You will be able to", "not yet measured on a GPU", "Three questions"]),
        ("zh", ["读完这一篇，你能够", "尚未在 GPU 上实测", "三个问题"]),
    ],
)
def test_the_page_has_every_part_in_both_languages(built: Path, language: str, parts: list[str]) -> None:
    text = text_of(built, language)
    assert TITLES[language] in text and not re.search(r"@\w+@", text)  # the template's marks
    for part in [*parts, 'id="sources"', 'class="wb-cite"', 'id="fn:coalesced"', "twice_v1"]:
        assert part in text, part
    assert text.count("<details") >= 3


def test_it_is_valid_html(built: Path, validate) -> None:
    validate(built)


def test_a_kernel_that_is_edited_without_a_gpu_waits_in_one_line_and_builds(started: Book, tmp_path: Path) -> None:
    measured = {"copy.rate": value(4e12), "v0.time": value(2e-4, "s"), "v1.time": value(2e-4, "s")}
    measured |= {"v0.rate": value(3.9e12), "v1.rate": value(4.1e12)}
    printed = json.loads((started.records / "softcuda/hello.json").read_text("utf-8"))["blocks"]["printed"]
    keep(started, PRIMARY, "hello", {"hello/twice.py": {"values": measured}}, printed=[b["stdout"] for b in printed])
    assert warpbook(started, "check") == "pages, records and claims are in order\n"  # nothing waits

    kernel = started.snippets / "hello" / "twice.cu"
    kernel.write_text(kernel.read_text("utf-8").replace("y[i] = 2.0f * x[i]", "y[i] = x[i] + x[i]"), "utf-8")
    warpbook(started, "record", "--only", "hello")  # on softcuda
    [pending, summary] = warpbook(started, "check").splitlines()
    assert "hello/twice.py" in pending and "you may commit" in pending
    assert summary == "pages, records and claims are in order"
    warpbook(started, "site", "--output", str(tmp_path / "site"))
    for language, said in (("en", "not yet measured on a GPU"), ("zh", "尚未在 GPU 上实测")):
        assert said in text_of(tmp_path / "site", language) and "TB/s" not in text_of(tmp_path / "site", language)
