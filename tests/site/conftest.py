"""A site on a port of this machine, and a browser to look at it."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import unchanged
from looker import Looker, said
from recorded import keep, value

from warpbook import tools
from warpbook.book import PRIMARY, Book, BookError
from warpbook.site.builder import build

PAGE = """# Copying { #copying }

A copy reaches {{ rate }} with any warp.

```cuda
--8<-- "snippets/copying/copy.cu"
```
"""
GLOSSARY = """[[group]]
en = "Hardware"
zh = "硬件"
[[group.term]]
en = "warp"
zh = "线程束"
says.en = "Threads that run together."
says.zh = "一起执行的线程。"
"""


@pytest.fixture(scope="session")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, as `make site` builds it: once for all of pytest's processes. Or that in $WARPBOOK_SITE."""
    if built := os.environ.get("WARPBOOK_SITE"):
        return Path(built).resolve(strict=True)
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each has a folder of its own in it
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "site").exists():
            return folder / "site"
        try:
            return build(book, folder / "site")
        except BookError as error:
            pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def served(site: Path, serve: Callable[[Path], str]) -> str:
    """The site's address."""
    return serve(site)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve a folder until the tests are over; its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ExitStack() as servers:

        def start(folder: Path) -> str:
            server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return f"http://127.0.0.1:{server.server_port}/"

        yield start


@pytest.fixture(scope="session")
def browser() -> str:
    """Debian's Chromium or one of Playwright's; skipped loudly where there is none, but never in CI."""
    if found := tools.chromium():
        return found
    said = f"THE SITE WAS NOT LOOKED AT: {tools.CHROMIUM_ADVICE}"
    if os.environ.get("CI"):
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


@pytest.fixture(scope="session")
def validate(book: Book) -> Callable[[Path], None]:
    """Hold a built site against the HTML standard."""

    def run(site: Path) -> None:
        command = [tools.node(), str(Path(__file__).with_name("validate.mjs"))]
        done = subprocess.run(
            [*command, str(tools.modules(book)), str(site)], capture_output=True, encoding="utf-8", timeout=800
        )
        assert done.returncode == 0, done.stderr
        told(json.loads(done.stdout))

    return run


def told(problems: list[dict[str, str]]) -> None:
    if problems:
        pytest.fail("\n".join(map(said, problems)), pytrace=False)


@pytest.fixture(scope="session")
def looker(book: Book, browser: str) -> Iterator[Looker]:
    script = str(Path(__file__).with_name("browser.mjs"))
    looker = Looker([tools.node(), script, str(tools.modules(book)), browser])
    yield looker
    looker.stop()


@pytest.fixture(scope="session")
def look(looker: Looker) -> Callable[..., None]:
    """Run a script of this folder in the browser, and fail with what it finds wrong."""

    def run(script: str, *given: object, **options: int) -> None:
        told(looker.look(script, *given, **options))

    return run


@pytest.fixture
def look_at_page(
    site: Path, served: str, look: Callable[..., None], request: pytest.FixtureRequest
) -> Callable[[str], None]:
    """Look at a page of the site in both languages, unless it is as it was when this passed."""

    def run(page: str) -> None:
        pages = [site / page / "index.html", site / "zh" / page / "index.html"]
        shared = [path for path in site.rglob("*") if path.suffix in (".css", ".js", ".woff2", ".svg", ".png")]
        unchanged.skip_if_known(request.node, [*pages, *shared], site)
        look("browse.mjs", served, {"en": page, "zh": f"zh/{page}"})

    return run


@pytest.fixture(scope="module")
def small_site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A book of two pages, in both languages, with the theme and the code of the real one."""
    root = tmp_path_factory.mktemp("book")
    for name in ("warpbook", "theme"):
        shutil.copytree(book.root / name, root / name)
    (root / "node_modules").symlink_to(book.root / "node_modules")
    for name, home in (("mkdocs.yml", "Home"), ("mkdocs.zh.yml", "首页")):
        config = (book.root / name).read_text("utf-8")
        nav = f"nav:\n  - {home}: index.md\n  - Copying: copying.md\n"
        (root / name).write_text(re.sub(r"^nav:\n(.*\n)*?(?=\n)", nav, config, flags=re.MULTILINE), "utf-8")
    texts = {
        "docs/glossary.toml": GLOSSARY,
        "docs/en/index.md": "# Home\n",
        "docs/zh/index.md": "# 首页\n",
        "docs/en/copying.md": PAGE,
        "docs/zh/copying.md": PAGE,
        "snippets/copying/copy.cu": "__global__ void copy() {}\n",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    small = Book(root)
    keep(small, PRIMARY, "copying", {"copying/copy.py": {"values": {"rate": value(4e12)}}})
    (small.snippets / "copying" / "copy.py").unlink()  # it would have a page of its own
    return small
