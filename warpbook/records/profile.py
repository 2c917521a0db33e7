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
from warpbook.run.compare import close, lacked
from warpbook.run.run import Blocks, LackingError, Run, environment, run_program, whole

# softcuda's model of the L1 sorts lines by their addresses. Those of softcuda's own memory are the same in every run;
# the tensors of PyTorch on a CPU lie where the system puts them, and the number of hits follows.
MODELLED = ("softcuda__l1_sectors_hit.sum", "softcuda__l1_hit_rate.pct")
NEAR = 0.02  # relative

Counted = tuple[list[dict[str, Any]], dict[str, str]]  # launches, and the versions of packages that made them


def profile(book: Book, command: str, more: Sequence[str] = ()) -> Counted:
    """Every launch of `command` (a program under snippets/ and its arguments), in order.

    Returns [{"kernel", "grid", "block", "metrics": {name: number}}]. Raises BookError if ncu fails or
    profiles nothing.
    """
    metrics = list(dict.fromkeys([*METRICS, *more]))
    program, *arguments = command.split()
    ncu = shutil.which("ncu")
    if ncu is None:
        raise BookError("ncu is not on PATH; it comes with the CUDA toolkit")
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        out = Path(folder, "values.json")
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
            env=environment(book, program.split("/")[0]) | {"WARPBENCH_OUT": str(out)},
            capture_output=True,
            text=True,
            timeout=1800,
        )
        packages = json.loads(out.read_text("utf-8")).get("packages", {}) if out.exists() else {}
    if why := lacked(done.stdout):
        raise LackingError(f"counters of {command}: {why}")
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line or "Error" in line]
        raise BookError(f"ncu of {command} fails: {said[0] if said else f'exit status {done.returncode}'}")
    launches = parse(done.stdout, metrics)
    if not launches:
        raise BookError(f"ncu of {command} saw no kernel")
    return launches, packages


def count(book: Book, command: str) -> Counted:
    """As `profile`, with softcuda's profiler, which needs no GPU: what it shares with Nsight Compute is equal to it."""
    program, *arguments = command.split()
    launches, packages = counted(
        lambda through: run_program(book, book.snippets / program, tuple(arguments), through=through),
        f"counters of {command}",
    )
    if not launches:
        raise BookError(f"softcuda profile {command} saw no kernel")
    return [{key: launch[key] for key in ("kernel", "grid", "block", "metrics")} for launch in launches], packages


def counted(run: Callable[[tuple[str, ...]], Run | Blocks], name: str) -> Counted:
    """What softcuda's profiler counts in each launch of `run`, which starts Python with the arguments it is given.

    Raises LackingError, which calls it `name`, if a part of it needs packages that are not here.
    """
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        file = Path(folder, "profile.json")
        ran = run(("-m", "softcuda", "profile", "--json", str(file)))
        whole(ran, name)
        launches: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return launches, ran.packages if isinstance(ran, Run) else latest(ran)


def difference(kept: list[dict[str, Any]], now: list[dict[str, Any]], *, wandering: bool) -> str:
    """The first difference of two counts of the same launches, in one line; empty if they are the same.

    `wandering`: arrays lay elsewhere, so hits of the modelled L1 may differ by NEAR.
    """
    if len(kept) != len(now):
        return f"{len(kept)} launches are recorded, {len(now)} counted"
    for number, (one, other) in enumerate(zip(kept, now, strict=True), 1):
        what = f"launch {number}, {one['kernel']}"
        for key in ("kernel", "grid", "block"):
            if one[key] != other[key]:
                return f"{what}: its {key} is {other[key]} now"
        for name in sorted(one["metrics"].keys() | other["metrics"].keys()):
            was, is_ = one["metrics"].get(name), other["metrics"].get(name)
            near = wandering and name in MODELLED and was is not None and is_ is not None and close(was, is_, NEAR)
            if was != is_ and not near:
                return f"{what}: {name} is recorded as {was} and counted as {is_}"
    return ""


def latest(ran: Blocks) -> dict[str, str]:
    """The packages of a page's last block: all that its blocks asked for."""
    return ran.packages[-1] if ran.packages else {}
