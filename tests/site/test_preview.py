"""`make serve`: an edit is seen as soon as its page is made; nobody waits for the others, and nothing old stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from background import background

from warpbook.book import Book


class Reader:
    """A browser with one page open, and the terminal that serves it."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self.process, self.output = process, output

    @property
    def address(self) -> str:
        return self.said[0].split()[0]

    @property
    def said(self) -> list[str]:
        return self.output.read_text("utf-8").splitlines()

    def read(self, page: str) -> str:
        try:
            with urlopen(f"{self.address}{page}", timeout=250) as answer:
                return str(answer.read().decode())
        except HTTPError as error:
            return str(error.code) if error.code == 404 else str(error.read().decode())

    def reloads(self, page: str) -> None:
        """Wait as the page's own script does, until it would be loaded again."""
        epoch, number = re.search(r"livereload\((\d+), (\d+)\);", page).groups()  # type: ignore[union-attr]
        assert int(self.read(f"livereload/{epoch}/{number}")) > int(epoch)

    def settle(self) -> None:
        """Wait until the whole site is built."""
        end = time.monotonic() + 250
        while not self.said or not self.said[-1].startswith("all "):
            assert time.monotonic() < end and self.process.poll() is None, self.said
            time.sleep(0.2)


@pytest.fixture(scope="module")
def reader(small_site: Book, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    output = tmp_path_factory.mktemp("terminal") / "said"
    with (
        output.open("w") as file,
        background(
            [sys.executable, "-m", "warpbook", "serve", "--port", "0"],
            cwd=small_site.root,
            env={**os.environ, "PYTHONPATH": str(small_site.root)},
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        reader = Reader(process, output)
        reader.settle()
        yield reader


Change = Callable[[str], str]


def replaced(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("file", "change", "page", "shown"),
    [
        ("docs/en/copying.md", replaced("any", "one"), "copying/", "with one"),
        ("docs/zh/copying.md", replaced("any", "每个"), "zh/copying/", "with 每个"),
        ("snippets/copying/copy.cu", replaced("copy()", "copied()"), "copying/", "copied"),
        ("records/nvidia-h200/copying.json", replaced("4000000000000.0", "5000000000000.0"), "copying/", "5.00"),
        ("docs/glossary.toml", replaced("run together", "run at once"), "copying/", "run at once"),
        (
            "theme/main.html",
            replaced("{% block extrahead %}", "{% block extrahead %}<!-- new -->"),
            "copying/",
            "new -->",
        ),
        ("mkdocs.yml", replaced("Copying: copying.md", "Copies: copying.md"), "", "Copies"),
        ("warpbook/blocks/ends.py", replaced("Take this page", "Walk away"), "copying/", "Walk away"),
    ],
    ids=["English", "Chinese", "kernel", "record", "glossary", "template", "navigation", "code"],
)
def test_an_edit_is_shown_when_its_page_is_made(
    reader: Reader, small_site: Book, file: str, change: Change, page: str, shown: str
) -> None:
    """The terminal says which pages were made: this one, once. A whole build would be told, and is not waited for."""
    before = reader.read(page)
    path, lines = small_site.root / file, len(reader.said)
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    reader.reloads(before)
    after = reader.read(page)
    assert re.search(shown, after)
    made = [line for line in reader.said[lines:] if re.search(r" in [\d.]+ s$", line)]
    assert len(made) == 1 and made[0].startswith(f"/{page} in ")


def test_a_page_comes_and_goes(reader: Reader, small_site: Book) -> None:
    """What is made of all pages together is waited for, and then it is as new as they are."""
    home, file = reader.read(""), small_site.docs / "en" / "new.md"
    file.write_text("# New\n\nFresh words.\n", "utf-8")
    reader.reloads(home)
    assert "Fresh words" in reader.read("new/")
    for made_of_all in ("new.md", "search/documents.json"):
        assert "Fresh words" in reader.read(made_of_all)
    home = reader.read("")
    file.unlink()
    reader.reloads(home)
    assert reader.read("new/") == reader.read("new.md") == "404"
    assert "Fresh words" not in reader.read("search/documents.json")


def test_an_entry_of_the_navigation_without_its_page_is_reported_and_the_others_are_shown(
    reader: Reader, small_site: Book
) -> None:
    home, file, lines = reader.read(""), small_site.root / "mkdocs.yml", len(reader.said)
    right = file.read_text("utf-8")
    file.write_text(re.sub(r"(  - Cop\w+: copying.md\n)", r"\1  - New: unwritten.md\n", right), "utf-8")
    reader.reloads(home)
    shown = reader.read("copying/")
    assert "Traceback" not in shown and "A copy reaches" in shown and reader.read("unwritten/") == "404"
    said = [line for line in reader.said[lines:] if "there is no docs" in line]
    assert len(said) == 1 and re.match(r"mkdocs\.yml:\d+: there is no docs/en/unwritten\.md; write that page", said[0])
    file.write_text(right, "utf-8")
    reader.reloads(shown)


def test_a_mistake_is_shown_until_it_is_mended(reader: Reader, small_site: Book) -> None:
    home, file = reader.read(""), small_site.root / "mkdocs.yml"
    right = file.read_text("utf-8")
    file.write_text(right + "\ntheme: nowhere\n", "utf-8")
    reader.reloads(home)
    with pytest.raises(HTTPError) as answer:  # it is no page of the book
        urlopen(reader.address, timeout=250)
    assert answer.value.code == 500
    wrong = reader.read("")
    assert "mkdocs.yml: " in wrong and "Traceback" not in wrong
    file.write_text(right, "utf-8")
    reader.reloads(wrong)
    assert "mkdocs.yml: " not in reader.read("")
