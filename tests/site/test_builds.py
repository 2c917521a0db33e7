"""`make site`: the same input makes the same bytes, and what is wrong in either language is told."""

from __future__ import annotations

import os
import re
import shutil
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


INJECTED = {
    "docs/en/copying.md": '<img src=x onerror="alert(1)">',
    "docs/zh/copying.md": "[线程束](javascript&colon;alert(1))",
    "docs/en/index.md": '<iframe srcdoc="x"></iframe>',
}


def test_scripts_that_the_theme_does_not_have_fail_the_build(small_site: Book, tmp_path: Path) -> None:
    """In pages (after an included listing), glossary, claims, drawings and front matter: each with file and line."""
    files = {name: small_site.root / name for name in (*INJECTED, "docs/glossary.toml", "docs/zh/index.md")}
    files["record"] = small_site.root / "records" / "nvidia-h200" / "copying.json"
    before = {name: path.read_text("utf-8") for name, path in files.items()}
    drawing = small_site.docs / "en" / "figures" / "a.svg"
    try:
        for name, html in INJECTED.items():
            files[name].write_text(f"{before[name]}\n{html}\n", "utf-8")
        files["docs/zh/index.md"].write_text('---\ntitle: "<script>alert(2)</script>"\n---\n# 首页\n', "utf-8")
        glossary = before["docs/glossary.toml"].replace("Threads that", "Threads <b onclick='x'>that</b>")
        files["docs/glossary.toml"].write_text(glossary, "utf-8")
        claim = '"claims": {"c": {"en": "<iframe>", "zh": "x", "published_link": "javascript:x"}}, "values"'
        files["record"].write_text(before["record"].replace('"values"', claim), "utf-8")
        drawing.parent.mkdir()
        drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg">\n<script/></svg>\n', "utf-8")
        done = make(small_site, tmp_path / "site")
    finally:
        shutil.rmtree(drawing.parent)
        for name, path in files.items():
            path.write_text(before[name], "utf-8")
    assert done.returncode == 1 and not (tmp_path / "site").exists()
    line = len(before["docs/en/copying.md"].splitlines()) + 2
    for where, what in (
        (f"docs/en/copying.md:{line}", "the attribute onerror of <img>"),
        (f"docs/zh/copying.md:{line}", "the address 'javascript:alert(1)'"),
        ("docs/en/index.md:3", "<iframe>"),
        ("docs/zh/index.md:2", "<script>"),
        ("docs/glossary.toml:7", "the attribute onclick of <b>"),
        ("docs/en/figures/a.svg:2", "<script>"),
        ("records/nvidia-h200/copying.json:1", "<iframe>"),
        ("records/nvidia-h200/copying.json:1", "the address 'javascript:x'"),
    ):
        assert f"{where}: {what}" in done.stderr, done.stderr
