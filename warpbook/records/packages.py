"""PyTorch and Triton as records know them: which versions printed something, and which the book was tried with.

A program asks for them with wb.needs(packages=…); `make setup-torch` installs the tried versions, of
requirements-torch.in. A record keeps, beside what was printed, the versions that it was printed with.
"""

from __future__ import annotations

import re
from typing import Any

from warpbook import reads
from warpbook.book import Book, BookError

NAMES = {"torch": "PyTorch", "triton": "Triton"}  # as readers know them
FILE = "requirements-torch.in"


def kept(packages: dict[str, str]) -> dict[str, Any]:
    """What a part of a record keeps of them: nothing where there are none."""
    return {"packages": packages} if packages else {}


def tried(book: Book) -> dict[str, str]:
    """The versions that the book was tried with."""
    path = book.root / FILE
    return dict(re.findall(r"(?m)^(\w+)==(\S+)", reads.text(path))) if reads.is_file(path) else {}


def tried_version(book: Book, package: str) -> str:
    """Of one package, for `{{ tried:torch }}`."""
    known = tried(book)
    if package not in known:
        raise BookError(f'"tried:{package}": {FILE} has {" and ".join(known) or "no versions"}')
    return known[package]


def untried(book: Book, part: dict[str, Any]) -> dict[str, str]:
    """Packages of a part that are not of the tried version, and that version. 2.13.0+cpu is a build of 2.13.0."""
    used: dict[str, str] = part.get("packages", {})
    known = tried(book)
    return {name: known[name] for name, version in used.items() if name in known and base(version) != known[name]}


def base(version: str) -> str:
    return version.partition("+")[0]


def named(part: dict[str, Any]) -> str:
    """PyTorch 2.13.0, Triton 3.9.0; empty for a part that used neither."""
    used: dict[str, str] = part.get("packages", {})
    return ", ".join(f"{NAMES.get(name, name)} {base(used[name])}" for name in sorted(used))


def note(book: Book, part: dict[str, Any]) -> str:
    """For whoever records: that a version is not the tried one."""
    others = untried(book, part)
    if not others:
        return ""
    return f"with {named(part)}, tried with {named({'packages': others})}: `make setup-torch` installs that"


def apart(then: dict[str, Any], now: dict[str, str]) -> str:
    """A remark for a difference from the record: that it was made with other versions; empty if it was not."""
    if then.get("packages", {}) == now:
        return ""
    return f" (recorded with {named(then) or 'neither package'}, run with {named(kept(now)) or 'neither'})"
