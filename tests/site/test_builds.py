"""`make site`: the same input makes the same bytes, and what is wrong in either language is reported."""

from __future__ import annotations

import ctypes
import marshal
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from background import background
from recorded import keep

from warpbook.book import SOFTCUDA, Book


def make(
    book: Book, output: Path | None, seed: str = "0", before: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Build the book; `before` runs in the process that becomes the build."""
    return subprocess.run(
        [sys.executable, "-m", "warpbook", "site", *(["--output", str(output)] if output else [])],
        cwd=book.root,
        env={**os.environ, "PYTHONPATH": str(book.root), "PYTHONHASHSEED": seed, **environment},
        capture_output=True,
        text=True,
        timeout=400,
        preexec_fn=before,
    )


def contents(site: Path) -> dict[str, bytes]:
    return {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def built(small_site: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book, built with nothing in its .cache."""
    site = tmp_path_factory.mktemp("built") / "site"
    done = make(small_site, site, seed="1")
    assert done.returncode == 0 and re.search(r"built .*: 4 pages in [\d.]+ s", done.stdout), done.stderr
    return site


@pytest.fixture
def edit(small_site: Book) -> Iterator[Callable[[str, str], None]]:
    """Write a file of the small book, as long as the test lasts."""
    before: dict[Path, str | None] = {}

    def one(name: str, text: str) -> None:
        path = small_site.root / name
        before[path] = path.read_text("utf-8") if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    yield one
    for path, text in before.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, "utf-8")


def test_two_builds_are_equal_byte_for_byte_and_the_second_replaces_the_first(
    small_site: Book, built: Path, tmp_path: Path
) -> None:
    """Whatever the order of sets, with what earlier builds left in .cache and without."""
    shutil.copytree(built, tmp_path / "site")
    (tmp_path / "site" / "warpbook.zip").touch()  # made from the site, and gone with it
    assert make(small_site, tmp_path / "site", seed="2").returncode == 0
    assert contents(tmp_path / "site") == contents(built)


def test_both_languages_say_what_is_wrong_and_the_site_stays(
    small_site: Book, built: Path, tmp_path: Path, edit: Callable[[str, str], None]
) -> None:
    shutil.copytree(built, tmp_path / "site")
    before = contents(tmp_path / "site")
    for language in ("en", "zh"):
        page = small_site.docs / language / "copying.md"
        edit(f"docs/{language}/copying.md", page.read_text("utf-8").replace("{{ rate }}", "{{ nothing }}"))
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 1
    said = re.findall(
        r'^docs/(\w+)/copying.md:3: no value "nothing"|^(mkdocs\S*): 1 warnings', done.stderr, re.MULTILINE
    )
    assert ["".join(one) for one in said] == ["en", "zh", "mkdocs.yml", "mkdocs.zh.yml"]
    assert contents(tmp_path / "site") == before


def test_what_pages_and_navigation_refer_to_is_reported_with_language_and_line(
    small_site: Book, tmp_path: Path, edit: Callable[[str, str], None]
) -> None:
    """A page that the navigation lists and nobody wrote; links to a page and to an anchor. No traceback, each once."""
    nav = (small_site.root / "mkdocs.yml").read_text("utf-8")
    edit("mkdocs.yml", nav.replace("  - Copying: copying.md\n", "  - Copying: copying.md\n  - New: new.md\n"))
    edit("docs/zh/index.md", "# 首页\n\n[没有](nothing.md)，[也没有](copying.md#nowhere)。\n")
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    line = nav[: nav.index("  - Copying")].count("\n") + 2
    for said in (
        f"mkdocs.yml:{line}: there is no docs/en/new.md; write that page, or take this line, ",
        "docs/zh/index.md:3: link 'nothing.md', but the target is not found",
        "docs/zh/index.md:3: link 'copying.md#nowhere', but the doc 'copying.md' does not contain an anchor '#nowhere'",
    ):
        assert len([one for one in done.stderr.splitlines() if one.startswith(said)]) == 1, done.stderr


def test_a_program_that_no_gpu_has_run_holds_nothing_up_and_is_named_in_one_line(
    small_site: Book, tmp_path: Path, edit: Callable[[str, str], None]
) -> None:
    edit("snippets/copying/twice.py", '"""Doubles."""\nprint(2)\n')
    edit("records/softcuda/copying.json", "")
    keep(small_site, SOFTCUDA, "copying", {"copying/twice.py": {"stdout": "2\n"}})
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "pending" in line]
    assert line.startswith(
        "pending: nvidia-h200 has not measured copying/twice.py of copying yet; pages say so, and you"
    )


