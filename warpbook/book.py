"""Where things lie, and the one kind of error a reader of messages should see."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")
BOOKS = {"en": "Warpbook", "zh": "线程束手册"}
CONFIGS = {"en": "mkdocs.yml", "zh": "mkdocs.zh.yml"}  # MkDocs'
PLACES = {"en": "", "zh": "zh"}  # of a language's home page, below the site's
SOFTCUDA = "softcuda"
DEVELOPERS = "developers"  # under docs/ and on the English site: pages for contributors, no articles
PRIMARY = "nvidia-h200"  # the device whose numbers the pages quote


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
        return sorted((self.docs / language).rglob("*.md"))

    def developers(self) -> list[Path]:
        """The contributors' pages, which are in English only and no articles."""
        return sorted((self.docs / DEVELOPERS).glob("*.md"))

    def in_reading_order(self, language: str) -> list[Path]:
        """The pages that the site's navigation lists, in its order; all pages where there is no navigation."""
        config = self.root / "mkdocs.yml"
        listed = (
            re.findall(r"^ +- .*?: *([\w/-]+\.md) *$", config.read_text("utf-8"), re.MULTILINE)
            if config.exists()
            else []
        )
        paths = [self.docs / language / name for name in listed]
        return [path for path in paths if path.exists()] or self.pages(language)

    def page_of(self, article: str, language: str) -> Path | None:
        """The page called `article` (its file's stem), or None."""
        found = [p for p in self.pages(language) if p.stem == article]
        if len(found) > 1:
            raise BookError(
                f'{self.relative(found[1])}: article "{article}" is also {self.relative(found[0])}; '
                "an article's name is its file's, so rename one"
            )
        return found[0] if found else None

    def programs(self, article: str) -> list[Path]:
        """What everybody runs: snippets/<article>/*.py, but for modules whose name starts with `_`."""
        return sorted(p for p in (self.snippets / article).glob("*.py") if not p.name.startswith("_"))

    def articles(self) -> list[str]:
        """Names of everything that can have a record: pages other than home, and folders of programs."""
        pages = {p.stem for language in LANGUAGES for p in self.pages(language)} - {"index"}
        folders = {p.parent.name for p in self.snippets.glob("*/*.py")}
        return sorted(pages | folders)


def here() -> Book:
    """The book this package belongs to (it is installed in place)."""
    return Book(Path(__file__).resolve().parent.parent)


def write_text(path: Path, text: str) -> None:
    """Replace `path` in one step: whoever reads it sees the old text or the new, never a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)  # mkstemp makes files private
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_json(path: Path, data: Any) -> None:
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
