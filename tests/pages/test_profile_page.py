"""The page that profiles a kernel without a GPU: its commands run, and print what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpbook.book import LANGUAGES, here
from warpbook.source.pages import Page

BOOK = here()


def title(page: Page, start: int) -> str:
    """The file that a block shows, by the fence's title."""
    return page.lines[start].text.partition('title="')[2].partition('"')[0]


def run(command: str, folder: Path) -> str:
    """What a terminal of 80 columns shows."""
    settings = os.environ | {"SOFTCUDA_QUIET": "1", "COLUMNS": "80"}
    if command.startswith("softcuda "):
        command = f"{sys.executable} -m {command}"
    done = subprocess.run(
        command, shell=True, cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
    )
    return done.stdout.decode()


def played(page: Page, folder: Path) -> list[tuple[str, list[str], list[str]]]:
    """(where, what a console block shows, what its commands print), from top to bottom."""
    out = []
    for block in page.blocks:
        if name := title(page, block.start):
            (folder / name).write_text(block.code)
        if block.language == "console":
            now: list[str] = []
            for line in block.code.splitlines():
                if line.startswith("$ "):
                    now += [line, *run(line[2:], folder).splitlines()]
            out.append((block.where, block.code.splitlines(), now))
    return out


@pytest.mark.timeout(600)
@pytest.mark.inputs("docs/en/profile-your-kernel.md", "docs/zh/profile-your-kernel.md")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_commands_print_what_the_page_shows(language: str, tmp_path: Path) -> None:
    path = BOOK.page_of("profile-your-kernel", language)
    assert path is not None
    found = played(Page(BOOK, path), tmp_path)
    assert len(found) >= 4
    for where, shown, now in found:
        assert [line.rstrip() for line in shown] == [line.rstrip() for line in now], where


HELD = {  # the words around how many kernels were held against a GPU, and how many of them differ
    "en": r"compared it with an H200 for (\d+) kernels;\s+it was equal for all but five",
    "zh": r"用 (\d+) 个核函数与 H200 对照过，除五个以外全部相等",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_how_many_kernels_were_held_against_a_gpu(language: str) -> None:
    counters = BOOK.root / "tests" / "softcuda" / "counters"
    kernels = json.loads((counters / "h200.json").read_text())["launches"]
    different = (counters / "test_counters.py").read_text().partition("\nDIFFERENT")[2].partition("\n}\n")[0]
    text = (BOOK.docs / language / "profile-your-kernel.md").read_text("utf-8")
    found = re.search(HELD[language], text)
    assert found and int(found[1]) == len(kernels)
    assert len(re.findall(r'^    "\w+": \(', different, re.MULTILINE)) == 5


COUNTED = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
)


@pytest.mark.inputs("docs/en/profile-your-kernel.md", "records/nvidia-h200/tools")
@pytest.mark.parametrize(("which", "kernel", "blocks"), [("first", 0, 2), ("last", -1, 256)])
def test_a_gpu_counted_the_same(which: str, kernel: int, blocks: int, tmp_path: Path) -> None:
    path = BOOK.page_of("profile-your-kernel", "en")
    assert path is not None
    page = Page(BOOK, path)
    kernels = [block.code for block in page.blocks if title(page, block.start) == "rows.cu"]
    (program,) = (block.code for block in page.blocks if title(page, block.start) == "rows.py")
    (tmp_path / "rows.py").write_text(program)
    (tmp_path / "rows.cu").write_text(kernels[kernel])
    run(f"softcuda profile --json counts.json rows.py {blocks}", tmp_path)
    here_counted = json.loads((tmp_path / "counts.json").read_text())[0]["metrics"]
    text = (BOOK.root / f"records/nvidia-h200/tools/rows-{which}.metrics.txt").read_text()
    for name in COUNTED:
        found = re.search(rf"^\s*{re.escape(name)}\D*([\d,]+)$", text, re.MULTILINE)
        assert found and int(found[1].replace(",", "")) == here_counted[name], name
