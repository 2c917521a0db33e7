"""A process that builds single files of the site: a page with all that is around it, without building the others."""

from __future__ import annotations

import os
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from mkdocs.commands.build import _build_page, _populate_page
from mkdocs.exceptions import MkDocsException
from mkdocs.structure.files import get_files, set_exclusions
from mkdocs.structure.nav import get_navigation
from mkdocs.structure.pages import Page

from warpbook import reads
from warpbook.book import CONFIGS, PLACES, Book, BookError, explain
from warpbook.site.builder import Report, begin, configuration, messages, processes, stop


class PageBuilder:
    """Builds files of one language of the book as it was when this began."""

    def __init__(self, book: Book, language: str, root: Path, url: str) -> None:
        self.language, self.lock = language, threading.Lock()
        self.pipe, theirs = processes().Pipe()
        self.process = processes().Process(
            target=work, args=(theirs, dict(os.environ), book, language, root, url), daemon=True
        )
        self.process.start()
        theirs.close()

    def make(self, address: str, report: Report) -> tuple[bool | None, str]:
        """Make the file `address` (models/attention/index.html).

        Returns whether it is made, None if it was before, False if there is no such file; and what is wrong with it.
        """
        with self.lock:
            try:
                self.pipe.send(address)
                while True:
                    kind, said = self.pipe.recv()
                    if kind == "end":
                        return said[0], said[1]
                    report(str(said))
            except (EOFError, OSError):
                return True, f"the process that builds pages ({self.language}) has ended"

    def stop(self) -> None:
        stop(self.process)


def work(pipe: Connection, environment: dict[str, str], book: Book, language: str, root: Path, url: str) -> None:
    """What the process does: answer each address with (whether it is a file of the site, what is wrong)."""
    begin(environment)
    with messages(lambda line: pipe.send(("line", line)), book, language), reads.settled():
        stage, broken = None, ""
        try:
            stage = Stage(book, language, root / PLACES[language], url)
        except BaseException as error:  # MkDocs' Abort is a SystemExit
            broken = explained(error, language)
        while True:
            try:
                address = pipe.recv()
            except EOFError:
                return
            made: bool | None = True
            wrong = broken
            try:
                made = stage.make(address) if stage else True
            except BaseException as error:
                wrong = explained(error, language)
            pipe.send(("end", (made, wrong)))


def explained(error: BaseException, language: str) -> str:
    """One line for bad input; the traceback of anything else."""
    if isinstance(error, MkDocsException):
        return f"{CONFIGS[language]}: {error}"
    if isinstance(error, OSError):
        return explain(error)
    if isinstance(error, Exception):
        return str(error) if isinstance(error, BookError) else traceback.format_exc()
    raise error


class Stage:
    """All of a build but its pages: MkDocs' steps of `build`, up to where it reads them. Raises what they raise."""

    def __init__(self, book: Book, language: str, site: Path, url: str) -> None:
        self.site = site
        config = configuration(book, language, site, strict=False, url=url)
        config = config.plugins.on_config(config)
        config.plugins["material/search"].config.enabled = False  # the index is of all pages
        config.plugins.on_pre_build(config=config)
        files = get_files(config)
        self.env = config.theme.get_env()
        files.add_files_from_theme(self.env, config)
        self.files = config.plugins.on_files(files, config=config)
        set_exclusions(self.files, config)
        self.nav = config.plugins.on_nav(get_navigation(self.files, config), config=config, files=self.files)
        self.pages = self.files.documentation_pages()
        for file in self.pages:
            if file.page is None:
                Page(None, file, config)  # which takes its place in the file
        self.config = config
        self.at = {file.dest_uri: file for file in self.files if file.inclusion.is_included()}

    def make(self, address: str) -> bool | None:
        """Make one file of the site; False if there is no such file, or it is made of all pages together."""
        path = (self.site / address).resolve()
        if not path.is_relative_to(self.site.resolve()):
            return False
        if os.path.isfile(path):  # Path.is_file raises if the name is too long
            return None
        file = self.at.get(address) or self.at.get(f"{address}/index.html".lstrip("/"))
        if file is None:
            return False
        if file.page is None:
            file.copy_file()
            return True
        _populate_page(file.page, self.config, self.files)
        self.env = self.config.plugins.on_env(self.env, config=self.config, files=self.files)
        _build_page(file.page, self.config, self.pages, self.nav, self.env)
        return True
