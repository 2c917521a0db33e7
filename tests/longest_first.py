"""In which order test files are given out to pytest's processes.

xdist gives a process the next file when it is nearly done with one.  A long file that is given out last would be run by
one process while the others have nothing to do, and some of the longest files hold few tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

# Files that take half a minute or more of CPU time, the longest first.
LONG = (
    "tests/site/test_articles_looked_at.py",
    "tests/softcuda/sweep/test_sweep.py",
    "tests/pages/test_articles.py",
    "tests/exercises/test_all_exercises.py",
    "tests/pages/test_sabotage.py",
    "tests/pages/test_gpt2.py",
    "tests/site/test_pages_looked_at.py",
    "tests/site/test_next_host.py",
    "tests/site/test_site.py",
    "tests/warpbook/test_notebooks.py",
    "tests/warpbook/test_plain.py",
    "tests/softcuda/runtime/test_programs.py",
    "tests/pages/test_shown_sass.py",
    "tests/softcuda/test_install_pycuda.py",
    "tests/site/test_builds.py",
    "tests/softcuda/conformance/test_conformance.py",
    "tests/softcuda/ptx/test_parser.py",
    "tests/warpbook/test_setup.py",
    "tests/site/test_looks.py",
    "tests/site/test_preview_ends.py",
    "tests/site/test_workbench_used.py",
    "tests/site/test_explore_drawn.py",
    "tests/warpbook/test_explore.py",
    "tests/warpbook/test_packages.py",
)


def longest_first(files: Sequence[str], long: Sequence[str] = LONG) -> list[str]:
    """The files of tests (each as often as it has tests): the long ones, then those with the most tests."""
    tests = Counter(files)
    return [*(file for file in long if file in tests), *(file for file, _ in tests.most_common() if file not in long)]


def put_longest_first(items: list[pytest.Item]) -> None:
    """Reorder whole files; the tests of a file stay in their order."""
    files = [item.nodeid.partition("::")[0] for item in items]
    place = {file: i for i, file in enumerate(longest_first(files))}
    items.sort(key=lambda item: place[item.nodeid.partition("::")[0]])
