"""`make serve`: a page is made when a browser asks for it, and behind the reader the whole site is built.

An edit begins a new edition. Browsers load their page again at once, and whatever they ask for is made from the files
as they are now, by processes that have seen no earlier edition and in a folder that holds nothing of one. When edits
pause, the whole site is built as `make site` does it: for its warnings, and for what is made of all pages together
(search, llms.txt). Once that is done it is what is served, until the next edit.
"""

from __future__ import annotations

import errno
import fcntl
import html
import ipaddress
import os
import re
import shutil
import signal
import socket
import socketserver
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process
from pathlib import Path
from typing import Any

from mkdocs.livereload import LiveReloadServer, _Handler

from warpbook.book import LANGUAGES, PLACES, Book, BookError
from warpbook.site.builder import Job, Report, build_into, stop_all
from warpbook.site.page_builder import PageBuilder
from warpbook.site.workbench import PREFIX as WORKBENCH
from warpbook.site.workbench import Workbench

WATCHED = ("docs", "snippets", "exercises", "records", "theme", "mkdocs.yml", "mkdocs.zh.yml", "warpbook")
POLL = 0.2  # seconds between two looks at the files
PAUSE = 1.0  # seconds without an edit before the whole site is built
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PREFIX = "warpbook-site-"  # of folders for temporary files
OWNER = "owner"  # a file in such a folder, locked while the process that it belongs to lives
SILENCE = 60.0  # seconds that a browser may keep a connection without saying or taking anything
# What a page needs to judge and run code; on pages with an exercise or a kernel, and only where the workbench is.
BENCH = (
    f'<link rel="stylesheet" href="{WORKBENCH}workbench.css">'
    f'<script type="module" src="{WORKBENCH}workbench.js"></script></body>'
)
WANTS_BENCH = re.compile(rb'data-(?:exercise|done)="|class="language-cuda highlight"')
UNOWNED = 3600.0  # seconds after which such a folder without that file is nobody's
LIVE_RELOAD = re.compile(r"/livereload/[0-9]{1,20}/[0-9]{1,20}")
ANYWHERE = ("0.0.0.0", "::")  # all addresses of this machine
Response = tuple[str, list[tuple[str, str]], Iterable[bytes]]  # status, headers, body


def serve(book: Book, host: str, port: int) -> None:
    """Serve both languages until a signal asks to stop. Raises BookError for an address that cannot be used."""
    server = Server(host, port)
    stopped, ends = (
        socket.socketpair()
    )  # a byte ends it all; a signal writes one, whichever thread the system gives it to
    ends.setblocking(False)
    signal.set_wakeup_fd(ends.fileno())
    for number in STOPS:
        # One that is ignored, as with nohup or in a script's background, stays so; but something must stop us.
        if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            server.run(book, folder)
        except BaseException as error:
            errors.append(error)
        with suppress(OSError):  # nobody listens any more
            ends.send(b"!")

    with temporary_folder() as folder:
        # Nothing is made in this thread: it is free to receive a signal, however long the others are busy.
        threading.Thread(target=run, daemon=True).start()
        stopped.recv(1)
        if server.preview:
            server.preview.edition.over = True
        if server.workbench:
            server.workbench.close()
        stop_all()
    if errors:
        raise errors[0]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for as long as this process lives; and an end to those of processes that were killed."""
    remove_stale_folders()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    with (folder / "new").open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        (folder / "new").rename(folder / OWNER)  # nobody sees it without its lock
        # For the fork server's socket, which is otherwise in a folder of its own that would stay after a kill. The
        # system limits a socket's path to 107 bytes.
        if len(os.fsencode(folder / "listener-12345678")) <= 107:
            current_process()._config["tempdir"] = str(folder)  # type: ignore[attr-defined]
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_stale_folders() -> None:
    """Remove folders whose owner was killed. The owner's lock goes with it, so a lock that can be had says so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode):
                continue
            try:
                with (folder / OWNER).open("rb") as owner:
                    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:
                if time.time() - about.st_mtime < UNOWNED:
                    continue
            shutil.rmtree(folder, ignore_errors=True)


