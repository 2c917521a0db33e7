"""Processes that run beside a test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def background(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a command beside the test; it is gone afterwards, and with it its process group, whatever the test did.

    Signals act on it as on a program that a terminal has started, even where the tests run with some ignored
    (`nohup make test &`), which a program otherwise inherits. Call this from the main thread.
    """
    with signals_not_ignored():
        process = subprocess.Popen(command, start_new_session=True, **options)
    with process:  # closes its pipes
        try:
            yield process
        finally:
            stop(process)


def stop(process: subprocess.Popen[Any], seconds: float = 10) -> None:
    """Ask a process to end; after some seconds kill it and the process group that it leads."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()  # one that leads no group
        process.wait()


@contextmanager
def signals_not_ignored() -> Iterator[None]:
    """A new program starts with the default action of each signal that has a handler here."""
    ignored = [number for number in STOPS if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
