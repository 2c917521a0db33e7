"""Take away from this process, with Linux's Landlock, the files that it does not need, and connections to elsewhere."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
from collections.abc import Iterable

CREATE, ADD, RESTRICT = 444, 445, 446  # landlock_create_ruleset, _add_rule, _restrict_self: the same on each machine
NO_NEW_PRIVILEGES = 38  # of prctl
EXECUTE, WRITE, READ, LIST = 1, 2, 4, 8
READING, ALL = EXECUTE | READ | LIST, (1 << 13) - 1
OF_FILES = EXECUTE | WRITE | READ | 1 << 14  # and shorten; the others are of folders
NEWER = {2: 1 << 13, 3: 1 << 14}  # rights that later versions added: to move between folders, to shorten a file


class Rules(ctypes.Structure):
    """files, connections (from version 4), and what of others may be reached (from version 6)."""

    _fields_ = (("files", ctypes.c_uint64), ("connections", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Landlock's, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_call(CREATE, None, 0, 1)))


def close(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """From now on, for this process and all that it starts: False, and nothing changed, where there is no Landlock.

    Files that are open stay so. Signals to other processes end, and connections by TCP, where the kernel knows how.
    """
    known = version()
    if not known:
        return False
    every = ALL | sum(right for since, right in NEWER.items() if known >= since)
    rules = Rules(every, 3 if known >= 4 else 0, 3 if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = _call(CREATE, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    for paths, rights in ((readable, READING), (writable, every)):
        for path in paths:
            with contextlib.suppress(OSError):
                _allow(ruleset, path, rights & every)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    closed = _call(RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return closed


def _allow(ruleset: int, path: str, rights: int) -> None:
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            rights &= OF_FILES
        _call(ADD, ruleset, 1, ctypes.byref(Rule(rights, folder)), 0)
    finally:
        os.close(folder)


def _call(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
