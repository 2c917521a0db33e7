"""Build both languages, side by side: English at the root, Chinese under zh/. `preview` serves them."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import active_children, forkserver, get_context, parent_process, resource_tracker, util
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.blocks import ends
from warpbook.book import CONFIGS, DEVELOPERS, LANGUAGES, PLACES, Book, BookError, explain
from warpbook.exports import downloads
from warpbook.source import allowed_html

SITE_URL = "https://warpbook.example/"
# What every process of a build imports, imported once. Nothing of warpbook itself: `serve` outlives edits of it.
SHARED = (
    "jieba",
    "material.plugins.search.plugin",
    "mkdocs.commands.build",
    "mkdocs.contrib.search",
    "mkdocs_jupyter.plugin",
    "pymdownx.superfences",
    "pytest_codeblocks",
)
Report = Callable[[str], None]


def build(book: Book, output: Path, strict: bool = True) -> Path:
    """Build the site into `output`, which stays as it was if anything is wrong.

    Raises BookError, too, where `output` holds anything else than a site that this function built.
    """
    from warpbook.site import style

    check_replaceable(book, output)
    output = output.resolve()  # "." has neither a name nor a parent
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as folder:
        new = Path(folder, "new")
        jobs = [Job(build_into, book, language, new, strict) for language in LANGUAGES]
        shown: set[str] = set()

        def report_once(line: str) -> None:  # both languages may find the same
            if line not in shown:
                shown.add(line)
                report(line)

        try:
            wrong = list(dict.fromkeys(error for job in jobs if (error := job.outcome(report_once))))
        finally:
            for job in jobs:
                job.stop()
        if wrong:
            raise BookError("\n".join(wrong))
        try:
            style.trim(new)
        except OSError as error:
            raise BookError(explain(error, new)) from error
        check_replaceable(book, output)  # the build took a while
        replace(output, new, Path(folder, "old"))
    return output


def replace(output: Path, new: Path, old: Path) -> None:
    """Put `new` where `output` is, and `output` where `old` is; if that fails, `output` is back in its place."""
    if output.exists():
        output.rename(old)
    try:
        new.rename(output)
    except BaseException:
        if old.exists():
            old.rename(output)
        raise


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def build_into(report: Report, book: Book, language: str, root: Path, strict: bool, url: str | None = None) -> None:
    """Build one language where it belongs in a whole site."""
    try:
        build_language(book, language, root / PLACES[language], strict, url, report)
    except OSError as error:
        raise BookError(explain(error, root)) from error


def build_language(
    book: Book, language: str, output: Path, strict: bool, url: str | None = None, report: Report = report
) -> None:
    """Build one language, for `url` if it is only served. `report` is given each warning as a line."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.exceptions import Abort, MkDocsException

    with messages(report, book, language) as log, reads.settled():
        try:
            config = configuration(book, language, output, strict, url)
            build_site(config)
            config.plugins.on_shutdown()
        except Abort:
            raise BookError(f"{CONFIGS[language]}: {len(log.reported)} warnings above; nothing was built") from None
        except MkDocsException as error:
            raise BookError(f"{CONFIGS[language]}: {error}") from None


def configuration(book: Book, language: str, output: Path, strict: bool, url: str | None) -> Any:
    """MkDocs' configuration of one language. Raises MkDocs' own errors."""
    from mkdocs.config import load_config

    base = (url or os.environ.get("SITE_URL") or SITE_URL).rstrip("/") + "/"
    place = f"{PLACES[language]}/" if PLACES[language] else ""
    file = str(book.root / CONFIGS[language])
    config = load_config(file, strict=strict, site_dir=str(output), site_url=base + place)
    config.extra["serving"] = url is not None
    return config


# What MkDocs says of navigation, which the plugin says with file and line; and of links, without language and line.
NAVIGATION = re.compile(
    r"A reference to '.*which is not found|The following pages exist in the docs directory", re.DOTALL
)
LINK = re.compile(r"Doc file '(?P<page>[^']+)' contains (?:an? )?(?P<said>.*?link '(?P<link>[^']*)'.*)", re.DOTALL)


