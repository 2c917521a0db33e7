"""Fixtures shared by the tests of the book's tooling, of its pages and of its site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpbook.book import Book, here


@pytest.fixture(scope="session")
def book() -> Book:
    """The book itself."""
    return here()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file of a small book that lives in tmp_path."""

    def one(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return one


@pytest.fixture
def small(tmp_path: Path) -> Book:
    """A small book, empty until `write` fills it."""
    return Book(tmp_path)
