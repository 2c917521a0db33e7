"""A program run under inspection in a process of its own, so that what it left can be reported however it ended.

The driver writes records into a folder, one file a process and device (src/inspect/record.h).  They are read, and the
folder is gone, before anything else may end the command.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softcuda import _host, _select

HANDED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
GRACE_SECONDS = 0.2
PR_SET_PDEATHSIG = 1


@dataclass
class Record:
    """What one process wrote of one device."""

    process: int
    lines: list[dict[str, Any]]

    @property
    def ended(self) -> bool:
        """Whether the process came to its end with all that belongs to it."""
        return any("end" in line for line in self.lines)


@dataclass
class Run:
    """A program's end, as subprocess reports it, and its records in the order in which they were last written."""

    code: int
    process: int
    records: list[Record] = field(default_factory=list)
    lost: bool = False  # a record could not be written

    @property
    def partial(self) -> bool:
        return self.code < 0 or self.lost or not all(record.ended for record in self.records)

    def notice(self, what: str) -> str:
        """One line on how the program ended and what is `what was found until then`; empty if it ended by itself."""
        if not self.partial:
            return ""
        if self.code < 0:
            why = signal.Signals(-self.code).name
        elif self.lost:
            return f"softcuda: the record of the program's kernels has a gap: {what}"
        elif any(record.process == self.process and not record.ended for record in self.records):
            why = "os._exit or exec"
        else:
            why = "one of its processes: os._exit, exec or a signal"
        return f"softcuda: the program did not end by itself ({why}): {what}"


def run(inspection: str, arguments: list[str], environment: dict[str, str] | None = None) -> Run:
    """`softcuda run ARGUMENTS` under an inspection, "check" say; ends with one line if there is no room for records."""
    try:
        _select.check_settings()
    except _select.SelectError as error:
        sys.exit(str(error))
    arguments = _host.with_compiled_program(arguments)
    with signals_held_back() as let_go:
        try:
            with tempfile.TemporaryDirectory(prefix="softcuda-") as folder:
                settings = {"SOFTCUDA_INSPECT": f"{inspection}:{folder}"} | (environment or {})
                process, code = wait([sys.executable, "-m", "softcuda", "run", *arguments], settings, let_go)
                paths = sorted(Path(folder).glob("*.jsonl"), key=lambda path: path.stat().st_ctime)
                texts = [(int(path.name.partition("-")[0]), path.read_bytes()) for path in paths]
                lost = any(Path(folder).glob("*.lost"))
        except OSError as error:
            sys.exit(f"softcuda: {inspection} cannot keep records in a temporary folder: {error}")
    return Run(code, process, [Record(process, parsed(text)) for process, text in texts], lost)


def parsed(text: bytes) -> list[dict[str, Any]]:
    """Without what the process was writing when it was killed."""
    lines = []
    for line in text.decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return lines


@contextlib.contextmanager
def signals_held_back() -> Iterator[Callable[[], None]]:
    """Signals that would end this process wait until the block is left.  Gives what lets them in, for a child."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON | {signal.SIGCHLD})
    try:
        yield lambda: (signal.pthread_sigmask(signal.SIG_SETMASK, before), None)[1]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait(command: list[str], environment: dict[str, str], let_signals_in: Callable[[], None]) -> tuple[int, int]:
    """The process and its exit status.  The child gets this process's signals, and dies if this one is killed."""
    libc, parent = ctypes.CDLL(None), os.getpid()

    def begin() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        let_signals_in()

    child = subprocess.Popen(command, env=os.environ | environment, preexec_fn=begin, close_fds=False)
    while child.poll() is None:
        came = signal.sigtimedwait(HANDED_ON | {signal.SIGCHLD}, 1)
        if came is None or came.si_signo == signal.SIGCHLD or came.si_code > 0:
            continue  # the terminal sends its signals to both
        with contextlib.suppress(subprocess.TimeoutExpired):  # and so does who ends a whole group
            child.wait(GRACE_SECONDS)
        child.send_signal(came.si_signo)
    return child.pid, child.returncode


def end_as(code: int) -> None:
    """End as the program did, if a signal ended it."""
    if code < 0:
        sys.stdout.flush()
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
