"""`make serve`: a page is made when a browser asks for it, and behind the reader the whole site is built.

An edit begins a new edition. Browsers load their page again at once, and whatever they ask for is made from the files
as they are now, by processes that have seen no earlier edition and in a folder that holds nothing of one. When edits
pause, the whole site is built as `make site` does it: for its warnings, and for what is made of all pages together
(search, llms.txt). Once that is done it is what is served, until the next edit.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.livereload import LiveReloadServer

from warpbook.book import LANGUAGES, PLACES, Book, BookError
from warpbook.site.builder import Job, Tell, build_into
from warpbook.site.page_builder import Maker

WATCHED = ("docs", "snippets", "records", "theme", "mkdocs.yml", "mkdocs.zh.yml", "warpbook")
POLL = 0.2  # seconds between two looks at the files
PAUSE = 1.0  # seconds without an edit before the whole site is built


def serve(book: Book, host: str, port: int) -> None:
    """Serve both languages until interrupted."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise BookError(f"{host}:{port}: {error.strerror}; choose another with --port") from None
    url = f"http://{host}:{port}/"
    with tempfile.TemporaryDirectory(prefix="warpbook-site-") as folder:
        preview = Preview(book, Path(folder), url)
        server = Server(preview, host, port)
        for name in WATCHED:
            if (book.root / name).exists():
                server.watch(str(book.root / name))
        print(f"{url} (English), {url}zh/ (中文); Ctrl-C ends", flush=True)
        try:
            server.serve()  # type: ignore[no-untyped-call]
        finally:
            server.shutdown()
            preview.stop()


class Server(LiveReloadServer):
    """MkDocs' server, which makes browsers load their page again; what it serves is made fresh before it looks."""

    def __init__(self, preview: Preview, host: str, port: int) -> None:
        self.preview, self.here = preview, threading.local()
        super().__init__(preview.edited, host, port, root="", polling_interval=POLL)

    @property
    def root(self) -> str:
        """Where files are, for this request."""
        return str(self.here.root)

    @root.setter
    def root(self, folder: str) -> None:
        self.here.root = folder

    def serve_request(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
        if path.startswith("/livereload/"):
            return super().serve_request(environ, start_response)
        address = file_address(path)
        if address is None:
            return plain(start_response, "400 Bad Request")
        while True:
            edition = self.preview.edition
            said: list[tuple[Any, ...]] = []
            try:
                folder = edition.fresh(address)
            except PageError as error:
                answer = self.explain(str(error), lambda *told: said.append(told))  # noqa: B023
            else:
                if not inside(folder, address):
                    return plain(start_response, "404 Not Found")
                self.root = str(folder)
                answer = super().serve_request(environ, lambda *told: said.append(told))  # noqa: B023
            # Else an old page could say that it is of the new edition, and would not be loaded again.
            if edition is self.preview.edition:
                start_response(*said[-1])
                return answer

    def explain(self, wrong: str, start_response: Any) -> Iterable[bytes]:
        """A page that says why the one asked for could not be made, and is loaded again after the next edit."""
        with self._epoch_cond:
            self._epoch_cond.wait_for(lambda: self._visible_epoch == self._wanted_epoch)
            epoch = self._visible_epoch
        page = f"<!doctype html><meta charset=utf-8><pre>{html.escape(wrong)}</pre>\n".encode()
        page = self._inject_js_into_html(page, epoch)  # type: ignore[no-untyped-call]
        start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(page)))])
        return [page]


def file_address(path: str) -> str | None:
    """The file of the site that a request's path names (zh/copying/index.html); None if the path could leave the site.

    An encoded slash is a slash by now, so `..` may be anywhere; some systems take a backslash for one, too.
    """
    if not path.startswith("/") or re.search(r"[\\\x00-\x1f\x7f]", path) or {".", ".."} & set(path.split("/")):
        return None
    return (f"{path}index.html" if path.endswith("/") else path).lstrip("/")


def inside(folder: Path, address: str) -> bool:
    """Whether the file lies in the folder, wherever symbolic links lead."""
    return (folder / address).resolve().is_relative_to(folder.resolve())


def plain(start_response: Any, status: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    """Answer with nothing but a status."""
    body = f"{status}\n".encode()
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body))), *headers])
    return [body]