class Handler(_Handler):
    def get_environ(self) -> dict[str, Any]:
        """With the port of the one who asks, by which the system knows whose connection it is."""
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        return environ | {"REMOTE_PORT": str(self.client_address[1])}


class Server(LiveReloadServer):
    """MkDocs' server, which makes browsers load their page again; what it serves is made fresh before it looks."""

    request_queue_size = 1024  # connections that wait to be accepted; a browser with many tabs opens hundreds at once

    def __init__(self, host: str, port: int, preview: Preview | None = None) -> None:
        """Listen at once: requests wait until `serve` answers them. Raises BookError where it cannot listen."""
        self.preview, self.here = preview, threading.local()
        super().__init__(self.edited, host, port, root="", polling_interval=POLL)
        self.serve_thread.daemon = True
        self.RequestHandlerClass = Handler
        self.listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.names = {"localhost", "127.0.0.1", "[::1]", shown.lower()}
        self.url = f"http://{shown}:{self.server_port}/"
        self.workbench: Workbench | None = None

    def listen(self, host: str, port: int) -> None:
        if not host:
            raise BookError("--host: this is empty; give a name or an address, such as localhost")
        if not 0 <= port <= 65535:
            raise BookError(f"--port {port}: there is no such port; choose one up to 65535 (0: any that is free)")
        try:
            # Not HTTPServer's, which asks DNS for this machine's name and may wait for seconds.
            socketserver.TCPServer.server_bind(self)
            super().server_activate()
        except (OSError, UnicodeError) as error:
            self.server_close()
            no_host = isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL
            why = getattr(error, "strerror", error)
            raise BookError(f"{host}:{port}: {why}; choose another with {'--host' if no_host else '--port'}") from None
        self.server_name, self.server_port = host, self.server_address[1]
        self.setup_environ()

    def server_bind(self) -> None:
        """Nothing: `listen` has done it."""

    def server_activate(self) -> None:
        """Nothing: `listen` has done it."""

    def run(self, book: Book, folder: Path) -> None:
        """Make and serve the site, in `folder`."""
        self.preview = Preview(book, folder, self.url)
        for name in WATCHED:
            if (book.root / name).exists():
                self.watch(str(book.root / name))
        self.start_workbench(book, folder)
        print(f"{self.url} (English), {self.url}zh/ (中文); Ctrl-C ends", flush=True)
        self.serve()  # type: ignore[no-untyped-call]

    def start_workbench(self, book: Book, folder: Path) -> None:
        """Let pages judge and run code, unless other machines could ask for it, too."""
        if ipaddress.ip_address(str(self.server_address[0])).is_loopback:
            self.workbench = Workbench(book, folder, self.names, self.server_port)

    def edited(self) -> None:
        """Begin another edition. If nothing that the site is made of has changed, browsers keep the page they show."""
        if not self.preview or not self.preview.edited():
            self._wanted_epoch = self._visible_epoch

    @property
    def root(self) -> str:
        """Where files are, for this request."""
        return str(self.here.root)

    @root.setter
    def root(self, folder: str) -> None:
        self.here.root = folder

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        connection.settimeout(SILENCE)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # that is a browser which has gone or says nothing
            super().handle_error(request, client_address)

    def serve_request(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        status, headers, body = self.bench(environ) or self.refusal(environ) or self.response(environ)
        if environ["REQUEST_METHOD"] == "HEAD":
            if isinstance(body, list) and "Content-Length" not in dict(headers):
                headers = [*headers, ("Content-Length", str(sum(map(len, body))))]
            if hasattr(body, "close"):
                body.close()
            body = []
        start_response(status, headers)
        return body

    def bench(self, environ: dict[str, Any]) -> Response | None:
        """The workbench's answer; it does not exist where other machines can reach this server."""
        if not str(environ["PATH_INFO"]).startswith(WORKBENCH):
            return None
        return self.workbench.response(environ) if self.workbench else plain("404 Not Found")

    def _inject_js_into_html(self, content: bytes, epoch: int) -> bytes:
        """MkDocs puts its script for live reload into each page; and we the workbench's, where it has work."""
        page: bytes = super()._inject_js_into_html(content, epoch)  # type: ignore[no-untyped-call]
        return (
            page.replace(b"</body>", BENCH.encode() + b"</body>", 1)
            if self.workbench and WANTS_BENCH.search(page)
            else page
        )

    def refusal(self, environ: dict[str, Any]) -> Response | None:
        """What is wrong with a request; None if it can be answered."""
        name = re.sub(r":\d*$", "", environ.get("HTTP_HOST", "").lower())
        if not name:
            return plain("400 Bad Request", "The request has no Host header.")
        # A page of another site can have its own name resolve to this machine, and then read what we send it (DNS
        # rebinding). The browser sends that name. An address cannot be made to resolve to another.
        if name not in self.names and not (self.server_name in ANYWHERE and is_address(name)):
            return plain(
                "421 Misdirected Request",
                "This server has another name; `.venv/bin/warpbook serve --host NAME` gives it one.",
            )
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            # A body must be read, or the connection is reset and the answer may be lost.
            length = environ.get("CONTENT_LENGTH") or "0"
            if length.isdecimal():
                environ["wsgi.input"].read(min(int(length), 1 << 20))
            return plain("405 Method Not Allowed", "", ("Allow", "GET, HEAD"))
        if requested_path(environ) is None:
            return plain("400 Bad Request", "This path cannot name a file of the site.")
        return None

    def response(self, environ: dict[str, Any]) -> Response:
        """The file that is asked for, made if need be; or why there is none."""
        path = requested_path(environ)
        assert path and self.preview
        if LIVE_RELOAD.fullmatch(path):
            return self.static(environ) if environ["REQUEST_METHOD"] == "GET" else plain("200 OK")  # the first waits
        if "//" in path or path.startswith("/livereload/"):  # MkDocs would send a browser from //zh to the machine zh
            return plain("404 Not Found")
        address = (f"{path}index.html" if path.endswith("/") else path).lstrip("/")
        while True:
            edition = self.preview.edition
            try:
                folder = edition.fresh(address)
            except PageError as error:
                response = self.explanation(str(error))
            else:
                self.root = str(folder)
                response = self.static(environ) if inside(folder, address) else plain("404 Not Found")
            # Else an old page could say that it is of the new edition, and would not be loaded again.
            if edition is self.preview.edition:
                return response

    def static(self, environ: dict[str, Any]) -> Response:
        """MkDocs' answer."""
        started: list[Any] = []
        body = super().serve_request(environ, lambda *arguments: started.append(arguments))
        status, headers = started[-1]
        return status, headers, body

    def explanation(self, wrong: str) -> Response:
        """A page that says why the one asked for could not be made, and is loaded again after the next edit."""
        with self._epoch_cond:
            self._epoch_cond.wait_for(lambda: self._visible_epoch == self._wanted_epoch)
            epoch = self._visible_epoch
        page = f"<!doctype html><meta charset=utf-8><pre>{html.escape(wrong)}</pre>\n".encode()
        page = self._inject_js_into_html(page, epoch)  # type: ignore[no-untyped-call]
        return "500 Internal Server Error", [("Content-Type", "text/html"), ("Content-Length", str(len(page)))], [page]


def requested_path(environ: dict[str, Any]) -> str | None:
    """The path of a request (/zh/copying/); None for one that is not UTF-8 or could leave the site.

    An encoded slash is a slash by now, so `..` may be anywhere; some systems take a backslash for one, too.
    """
    try:
        path = str(environ["PATH_INFO"]).encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not path.startswith("/") or re.search(r"[\\\x00-\x1f\x7f]", path) or {".", ".."} & set(path.split("/")):
        return None
    return path


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def inside(folder: Path, address: str) -> bool:
    """Whether the file lies in the folder, wherever symbolic links lead."""
    return (folder / address).resolve().is_relative_to(folder.resolve())


def plain(status: str, explanation: str = "", *headers: tuple[str, str]) -> Response:
    """A status and a line of text."""
    body = f"{explanation or status}\n".encode()
    return status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body))), *headers], [body]


