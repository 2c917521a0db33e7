"""The site builds strictly, and a real browser finds nothing wrong with it in either language, light or dark."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from warpbook import mathematics
from warpbook.book import Book, BookError
from warpbook.site import build

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build(book, tmp_path_factory.mktemp("site") / "site")
    except BookError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> str:
    """Debian's Chromium or one of Playwright's; skipped loudly where there is none, but never in CI."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    found = found or next(
        (
            str(p)
            for p in sorted(cache.glob("chromium*/chrome-*/*"))
            if p.name in ("chrome", "headless_shell", "chrome-headless-shell")
        ),
        None,
    )
    if found:
        return found
    said = "THE SITE WAS NOT LOOKED AT: no Chromium here; install it with `apt-get install chromium`"
    if os.environ.get("CI"):
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


def url(path: Path, docs: Path) -> str:
    name = path.relative_to(docs).with_suffix("").as_posix()
    return "" if name == "index" else f"{name.removesuffix('/index')}/"


def test_both_languages_have_the_same_pages(book: Book) -> None:
    english, chinese = ([p.relative_to(book.docs / x).as_posix() for p in book.pages(x)] for x in ("en", "zh"))
    assert english == chinese


def test_every_page_is_built(book: Book, site: Path) -> None:
    for language, place in (("en", ""), ("zh", "zh/")):
        for page in book.pages(language):
            assert (site / place / url(page, book.docs / language) / "index.html").exists()


def test_no_page_needs_another_host(site: Path) -> None:
    """What a browser would fetch by itself: scripts, styles, images, fonts."""
    for file in site.rglob("*.css"):
        assert "url(http" not in file.read_text("utf-8")
        assert "@import" not in file.read_text("utf-8")


@pytest.mark.timeout(600)
def test_a_browser_finds_nothing_wrong(book: Book, address: str, browser: str) -> None:
    pages = [{"en": url(p, book.docs / "en"), "zh": "zh/" + url(p, book.docs / "en")} for p in book.pages("en")]
    labs = [f"snippets/{p.parent.name}/{p.stem}/" for article in book.articles() for p in book.programs(article)[:1]]
    pages += [{"en": lab, "zh": f"zh/{lab}"} for lab in labs]
    done = subprocess.run(
        [
            mathematics.node(),
            str(Path(__file__).with_name("browse.mjs")),
            str(mathematics.modules(book)),
            browser,
            address,
            json.dumps(pages),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=580,
    )
    assert done.returncode == 0, done.stderr
    problems = json.loads(done.stdout)
    if problems:
        pytest.fail("\n".join(f"/{p['page']} ({p['scheme']}): {p['what']}" for p in problems), pytrace=False)
