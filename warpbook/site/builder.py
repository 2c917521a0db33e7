"""Build both languages, side by side: English at the root, Chinese under zh/. `preview` serves them."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from warpbook.book import CONFIGS, LANGUAGES, PLACES, Book, BookError

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
Tell = Callable[[str], None]


def build(book: Book, output: Path, strict: bool = True) -> Path:
    """Build the site into `output`, which stays as it was if anything is wrong."""
    from warpbook.site import style

    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as folder:
        new = Path(folder, "new")
        jobs = [Job(build_into, book, language, new, strict) for language in LANGUAGES]
        try:
            wrong = [error for job in jobs if (error := job.outcome(tell))]
        finally:
            for job in jobs:
                job.stop()
        if wrong:
            raise BookError("\n".join(wrong))
        style.trim(new)
        if output.exists():
            output.rename(Path(folder, "old"))
        new.rename(output)
    return output


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def build_into(tell: Tell, book: Book, language: str, root: Path, strict: bool, url: str | None = None) -> None:
    """Build one language where it belongs in a whole site."""
    build_language(book, language, root / PLACES[language], strict, url, tell)


def build_language(
    book: Book, language: str, output: Path, strict: bool, url: str | None = None, tell: Tell = tell
) -> None:
    """Build one language, for `url` if it is only served. `tell` is given each warning as a line."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.exceptions import Abort, MkDocsException

    with messages(tell) as log:
        try:
            config = configuration(book, language, output, strict, url)
            build_site(config)
            config.plugins.on_shutdown()
        except Abort:
            raise BookError(f"{CONFIGS[language]}: {len(log.told)} warnings above; nothing was built") from None
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


class Lines(logging.Handler):
    """Warnings as plain lines, each once: several pages may lack the same record."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.WARNING)
        self.tell = tell
        self.told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self.told:
            self.told.add(record.getMessage())
            self.tell(self.format(record))


@contextmanager
def messages(tell: Tell) -> Iterator[Lines]:
    import jieba

    jieba.setLogLevel(logging.WARNING)  # it says otherwise how long its dictionary took
    log, lines = logging.getLogger("mkdocs"), Lines(tell)
    log.addHandler(lines)
    log.setLevel(logging.INFO)  # a strict build counts warnings on this logger
    log.propagate = False
    try:
        yield lines
    finally:
        log.removeHandler(lines)


# -- processes ---------------------------------------------------------------------------------------------------------


def processes() -> ForkServerContext:
    """Processes that begin with MkDocs and its plugins imported."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(SHARED))
    return context


class Job:
    """A process that runs `work(tell, *arguments)`; what it tells, and what becomes of it, comes through a pipe."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        context = processes()
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(
            target=run, args=(theirs, dict(os.environ), work, arguments), daemon=True
        )
        self.process.start()
        theirs.close()

    def outcome(self, tell: Tell) -> str:
        """Wait for the end, passing on what is told; what went wrong, or nothing."""
        try:
            while True:
                kind, text = self.pipe.recv()
                if kind == "end":
                    return str(text)
                tell(str(text))
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
    except Exception:
        pipe.send(("end", traceback.format_exc()))
    else:
        pipe.send(("end", ""))


def stop(process: BaseProcess) -> None:
    process.terminate()
    process.join(1)
    process.kill()  # one that would not end
    process.join()


def begin(environment: dict[str, str]) -> None:
    """In a new process: take the parent's environment, leave Ctrl-C to it, and end at its word with no half file."""
    os.environ.clear()  # of the day when the first process was made
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