class Preview:
    """The present edition of the site."""

    def __init__(self, book: Book, folder: Path, url: str) -> None:
        self.book, self.folder, self.url = book, folder, url
        self.seen = files(book)
        self.edition = Edition(book, folder / "1", url, LANGUAGES[0])

    def edited(self) -> None:
        """Begin another edition, if anything has changed."""
        now = files(self.book)
        if now == self.seen:
            return  # Python's caches, an editor's spare copy
        self.seen = now
        before = self.edition
        number = int(before.folder.name) + 1
        self.edition = Edition(self.book, self.folder / str(number), self.url, before.asked)
        threading.Thread(target=before.end).start()
        shutil.rmtree(self.folder / str(number - 2), ignore_errors=True)  # of the last, something may be on its way

    def stop(self) -> None:
        self.edition.end()


def files(book: Book) -> dict[str, tuple[int, int]]:
    """When each watched file was last written, and its size."""
    found = {}
    for name in WATCHED:
        path = book.root / name
        for file in path.rglob("*") if path.is_dir() else [path]:
            if "__pycache__" not in file.parts and not file.name.startswith("."):
                try:
                    about = file.stat()
                except OSError:
                    continue  # just gone
                if not file.is_dir():
                    found[str(file)] = (about.st_mtime_ns, about.st_size)
    return found


class PageError(Exception):
    """A page could not be made; the text says why."""


class Edition:
    """The site between two edits: its pages so far, and then the whole of it."""

    def __init__(self, book: Book, folder: Path, url: str, language: str) -> None:
        self.book, self.folder, self.url = book, folder, url
        self.pages, self.whole = folder / "pages", folder / "whole"
        self.asked = language  # the one looked at last; its pages are likely to be asked for
        self.makers = {language: Maker(book, language, self.pages, url)}
        self.jobs: list[Job] = []
        self.told: set[str] = set()
        self.lock = threading.Lock()
        self.over = False
        self.complete = False  # the whole is there
        self.settled = threading.Event()  # it is, or it will not be
        threading.Thread(target=self.build, daemon=True).start()

    def fresh(self, address: str) -> Path:
        """The folder in which the file `address` is, made if it was not there yet, if there is to be one at all.

        Raises PageError for a page with a mistake. Nothing is written for it: `address` may be no page of the book.
        """
        language = next((x for x in LANGUAGES[::-1] if f"{address}/".startswith(f"{PLACES[x]}/")), LANGUAGES[0])
        with self.lock:
            if language not in self.makers and not self.over:
                self.makers[language] = Maker(self.book, language, self.pages, self.url)
            self.asked, maker = language, self.makers.get(language)
        if self.complete or not maker:
            return self.whole
        start = time.monotonic()
        made, wrong = maker.make(address.removeprefix(PLACES[language]).lstrip("/"), self.tell)
        if wrong and Path(address).suffix in ("", ".html"):
            self.tell(wrong)
            raise PageError(wrong)
        if made is False:
            self.settled.wait()  # it may be made of all pages together
            return self.whole
        if made and address.endswith(".html"):
            shown = "/" + address.removesuffix("index.html")
            self.tell(f"{shown} in {time.monotonic() - start:.1f} s")
        return self.pages

    def tell(self, line: str) -> None:
        """A line for the terminal, once in an edition, whether one page is made or all."""
        if not self.over and line not in self.told:
            self.told.add(line)
            print(line, flush=True)

    def build(self) -> None:
        """The whole site, both languages side by side, once nobody edits or waits for a page."""
        time.sleep(PAUSE)
        while any(maker.lock.locked() for maker in list(self.makers.values())):
            time.sleep(PAUSE)
        start = time.monotonic()
        with self.lock:
            if self.over:
                return
            self.jobs = [Job(gently, self.book, language, self.whole, self.url) for language in LANGUAGES]
        wrong = [error for job in self.jobs if (error := job.outcome(self.tell))]
        for error in wrong:
            self.tell(error)
        if not wrong:
            pages = sum(1 for _ in self.whole.rglob("index.html"))
            self.tell(f"all {pages} pages in {time.monotonic() - start:.1f} s")
            self.complete = True
        self.settled.set()

    def end(self) -> None:
        with self.lock:
            self.over = True
        for maker in self.makers.values():
            maker.stop()
        for job in self.jobs:
            job.stop()
        self.settled.set()


def gently(tell: Tell, book: Book, language: str, root: Path, url: str) -> None:
    """Build without holding up the page that is asked for meanwhile."""
    os.nice(10)
    build_into(tell, book, language, root, strict=False, url=url)
