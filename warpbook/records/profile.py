"""Profile a program's launches: with Nsight Compute on a GPU, with softcuda's own profiler without one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from warpbook.book import Book, BookError
from warpbook.records.counters import METRICS, parse
from warpbook.run.run import environment, run_program


def profile(book: Book, command: str, more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Every launch of `command` (a program under snippets/ and its arguments), in order.

    Returns [{"kernel", "grid", "block", "metrics": {name: number}}]. Raises BookError if ncu fails or
    profiles nothing.
    """
    metrics = list(dict.fromkeys([*METRICS, *more]))
    program, *arguments = command.split()
    ncu = shutil.which("ncu")
    if ncu is None:
        raise BookError("ncu is not on PATH; it comes with the CUDA toolkit")
    done = subprocess.run(
        [
            ncu,
            "--clock-control",
            "none",
            "--metrics",
            ",".join(metrics),
            "--csv",
            "--page",
            "raw",
            "--print-units",
            "base",
            sys.executable,
            f"snippets/{program}",
            *arguments,
        ],
        cwd=book.root,
        env=environment(book, program.split("/")[0]),
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line or "Error" in line]
        raise BookError(f"ncu of {command} fails: {said[0] if said else f'exit status {done.returncode}'}")
    launches = parse(done.stdout, metrics)
    if not launches:
        raise BookError(f"ncu of {command} saw no kernel")
    return launches


def count(book: Book, command: str) -> list[dict[str, Any]]:
    """As `profile`, with softcuda's profiler, which needs no GPU: what it shares with Nsight Compute is equal to it."""
    program, *arguments = command.split()
    launches = counted(lambda through: run_program(book, book.snippets / program, tuple(arguments), through=through))
    if not launches:
        raise BookError(f"softcuda profile {command} saw no kernel")
    return [{key: launch[key] for key in ("kernel", "grid", "block", "metrics")} for launch in launches]


def counted(run: Callable[[tuple[str, ...]], object]) -> list[dict[str, Any]]:
    """What softcuda's profiler counts in each launch of `run`, which starts Python with the arguments it is given."""
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        file = Path(folder, "profile.json")
        run(("-m", "softcuda", "profile", "--json", str(file)))
        launches: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return launches
