"""A site on a port of this machine, and a browser to look at it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from warpbook import browsers, mathematics
from warpbook.book import Book


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
    if found := browsers.find():
        return found
    said = f"THE SITE WAS NOT LOOKED AT: {browsers.ADVICE}"
    if os.environ.get("CI"):
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


@pytest.fixture(scope="session")
def look(book: Book, browser: str) -> Callable[..., None]:
    """Run a script of this folder in the browser; it prints a JSON list of what is wrong."""

    def run(script: str, address: str, *arguments: str) -> None:
        command = [mathematics.node(), str(Path(__file__).with_name(script)), str(mathematics.modules(book)), browser]
        done = subprocess.run(
            [*command, address, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=580
        )
        assert done.returncode == 0, done.stderr
        problems = json.loads(done.stdout)
        if problems:
            pytest.fail("\n".join(f"/{p['page']} ({p['scheme']}): {p['what']}" for p in problems), pytrace=False)

    return run
