"""The C programs of the article on the CPU notice when their C is wrong, as others notice broken kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken import copy_programs

from warpbook.book import Book
from warpbook.run.run import RunError, run_program

BROKEN = [  # (program, file, what stands there, what to write instead)
    ("ladder", "matmul.c", "c[i * n + j] = sum;", ";"),
    ("ladder", "matmul.c", "float sum = c[i * n + j];", "float sum = 0;"),
    ("ladder", "matmul.c", "j < j1; ++j) c[i * n + j] +=", "j < j1; ++j) c[i * n + j] ="),
    ("ladder", "matmul.c", "int64_t ie = m - m % RI", "int64_t ie = m"),
    ("ladder", "matmul.c", "rest(ie, m, j0, j1, p0, p1, n, k, a, b, c);", ""),
    ("ladder", "matmul.c", "least(first + rows, m)", "least(first + rows, m - 1)"),
    ("sums", "sums.c", "sum += x[i * pitch + j]; /* the next row */", "sum += x[j * pitch + i];"),
    ("sums", "sums.c", "sum += x[i * stride];", "sum += x[i];"),
    ("false_sharing", "sharing.c", "i < steps", "i < steps - 1"),
    ("false_sharing", "sharing.c", "__atomic_fetch_add(mine, 1", "__atomic_fetch_add(counters, 1"),
]  # fmt: skip


@pytest.fixture
def copied(tmp_path: Path) -> Book:
    return copy_programs(tmp_path, "cpu")


@pytest.mark.inputs("snippets/cpu", "snippets/warpbench.py", "snippets/warppairs.py")
@pytest.mark.parametrize(("program", "file", "right", "wrong"), BROKEN, ids=lambda text: str(text)[:24])
def test_a_program_notices_broken_c(copied: Book, program: str, file: str, right: str, wrong: str) -> None:
    path = copied.snippets / "cpu" / file
    text = path.read_text("utf-8")
    assert text.count(right) >= 1, f"{file} has no {right!r}; this test wants another place to break"
    path.write_text(text.replace(right, wrong, 1), "utf-8")
    with pytest.raises(RunError, match=r"AssertionError|killed by"):
        run_program(copied, copied.snippets / "cpu" / f"{program}.py")
