"""The first page: what it says that a changed kernel prints is what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warpbook.blocks import ends
from warpbook.book import LANGUAGES, here
from warpbook.source.pages import Page

BOOK = here()
CHANGES = [("2 * x", "3 * x"), ("if (i < n) ", "")]  # in the page's order


def changed(folder: Path, old: str, new: str) -> str:
    """What the page's program prints once the reader has changed its kernel."""
    shutil.copytree(BOOK.snippets / "start", folder / "start")
    shutil.copy(BOOK.snippets / "warpbench.py", folder)
    kernel = folder / "start" / "twice.cu"
    text = kernel.read_text()
    assert old in text
    kernel.write_text(text.replace(old, new))
    done = subprocess.run(
        [sys.executable, folder / "start" / "first.py"],
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode
    return done.stdout


@pytest.mark.inputs("docs/en/start.md", "docs/zh/start.md", "snippets/start")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_changed_kernel_prints_what_the_page_shows(language: str, tmp_path: Path) -> None:
    path = BOOK.page_of("start", language)
    assert path is not None
    shown = [block.code for block in Page(BOOK, path).blocks if block.language == "text"]
    assert len(shown) == len(CHANGES)
    for i, (text, change) in enumerate(zip(shown, CHANGES, strict=True)):
        printed = changed(tmp_path / str(i), *change)
        for line in text.splitlines():
            assert re.search(re.escape(line).replace("0x…", r"0x[0-9a-f]+") + "$", printed, re.MULTILINE), line


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_commands_name_the_repository_if_it_is_known(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/book")
    assert "$ git clone https://github.com/someone/book.git warpbook" in ends.install(language)
    monkeypatch.delenv("GITHUB_REPOSITORY")
    assert "ADDRESS" in ends.install(language).splitlines()[-1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_commands_install_what_programs_need_before_they_serve(language: str) -> None:
    assert "$ make setup serve" in ends.install(language)  # `make serve` alone installs no NumPy, PyCUDA or softcuda
