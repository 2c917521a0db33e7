"""The workbench in a real browser, under `make serve`: a small book with an exercise and a kernel with its program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from background import background
from warpjudge import triton_compiler
from workbench_book import EXERCISE, TRITON, make_book

from warpbook.book import Book, here
from warpbook.site import workbench

SOURCES = here().root / "exercises" / EXERCISE


@pytest.fixture(scope="module")
def reading(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Book, str]]:
    """The small book and the address where it is served."""
    if not workbench.is_ready(book):
        pytest.skip("softcuda, the compiler or esbuild is not installed; run `make setup`")
    small, said = make_book(book, tmp_path_factory.mktemp("book")), tmp_path_factory.mktemp("terminal") / "said"
    paths = os.pathsep.join([str(small.root), str(small.snippets)])
    with (
        said.open("w") as file,
        background(
            [sys.executable, "-m", "warpbook", "serve", "--port", "0"],
            cwd=small.root,
            env={**os.environ, "PYTHONPATH": paths, "WARPBENCH_PACKAGES": str(triton_compiler.packages())},
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        end = time.monotonic() + 250
        while "\nall " not in (text := said.read_text("utf-8")):
            assert time.monotonic() < end and process.poll() is None, text
            time.sleep(0.1)
        yield small, text.split()[0]


def test_an_exercise_is_solved_in_the_page(reading: tuple[Book, str], look: Callable[..., None]) -> None:
    """Wrong, endless, right; by mouse and by keys; found by axe in light and dark; on a telephone; in two languages."""
    small, url = reading
    solution = (SOURCES / "solution.cu").read_text("utf-8")
    slow = (SOURCES / "mistakes" / "chunks.cu").read_text("utf-8")
    answers = {
        "solution": solution,
        "slow": slow,
        "slowLine": next(n for n, line in enumerate(slow.splitlines(), 1) if "<-- here" in line),
        "endless": solution.replace("// your code", "while (n > 0 && y) y[0] = a;"),
        "broken": solution.replace("// your code", "int wrong = nothing;"),
    }
    look("workbench.mjs", url, {"exercise": EXERCISE, "path": "memory-access/", **answers})
    answer = small.root / "my" / f"{EXERCISE}.cu"
    assert answer.read_text("utf-8") == solution
    assert json.loads((small.root / "my" / ".progress.json").read_text("utf-8"))[EXERCISE]["done"]
    assert not list(Path(small.root / "my").rglob(".*.cu.*"))


def test_a_triton_kernel_is_written_in_the_page(reading: tuple[Book, str], look: Callable[..., None]) -> None:
    """Python's colours and indentation; wrong and right, at its lines; without Triton, what to do."""
    small, url = reading
    folder = here().root / "exercises" / TRITON
    wrong = (folder / "mistakes" / "store-without-mask.py").read_text("utf-8")
    answers = {
        "solution": (folder / "solution.py").read_text("utf-8"),
        "wrong": wrong,
        "line": next(n for n, line in enumerate(wrong.splitlines(), 1) if "<-- here" in line),
        "lacking": not triton_compiler.is_there(),
    }
    look("workbench_python.mjs", url, {"path": "triton/", **answers})
    if triton_compiler.is_there():
        assert (small.root / "my" / f"{TRITON}.py").read_text("utf-8") == answers["solution"]
