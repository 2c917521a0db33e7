"""Write several files as one: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from warpbook.book import write_bytes


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write each path's content; if one cannot be written, or we are stopped, everything is as it was before.

    What needs room is written first, beside its place: new contents, and copies of the old ones. Raises OSError, which
    names the path.
    """
    folders = {folder for path in files for folder in path.parents if not folder.exists()}
    new = {path: path.with_name(f".{path.name}.new-{os.getpid()}") for path in files}
    old = {path: path.with_name(f".{path.name}.old-{os.getpid()}") for path in files if path.exists()}
    try:
        for path, content in files.items():
            write_as(path, new[path], content)
        for path, kept in old.items():
            write_as(path, kept, path.read_bytes())
        for path, ready in new.items():
            os.replace(ready, path)
    except BaseException:
        for path in files:
            with suppress(OSError):
                if path not in old:
                    path.unlink(missing_ok=True)
                elif not new[path].exists():  # it was replaced
                    os.replace(old[path], path)
        remove([*new.values(), *old.values()])
        for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
            with suppress(OSError):  # it was not made, or somebody else has put something into it
                folder.rmdir()
        raise
    remove(list(old.values()))


def write_as(path: Path, beside: Path, content: bytes) -> None:
    """Write `content` to `beside`; what fails is said of `path`."""
    try:
        write_bytes(beside, content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def remove(paths: list[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink(missing_ok=True)