class Lines(logging.Handler):
    """Warnings as plain lines, each once: several pages may lack the same record."""

    def __init__(self, report: Report, book: Book, language: str) -> None:
        super().__init__(logging.WARNING)
        self.report, self.book, self.language = report, book, language
        self.reported: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if NAVIGATION.match(said) and record.name == "mkdocs.structure.nav":
            return
        if said not in self.reported:
            self.reported.add(said)
            found = LINK.fullmatch(said)
            self.report(self.located(found) if found else self.format(record))

    def located(self, link: re.Match[str]) -> str:
        """A broken link as docs/zh/a/b.md:12: …"""
        folder = self.book.docs if link["page"].startswith(f"{DEVELOPERS}/") else self.book.docs / self.language
        path = folder / link["page"]
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError:
            lines = []
        number = next((f":{i}" for i, line in enumerate(lines, 1) if f"]({link['link']}" in line), "")
        return f"{self.book.relative(path)}{number}: {link['said']}"


@contextmanager
def messages(report: Report, book: Book, language: str) -> Iterator[Lines]:
    log, lines = logging.getLogger("mkdocs"), Lines(report, book, language)
    log.addHandler(lines)
    log.setLevel(logging.INFO)  # a strict build counts warnings on this logger
    log.propagate = False
    try:
        yield lines
    finally:
        log.removeHandler(lines)


# -- where a site may be written ---------------------------------------------------------------------------------------

# Beside pages and what docs/en holds. A built site has no marker, which would be published with it.
PARTS = {
    "404.html",
    "assets",
    "feed.xml",
    "llms.txt",
    "notebooks",
    "records",
    "robots.txt",
    "search",
    "search.json",  # Zensical's
    "sitemap.xml",
    "sitemap.xml.gz",
    "snippets",
    *PLACES.values(),
}
NAMED_OTHERWISE = {"assets", "notebooks", "records", "search", "snippets"}  # files there are not called as pages are
COPIES = {".html", ".ipynb", ".md"}  # of a page, beside it
KINDS = COPIES | allowed_html.words(".css .cu .gz .js .json .pdf .py .toml .xml .zip") | allowed_html.FILES
SOURCES = (
    *(".ci", ".git", ".github", ".venv", "bench", "docs", "exercises", "my", "node_modules"),
    *("records", "snippets", "softcuda", "tests", "theme", "tools", "warpbook"),
)


def check_replaceable(book: Book, output: Path, is_built: Callable[[Path], bool] = downloads.is_built) -> None:
    """Raise BookError unless a site may be written to `output`: it is absent, an empty folder or a built site.

    A built site to which somebody has added a file or a folder is refused, since the next build would delete it.
    """
    name, resolved = book.relative(output), output.resolve()
    if output.is_symlink():
        raise BookError(f"{name}: a symbolic link; give --output the folder it points to, {resolved}")
    for place, what in ((book.root, "the repository"), (home(), "your home folder")):
        if place and place.resolve().is_relative_to(resolved):
            raise BookError(f"{resolved}: is or contains {what}; choose a new folder as --output")
    for source in SOURCES:
        if resolved.is_relative_to((book.root / source).resolve()):
            raise BookError(f"{name}: lies in {source}/, among the book's sources; choose another --output")
    if not resolved.parent.is_dir():
        raise BookError(f"{name}: there is no folder {output.parent}; create it, or choose another --output")
    if not output.exists():
        return
    if not output.is_dir():
        raise BookError(f"{name}: a file; choose a new folder as --output")
    if not any(output.iterdir()):
        return
    if not is_built(output):
        raise BookError(f"{name}: is not empty, and holds no site built by Warpbook; choose another --output")
    if added := added_to(book, output):
        raise BookError(f"{name}/{added}: is no part of the site, and would be deleted; move it away first")