INJECTED = {
    "docs/en/copying.md": '<img src=x onerror="alert(1)">',
    "docs/zh/copying.md": "[线程束](javascript&colon;alert(1))",
    "docs/en/index.md": '<iframe srcdoc="x"></iframe>',
}


def test_scripts_that_the_theme_does_not_have_fail_the_build(
    small_site: Book, tmp_path: Path, edit: Callable[[str, str], None]
) -> None:
    """In pages (after an included listing), glossary, claims, drawings and front matter: each with file and line."""

    def text(name: str) -> str:
        return (small_site.root / name).read_text("utf-8")

    line = len(text("docs/en/copying.md").splitlines()) + 2
    for name, html in INJECTED.items():
        edit(name, f"{text(name)}\n{html}\n")
    edit("docs/zh/index.md", '---\ntitle: "<script>alert(2)</script>"\n---\n# 首页\n')
    edit("docs/glossary.toml", text("docs/glossary.toml").replace("Threads that", "Threads <b onclick='x'>that</b>"))
    edit("snippets/copying/claims.toml", '[copy.c]\nen = "<iframe>"\npublished_link = "javascript:x"\n')
    edit("docs/en/figures/a.svg", '<svg xmlns="http://www.w3.org/2000/svg">\n<script/></svg>\n')
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 1 and not (tmp_path / "site").exists()
    for where, what in (
        (f"docs/en/copying.md:{line}", "the attribute onerror of <img>"),
        (f"docs/zh/copying.md:{line}", "the address 'javascript:alert(1)'"),
        ("docs/en/index.md:3", "<iframe>"),
        ("docs/zh/index.md:2", "<script>"),
        ("docs/glossary.toml:7", "the attribute onclick of <b>"),
        ("docs/en/figures/a.svg:2", "<script>"),
        ("snippets/copying/claims.toml:2", "<iframe>"),
        ("snippets/copying/claims.toml:3", "the address 'javascript:x'"),
    ):
        assert f"{where}: {what}" in done.stderr, done.stderr


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def obey_modes() -> None:
    """In a process of root: lose, at the next exec, the right to write what modes forbid."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        os._exit(99)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    folders = [Path(place) for place, _, _ in os.walk(folder)]
    for one in folders:
        one.chmod(0o555)
    try:
        yield
    finally:
        for one in folders:
            one.chmod(0o755)


def test_a_read_only_checkout_is_built_elsewhere(small_site: Book, built: Path, tmp_path: Path) -> None:
    """The same bytes, without caches; nothing of the temporary folder is read, and nothing is left there."""
    shutil.rmtree(small_site.root / ".cache")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    (scratch / "jieba.cache").write_bytes(marshal.dumps(({"复": 1, "复制": 0}, 1)))
    with unwritable(small_site.root):
        done = make(small_site, tmp_path / "after", before=obey_modes, TMPDIR=str(scratch))
        here = make(small_site, None, before=obey_modes)
    if done.returncode == 99:
        pytest.skip("root keeps the right to write everything here")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert contents(tmp_path / "after") == contents(built)
    assert not (small_site.root / ".cache").exists()
    assert [path.name for path in scratch.iterdir()] == ["jieba.cache"]
    assert here.returncode == 1 and here.stderr.count("\n") == 1
    assert re.search(r"/book\d+/\S+: Permission denied; choose a place where you may write$", here.stderr)


def small_files_only() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


def test_a_site_that_finds_no_room_is_one_line_and_the_old_one_stays(
    small_site: Book, built: Path, tmp_path: Path
) -> None:
    shutil.copytree(built, tmp_path / "site")
    before = contents(tmp_path)
    done = make(small_site, tmp_path / "site", before=small_files_only)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.match(r"\S+: File too large; raise the limit of file sizes", done.stderr), done.stderr
    assert contents(tmp_path) == before  # no temporary folder beside it either


def running(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # ended meanwhile
        if int(of) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def within(seconds: float, done: Callable[[], object]) -> bool:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(done())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_stopped_leaves_nothing_behind(small_site: Book, tmp_path: Path, number: int) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    with background(
        [sys.executable, "-m", "warpbook", "site", "--output", str(tmp_path / "site")],
        cwd=small_site.root,
        env={**os.environ, "PYTHONPATH": str(small_site.root), "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    ) as build:
        assert within(200, lambda: list(tmp_path.glob(".site-*/new/*")))  # both are being built
        build.send_signal(number)
        _, said = build.communicate(timeout=100)
    assert build.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert "Traceback" not in said
    assert within(30, lambda: not running(build.pid)), running(build.pid)
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"] and not list(scratch.iterdir())
