"""`make site`: the same input makes the same bytes, and what is wrong in either language is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from warpbook.book import Book


def make(book: Book, output: Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "warpbook", "site", "--output", str(output)],
        cwd=book.root,
        env={**os.environ, "PYTHONPATH": str(book.root), "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=120,
    )


def contents(site: Path) -> dict[str, bytes]:
    return {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}


def test_two_builds_are_equal_byte_for_byte(small_site: Book, tmp_path: Path) -> None:
    """Whatever the order of sets, with what earlier builds left in .cache and without."""
    built = [make(small_site, tmp_path / seed, seed) for seed in ("1", "2")]
    assert [done.returncode for done in built] == [0, 0], built[0].stderr
    assert re.search(r"built .*: 4 pages in [\d.]+ s", built[0].stdout)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_both_languages_say_what_is_wrong_and_the_site_stays(small_site: Book, tmp_path: Path) -> None:
    assert make(small_site, tmp_path / "site").returncode == 0
    (tmp_path / "site" / "warpbook.zip").touch()  # made from the site, and gone with it
    assert make(small_site, tmp_path / "site").returncode == 0  # a built site is replaced
    before = contents(tmp_path / "site")
    assert "warpbook.zip" not in before
    for language in ("en", "zh"):
        page = small_site.docs / language / "copying.md"
        page.write_text(page.read_text("utf-8").replace("{{ rate }}", "{{ nothing }}"), "utf-8")
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 1
    said = re.findall(
        r'^docs/(\w+)/copying.md:3: no value "nothing"|^(mkdocs\S*): 1 warnings', done.stderr, re.MULTILINE
    )
    assert ["".join(one) for one in said] == ["en", "zh", "mkdocs.yml", "mkdocs.zh.yml"]
    assert contents(tmp_path / "site") == before
