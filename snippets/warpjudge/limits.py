"""Limits of a process that runs what a reader wrote, and its end together with all that it started."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess

FOLDER = "warpjudge-"  # what the name of a judgement's folder begins with
FILES = 64 << 20  # bytes of a file: what a kernel prints, softcuda's records
MEMORY = 8 << 30  # of addresses; softcuda's device memory is SOFTCUDA_MEMORY
CPU_SECONDS = 30


def limit_this_process(seconds: int = CPU_SECONDS, memory: int = MEMORY) -> None:
    """CPU time, addresses, sizes of files, no core dumps; what it starts inherits them."""
    for which, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def kill_group(process: subprocess.Popen[str]) -> None:
    """End a process that leads a session of its own, and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
