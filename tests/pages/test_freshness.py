"""What makes the records of a real article stale, and what does not: words never do, what computes always does.

A copy of the reduction article is edited; nothing is run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from warpbook.book import Book, here
from warpbook.records import lines, records

ARTICLE, PROGRAM, KERNELS = "reduction", "snippets/reduction/finish.py", "snippets/reduction/reduce.cu"
CLAIMS = "snippets/reduction/claims.toml"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Book:
    book = Book(tmp_path_factory.mktemp("book"))
    for folder in ("docs", "records", f"snippets/{ARTICLE}"):
        shutil.copytree(here().root / folder, book.root / folder)
    shutil.copy(here().snippets / "warpbench.py", book.snippets)
    return book


@contextmanager
def edited(path: Path, old: str, new: str) -> Iterator[None]:
    """The file with the first `old` replaced, until the end of the `with` block."""
    text = path.read_text("utf-8")
    assert old in text, f"{path.name} has no {old!r}; this test wants another place to edit"
    path.write_text(text.replace(old, new, 1), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


def stale(book: Book) -> dict[str, list[str]]:
    found = {device: records.stale(book, device, ARTICLE) for device in records.devices(book)}
    return {device: told for device, told in found.items() if told}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (PROGRAM, '"""Three ways', '"""Several ways'),
        (PROGRAM, "# as in ladder.py", "# the ladder has the same"),
        (PROGRAM, "blocks of {BLOCK} threads", "blocks, each of {BLOCK} threads"),
        (KERNELS, "//", "// Reworded:"),
        (CLAIMS, 'en = "', 'en = "In other words, '),
        (CLAIMS, 'zh = "', 'zh = "换句话说，'),
        (CLAIMS, 'source = "', 'source = "reworded: '),
        (CLAIMS, "predicted = ", "predicted = 1"),
        (CLAIMS, "at_least = ", "at_least = 1"),
    ],
)
def test_words_and_claims_make_no_record_stale(copied: Book, file: str, old: str, new: str) -> None:
    before = stale(copied)  # a GPU's record may wait for this very article
    with edited(copied.root / file, old, new):
        assert stale(copied) == before
    assert lines.stale(copied, ARTICLE) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (PROGRAM, "2**20 + 7", "2**20 + 9"),
        (KERNELS, "+=", "-="),
        (PROGRAM, "grid=(grid, 1)", "grid=(grid + 1, 1)"),
    ],
)
def test_what_computes_makes_every_record_of_it_stale(copied: Book, file: str, old: str, new: str) -> None:
    with edited(copied.root / file, old, new):
        assert stale(copied).keys() == set(records.devices(copied))
        assert "reduction/finish.py" in records.pending(copied, "nvidia-h200", ARTICLE)
