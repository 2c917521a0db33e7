"""Where things lie, and the one kind of error a reader of messages should see."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from warpbook import reads

LANGUAGES = ("en", "zh")
BOOKS = {"en": "Warpbook", "zh": "线程束手册"}
CONFIGS = {"en": "mkdocs.yml", "zh": "mkdocs.zh.yml"}  # MkDocs'
PLACES = {"en": "", "zh": "zh"}  # of a language's home page, below the site's
SOFTCUDA = "softcuda"
CPU = "cpu"  # where claims about CPUs are listed; what programs measured of one is in softcuda's records
DEVELOPERS = "developers"  # under docs/ and on the English site: pages for contributors, no articles
PRIMARY = "nvidia-h200"  # the device whose numbers the pages quote


NO_ROOM = "; free some space, or write to another disk"
NOT_OURS = "; choose a place where you may write"
ADVICE = {  # by the error's number
    errno.EACCES: NOT_OURS,
    errno.EDQUOT: NO_ROOM,
    errno.EFBIG: "; raise the limit of file sizes (ulimit -f)",
    errno.ENOSPC: NO_ROOM,
    errno.EPERM: NOT_OURS,
    errno.EROFS: NOT_OURS,
}


class BookError(Exception):
    """Bad input. Its text is one line: where, what, what to do."""


@dataclass(frozen=True)
class Book:
    """The repository: every path below is derived from `root`."""

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def snippets(self) -> Path:
        return self.root / "snippets"

    @property
    def records(self) -> Path:
        return self.root / "records"

    def relative(self, path: Path) -> str:
        """`path` as messages and records write it: from the root, with forward slashes."""
        if path.is_relative_to(self.root) and ".." not in path.parts:  # nearly always, and no disk is asked
            return path.relative_to(self.root).as_posix()
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.as_posix()

    def pages(self, language: str) -> list[Path]:
        return list(pages_in(self.docs / language))

    def navigation(self, language: str) -> list[tuple[str, str | list[tuple[str, str]]]]:
        """The site's navigation, if there is one: (title, page), or (title, [(title, page), …]) of a section."""
        config = self.root / CONFIGS[language]
        if not reads.exists(config):
            return []
        try:
            return navigation(reads.text(config))
        except (yaml.YAMLError, AttributeError, ValueError) as error:
            raise BookError(f"{config.name}: nav: {' '.join(str(error).split())}") from None

    def developers(self) -> list[Path]:
        """The contributors' pages, which are in English only and no articles."""
        return reads.listed(self.docs / DEVELOPERS, "*.md")

    def in_reading_order(self, language: str) -> list[Path]:
        """The pages that the site's navigation lists, in its order; all pages where there is no navigation."""
        listed = [
            page for _, one in self.navigation("en") for _, page in ([("", one)] if isinstance(one, str) else one)
        ]
        paths = [self.docs / language / name for name in listed]
        return [path for path in paths if reads.exists(path)] or self.pages(language)

    def page_of(self, article: str, language: str) -> Path | None:
        """The page called `article` (its file's stem), or None."""
        found = by_article(self.docs / language).get(article, [])
        if len(found) > 1:
            raise BookError(
                f'{self.relative(found[1])}: article "{article}" is also {self.relative(found[0])}; '
                "an article's name is its file's, so rename one"
            )
        return found[0] if found else None

    def programs(self, article: str) -> list[Path]:
        """What everybody runs: snippets/<article>/*.py, but for modules whose name starts with `_`."""
        return [p for p in reads.listed(self.snippets / article, "*.py") if not p.name.startswith("_")]

    def articles(self) -> list[str]:
        """Names of everything that can have a record: pages other than home, and folders of programs."""
        return list(articles_of(self))


@reads.remembered
def pages_in(folder: Path) -> list[Path]:
    return reads.listed(folder, "**/*.md")


@reads.remembered
def by_article(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in pages_in(folder):
        found.setdefault(path.stem, []).append(path)
    return found


@reads.remembered
def articles_of(book: Book) -> list[str]:
    pages = {p.stem for language in LANGUAGES for p in book.pages(language)} - {"index"}
    # The judge's is a package, beside warpbench.py.
    packages = {p.parent.name for p in reads.listed(book.snippets, "*/__init__.py")}
    folders = {p.parent.name for p in reads.listed(book.snippets, "*/*.py")} - packages
    return sorted(pages | folders)


@lru_cache(maxsize=8)
def navigation(config: str) -> list[tuple[str, str | list[tuple[str, str]]]]:
    """`nav` of MkDocs' configuration."""
    out: list[tuple[str, str | list[tuple[str, str]]]] = []
    for entry in (yaml.safe_load(config) or {}).get("nav") or []:
        for title, pages in entry.items():
            out.append((title, pages if isinstance(pages, str) else [item for page in pages for item in page.items()]))
    return out


def here() -> Book:
    """The book this package belongs to (it is installed in place)."""
    return Book(Path(__file__).resolve().parent.parent)


def write_text(path: Path, text: str) -> None:
    """Replace `path` in one step: a reader sees the old text or the new, never a half."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` in one step, as `write_text` does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(name, 0o644)  # mkstemp makes files private
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error  # a failed write does not know where


def write_cache(path: Path, data: Any) -> None:
    """Keep what can be made again for the next build; a checkout that is read-only, or a full disk, keeps nothing."""
    with suppress(OSError):
        write_json(path, data)


def explain(error: OSError, place: str | Path = "") -> str:
    """What the system refused, where (`place` if the error does not know), and what to do, in one line."""
    where = error.filename2 or error.filename or place
    said = error.strerror or (str(error).splitlines() or [type(error).__name__])[0]
    named = f"{os.fsdecode(where)}: " if where and isinstance(where, str | bytes | os.PathLike) else ""
    return f"{named}{said}{ADVICE.get(error.errno or 0, '')}"


def write_json(path: Path, data: Any) -> None:
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
