"""Long test files begin first, so that both processes are busy until the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from longest_first import LONG, longest_first

from warpbook.book import here

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("name", LONG)
def test_a_long_file_exists(name: str) -> None:
    assert (here().root / name).is_file(), "tests/longest_first.py names it"


def test_long_files_come_first_and_others_by_their_number_of_tests() -> None:
    files = ["a", "b", "b", "c", "c", "c", "d"]
    assert longest_first(files, long=["d", "absent", "a"]) == ["d", "a", "c", "b"]


CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from longest_first import put_longest_first

def pytest_collection_modifyitems(items):
    put_longest_first(items)
"""


def test_a_process_is_given_files_in_this_order(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    names = ["tests/a/test_one.py", "tests/a/test_three.py", LONG[1], LONG[0]]
    for name, tests in zip(names, (1, 3, 1, 1), strict=True):
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"def test_{i}(): pass\n" for i in range(tests)))
    (pytester.path / "conftest.py").write_text(CONFTEST)
    options = ["--dist", "loadfile", "--no-loadscope-reorder", "-p", "no:cacheprovider"]
    done = pytester.runpytest_subprocess("-n", "1", "-v", *options)
    assert done.ret == 0
    ran = [line.split()[-1].partition("::")[0] for line in done.outlines if " PASSED " in line]
    assert list(dict.fromkeys(ran)) == [LONG[0], LONG[1], "tests/a/test_three.py", "tests/a/test_one.py"]