class Preview:
    """The present edition of the site."""

    def __init__(self, book: Book, folder: Path, url: str) -> None:
        self.book, self.folder, self.url = book, folder, url
        self.seen = files(book)
        self.edition = Edition(book, folder / "1", url, LANGUAGES[0])

    def edited(self) -> bool:
        """Begin another edition, if anything has changed; whether it has."""
        now = files(self.book)
        if now == self.seen:
            return False  # Python's caches, an editor's spare copy
        self.seen = now
        before = self.edition
        number = int(before.folder.name) + 1
        self.edition = Edition(self.book, self.folder / str(number), self.url, before.asked)
        threading.Thread(target=before.end, daemon=True).start()
        shutil.rmtree(self.folder / str(number - 2), ignore_errors=True)  # of the last, something may be on its way
        return True


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
        self.builders = {language: PageBuilder(book, language, self.pages, url)}
        self.jobs: list[Job] = []
        self.reported: set[str] = set()
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
            if language not in self.builders and not self.over:
                self.builders[language] = PageBuilder(self.book, language, self.pages, self.url)
            self.asked, builder = language, self.builders.get(language)
        if self.complete or not builder:
            return self.whole
        start = time.monotonic()
        made, wrong = builder.make(address.removeprefix(PLACES[language]).lstrip("/"), self.report)
        if wrong and Path(address).suffix in ("", ".html"):
            self.report(wrong)
            raise PageError(wrong)
        if made is False:
            self.settled.wait()  # it may be made of all pages together
            return self.whole
        if made and address.endswith(".html"):
            shown = "/" + address.removesuffix("index.html")
            self.report(f"{shown} in {time.monotonic() - start:.1f} s")
        return self.pages

    def report(self, line: str) -> None:
        """A line for the terminal, once in an edition, whether one page is made or all."""
        if not self.over and line not in self.reported:
            self.reported.add(line)
            print(line, flush=True)

    def build(self) -> None:
        """The whole site, both languages side by side, once nobody edits or waits for a page."""
        time.sleep(PAUSE)
        while any(builder.lock.locked() for builder in list(self.builders.values())):
            time.sleep(PAUSE)
        start = time.monotonic()
        with self.lock:
            if self.over:
                return
            try:
                self.jobs = [Job(gently, self.book, language, self.whole, self.url) for language in LANGUAGES]
            except (OSError, EOFError) as gone:  # the fork server is gone, as when a terminal is closed
                self.report(f"the whole site is not built: {gone}")
                self.settled.set()
                return
        wrong = [error for job in self.jobs if (error := job.outcome(self.report))]
        for error in wrong:
            self.report(error)
        if not wrong:
            pages = sum(1 for _ in self.whole.rglob("index.html"))
            self.report(f"all {pages} pages in {time.monotonic() - start:.1f} s")
            self.complete = True
        self.settled.set()

    def end(self) -> None:
        with self.lock:
            self.over = True
        for builder in self.builders.values():
            builder.stop()
        for job in self.jobs:
            job.stop()
        self.settled.set()


def gently(report: Report, book: Book, language: str, root: Path, url: str) -> None:
    """Build without holding up the page that is asked for meanwhile."""
    os.nice(10)
    build_into(report, book, language, root, strict=False, url=url)
