"""Fixtures shared by the tests of the book's tooling, of its pages and of its site."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import unchanged
from longest_first import put_longest_first

from warpbook.book import Book, here
from warpbook.records.recorder import share

ROOT = Path(__file__).resolve().parents[1]
LACKED = re.compile(r"needs .*, which `make setup-torch` installs")
# What tests depend on that do not say it themselves; tests that lie elsewhere are always run.
INPUTS = {
    "tests/softcuda": ["softcuda", "tests/softcuda", "tests/*.py", "LICENSE", "pyproject.toml", "requirements.lock"],
    "tests/warpbook": unchanged.WHOLE,
    "tests/exercises": unchanged.WHOLE,
    "tests/pages": unchanged.WHOLE,
    "tests/site": [*unchanged.WHOLE, "!tests/softcuda", "!tests/warpbook", "!tests/pages", "!tests/pycuda", "!bench"],
}


def pytest_configure(config: pytest.Config) -> None:
    # Programs inherit ignored signals, and `make test &` in a script begins with this one ignored.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    unchanged.configure(config, INPUTS, ROOT)


def pytest_addoption(parser: pytest.Parser) -> None:
    unchanged.add_option(parser)
    parser.addoption("--shard", metavar="i/n", help="of all test files the i-th of n shares, for a matrix of machines")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # of several processes
        put_longest_first(items)
    shard = config.getoption("--shard")
    if not shard:
        return
    i, n = (int(part) for part in shard.split("/"))
    # A file's tests stay together, since they share fixtures, as with --dist loadfile.
    mine = set(share(sorted({item.path.as_posix() for item in items}), (i, n)))
    config.hook.pytest_deselected(items=[item for item in items if item.path.as_posix() not in mine])
    items[:] = [item for item in items if item.path.as_posix() in mine]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line on what was left out for want of PyTorch and Triton, and how to get them."""
    skipped = [report for report in terminalreporter.getreports("skipped") if LACKED.search(str(report.longrepr))]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} need PyTorch or Triton: left out; to run them: make setup-torch")


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
