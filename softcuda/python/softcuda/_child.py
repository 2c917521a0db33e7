"""A program run under inspection in a process of its own, so that what it left can be told however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Any


def run(arguments: list[str], environment: dict[str, str]) -> int:
    """`softcuda run ARGUMENTS` with these variables besides; its exit status.  Signals are its business."""
    command = [sys.executable, "-m", "softcuda", "run", *arguments]

    before: dict[signal.Signals, Any] = {}
    child: subprocess.Popen[bytes] | None = None

    def hand_on(number: int, _: FrameType | None) -> None:
        if child is not None and number != signal.SIGINT:  # the terminal sends that one to both
            child.send_signal(number)

    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, hand_on)
        child = subprocess.Popen(command, env=os.environ | environment)
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_as(code: int) -> None:
    """End as the program did, if a signal ended it."""
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
