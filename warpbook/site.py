"""Build and serve both languages: English at the root, Chinese under zh/."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.livereload import LiveReloadServer

from warpbook.book import LANGUAGES, Book, BookError

CONFIGS = {"en": "mkdocs.yml", "zh": "mkdocs.zh.yml"}
PLACES = {"en": "", "zh": "zh"}
SITE_URL = "https://warpbook.example/"
WATCHED = ("docs", "snippets", "records", "theme", "mkdocs.yml", "mkdocs.zh.yml", "warpbook")


def build(book: Book, output: Path, strict: bool = True) -> Path:
    """Build the site into `output`, which stays as it was if anything is wrong."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as folder:
        new = Path(folder, "new")
        for language in LANGUAGES:
            build_language(book, language, new / PLACES[language], strict)
        if output.exists():
            output.rename(Path(folder, "old"))
        new.rename(output)
    return output


def build_language(book: Book, language: str, output: Path, strict: bool, url: str | None = None) -> None:
    base = (url or os.environ.get("SITE_URL") or SITE_URL).rstrip("/") + "/"
    place = f"{PLACES[language]}/" if PLACES[language] else ""
    with messages() as log:
        try:
            config = load_config(
                str(book.root / CONFIGS[language]), strict=strict, site_dir=str(output), site_url=base + place
            )
            config.extra["serving"] = url is not None
            build_site(config)
            config.plugins.on_shutdown()
        except Abort:
            raise BookError(f"{CONFIGS[language]}: {len(log.told)} warnings above; nothing was built") from None
        except MkDocsException as error:
            raise BookError(f"{CONFIGS[language]}: {error}") from None


class Lines(logging.StreamHandler):  # type: ignore[type-arg]
    """Warnings as plain lines on stderr, each once: several pages may lack the same record."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)
        self.told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self.told:
            self.told.add(record.getMessage())
            super().emit(record)


@contextmanager
def messages() -> Iterator[Lines]:
    logging.getLogger("jieba").setLevel(logging.WARNING)
    log, lines = logging.getLogger("mkdocs"), Lines()
    log.addHandler(lines)
    log.setLevel(logging.INFO)  # a strict build counts warnings on this logger
    log.propagate = False
    try:
        yield lines
    finally:
        log.removeHandler(lines)


def serve(book: Book, host: str, port: int) -> None:
    """Serve both languages until interrupted, building again what an edit touches."""
    start = time.monotonic()
    try:
        socket.create_server((host, port)).close()  # before the builds, which take seconds
    except OSError as error:
        raise BookError(f"{host}:{port}: {error.strerror}; choose another with --port") from None
    with tempfile.TemporaryDirectory(prefix="warpbook-site-") as folder:
        root, kept = Path(folder, "site"), Path(folder, "built")
        url = f"http://{host}:{port}/"
        seen: dict[str, float] = {}

        def rebuild() -> None:
            now = {name: newest(book.root / name) for name in (*WATCHED, *(f"docs/{x}" for x in LANGUAGES))}
            changed = {name for name, when in now.items() if seen.get(name) != when}
            seen.update(now)
            for language in LANGUAGES:
                if changed <= {"docs", *(f"docs/{x}" for x in LANGUAGES if x != language)}:
                    continue  # only another language's pages were edited
                try:
                    build_language(book, language, kept / language, strict=False, url=url)
                    shutil.copytree(kept / language, root / PLACES[language], dirs_exist_ok=True)
                except BookError as error:
                    print(error, flush=True)

        server = LiveReloadServer(builder=rebuild, host=host, port=port, root=str(root), mount_path="/")
        rebuild()
        for name in WATCHED:
            if (book.root / name).exists():
                server.watch(str(book.root / name))
        print(f"ready in {time.monotonic() - start:.1f} s: {url} (English), {url}zh/ (中文); Ctrl-C ends", flush=True)
        try:
            server.serve()  # type: ignore[no-untyped-call]
        finally:
            server.shutdown()


def newest(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return max((f.stat().st_mtime for f in files if f.exists() and "__pycache__" not in f.parts), default=0.0)
