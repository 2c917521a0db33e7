"""Keep the libraries of a build in the user's cache, so that the same sources are compiled once.

    python tools/keep_build.py find INPUT...                        print the folder for these inputs
    python tools/keep_build.py keep FOLDER LIBRARY... -- INPUT...   copy the libraries into it

An INPUT is a file or a folder, which counts with its content, a program (the compiler), which counts with what it says
of itself, or any other word.  The machine and its C library count, too: a home folder may be shared.  `keep` does
nothing if the inputs have changed since `find`: a source was edited while it was compiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KEPT = 6  # builds; the oldest go


def files_of(word: str) -> list[Path]:
    path = Path(word)
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return [path] if path.is_file() else []


def describe(word: str, file: Path) -> bytes:
    """What counts of a file: of a program, such as the compiler, what it says of itself."""
    if os.access(file, os.X_OK) and file.suffix == "":
        done = subprocess.run([file, "--version"], capture_output=True, env=os.environ | {"LC_ALL": "C"})
        return done.stdout.partition(b" ")[2]  # its first word is the name that it was called by: c++ or g++
    return os.path.relpath(file, word).encode() + b"\0" + file.read_bytes()


def folder_for(inputs: list[str]) -> Path:
    total = hashlib.sha256(repr((platform.machine(), platform.libc_ver())).encode())
    for word in inputs:
        for part in [describe(word, file) for file in files_of(word)] or [word.encode()]:
            total.update(b"%d:" % len(part) + part)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "softcuda" / f"build-{total.hexdigest()[:24]}"


def keep(folder: Path, libraries: list[Path]) -> None:
    """All of them or none, whatever happens meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="keeping-", dir=folder.parent) as work:
        whole = Path(work, "whole")
        whole.mkdir()
        for library in libraries:
            shutil.copy(library, whole)
        whole.rename(folder)
    builds = sorted(folder.parent.glob("build-*"), key=lambda path: path.stat().st_mtime)
    for old in builds[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    command, *words = sys.argv[1:]
    if command == "find":
        folder = folder_for(words)
        with contextlib.suppress(OSError):
            os.utime(folder)  # it is in use
        print(folder)
        return
    end = words.index("--")
    folder, libraries = Path(words[0]), [Path(word) for word in words[1:end]]
    try:
        if not folder.is_dir() and folder_for(words[end + 1 :]) == folder:
            keep(folder, libraries)
    except OSError as error:  # the build is whole without
        print(f"the build is not kept in {folder}: {error.strerror}", file=sys.stderr)


if __name__ == "__main__":
    main()