def home() -> Path | None:
    """The user's home folder; None for a user without one, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def added_to(book: Book, site: Path) -> str:
    """The first file or folder in a built site that no build puts there, from its root; or nothing.

    A build publishes pages, their copies, and files of a few kinds; it writes no links and no hidden files.
    """
    addresses = [
        address
        for place in PLACES.values()
        if (site / place / "sitemap.xml").is_file()
        for address in re.findall(
            r"<loc>([^<]*)</loc>", (site / place / "sitemap.xml").read_text("utf-8", errors="replace")
        )
    ]
    start = min(addresses, key=len, default="")
    pages = {address.removeprefix(start).strip("/") for address in addresses} | set(PLACES.values())
    names = {page.split("/")[0] for page in pages}
    known = PARTS | {f"{name or 'index'}{ending}" for name in names for ending in ("", *COPIES)}
    known |= {ends.ARCHIVE, *map(ends.pdf_name, LANGUAGES), *(path.name for path in (book.docs / "en").glob("*"))}
    for path in sorted(site.iterdir()):
        if path.name not in known:
            return path.name
    for path in sorted(site.rglob("*")):
        place = path.relative_to(site)
        inner = place.parts[1:] if place.parts[0] in PLACES.values() else place.parts
        known_kind = path.is_dir() or path.suffix.lower() in KINDS or inner[0] == "assets"  # the theme's, too
        if path.is_symlink() or path.name.startswith(".") or not known_kind:
            return place.as_posix()
        if path.suffix in COPIES and path.is_file() and {*inner[:1]}.isdisjoint({*NAMED_OTHERWISE, "404.html"}):
            page = place.parent if place.stem == "index" else place.with_suffix("")
            if ("" if page == Path() else page.as_posix()) not in pages:
                return place.as_posix()
    return ""


# -- processes ---------------------------------------------------------------------------------------------------------


# A process of ours is a child of multiprocessing's fork server and leads a session of its own. It ends when `stop` asks
# for it, and, with all that it has started, when the process that began it is gone, even if that one was killed.

GRACE = 0.25  # seconds that a process has to end by itself


def processes() -> ForkServerContext:
    """Processes that begin with MkDocs and its plugins imported."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(SHARED))
    shorten_socket_paths()
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C is ours: not for one that still imports
    try:
        forkserver._forkserver.ensure_running()  # type: ignore[attr-defined]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def shorten_socket_paths() -> None:
    """Let the fork server's socket lie in /tmp where TMPDIR is too long: the system limits its path to 107 bytes."""
    if len(os.fsencode(tempfile.gettempdir())) + len("/pymp-12345678/listener-12345678") > 107:
        kept, tempfile.tempdir = tempfile.tempdir, "/tmp"
        try:
            util.get_temp_dir()  # made once, and removed when this process ends
        finally:
            tempfile.tempdir = kept


class Job:
    """A process that runs `work(report, *arguments)`; what it reports, and what becomes of it, comes through a pipe."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        context = processes()
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(
            target=run, args=(theirs, dict(os.environ), work, arguments), daemon=True
        )
        self.process.start()
        theirs.close()

    def outcome(self, report: Report) -> str:
        """Wait for the end and pass on what it says; what went wrong, or nothing."""
        try:
            while True:
                kind, text = self.pipe.recv()
                if kind == "end":
                    return str(text)
                report(str(text))
        except (EOFError, OSError):
            self.process.join()
            return f"a process of the build ended by itself (exit status {self.process.exitcode})"

    def stop(self) -> None:
        stop(self.process)


def run(
    pipe: Connection, environment: dict[str, str], work: Callable[..., None], arguments: tuple[object, ...]
) -> None:
    begin(environment)
    try:
        work(lambda line: pipe.send(("line", line)), *arguments)
    except BookError as error:
        pipe.send(("end", str(error)))
    except OSError as error:
        pipe.send(("end", explain(error)))
    except Exception:
        pipe.send(("end", traceback.format_exc()))
    else:
        pipe.send(("end", ""))
    finally:  # however it ends: what it has started must not outlive it
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)  # it leads a group from `begin` on


def stop(*children: BaseProcess) -> None:
    """End processes, together: each may tidy up for GRACE seconds, then it is killed with all that it has started."""
    for process in children:
        process.terminate()
    end = time.monotonic() + GRACE
    for process in children:
        process.join(max(0, end - time.monotonic()))
    for process in children:
        # 255 also stands for one of which nothing is known: the fork server has been killed.
        if process.pid and process.exitcode in (None, 255):
            for kill in (os.killpg, os.kill):  # it leads a group from `begin` on
                with suppress(ProcessLookupError):
                    kill(process.pid, signal.SIGKILL)
            process.join(GRACE)


def stop_all() -> None:
    """End every process that this one has begun, and the fork server, at once: this process is about to end, too."""
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    with server._lock:  # a thread that begins a process now would start another one
        server.ensure_running = refuse_to_start
    stop(*active_children())
    # Else it ends only after its imports, and until it is given a processor nobody hears that a child has ended.
    if server._forkserver_pid:
        with suppress(ProcessLookupError):
            os.kill(server._forkserver_pid, signal.SIGKILL)


def refuse_to_start() -> None:
    raise OSError("this process is about to end")


def begin(environment: dict[str, str]) -> None:
    """In a new process: take the parent's environment, leave Ctrl-C to it, and end at its word with no half file."""
    os.environ.clear()  # of the day when the first process was made
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.setsid()
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Wait until the process that asked for this one is gone; then end, and with it what it has started."""
    parent = parent_process()
    assert parent
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)
