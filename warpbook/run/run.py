"""Run a page's Python blocks, or a program, in one fresh process each and keep what it printed.

The working directory is the repository's root. A page sees `sys.path` as a program beside its snippets
would: snippets/<article>/ first, and snippets/ for the helper module.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpbook.book import Book, BookError
from warpbook.run.compare import lacked
from warpbook.source.pages import Page

CHILD = Path(__file__).with_name("child.py")
TIME_LIMIT = 900.0  # seconds a page or a program may take
SKIPPED = 77  # warpbench's exit status for "this device cannot serve me", after a line that says why
SKIPS = re.compile(r"^skipped: (.*)$", re.MULTILINE)


class RunError(BookError):
    """A block or program failed: the first line says which and why, `traceback` is what Python printed."""

    def __init__(self, line: str, traceback: str = "") -> None:
        super().__init__(line)
        self.traceback = traceback


class LackingError(BookError):
    """What was to run needs packages that are not here: it is left out, and what is recorded of it stays."""


@dataclass
class Run:
    """What a program printed and, if it uses warpbench, what it measured."""

    stdout: str
    seconds: float
    values: dict[str, Any] = field(default_factory=dict)
    series: dict[str, Any] = field(default_factory=dict)
    spans: dict[str, Any] = field(default_factory=dict)
    matrices: dict[str, Any] = field(default_factory=dict)
    graphs: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)  # who computed, as the program says
    packages: dict[str, str] = field(default_factory=dict)  # those it asked for, and their versions
    skipped: str = ""  # why the device cannot serve it, or which packages are not here


@dataclass
class Blocks:
    """What each of a page's blocks printed, and the versions of the packages that it could use."""

    printed: list[str] = field(default_factory=list)
    packages: list[dict[str, str]] = field(default_factory=list)


def environment(book: Book, article: str) -> dict[str, str]:
    env = dict(os.environ)
    paths = [str(book.snippets)] + ([env["PYTHONPATH"]] if env.get("PYTHONPATH") else [])
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env["PYTHONIOENCODING"] = "utf-8"
    env.pop("WARPBENCH_OUT", None)
    return env


def run_page(page: Page, python: str = sys.executable, through: tuple[str, ...] = ()) -> list[str]:
    """Run the page's Python blocks top to bottom; what each printed. Raises RunError at the first that fails.

    `through`: Python's options that start something else first, which runs the blocks, such as a profiler.
    """
    return run_blocks(page, python, through).printed


def run_blocks(page: Page, python: str = sys.executable, through: tuple[str, ...] = ()) -> Blocks:
    """As `run_page`, with the packages."""
    blocks = page.python
    if not blocks:
        return Blocks()
    jobs = [
        {"name": f"<{block.where}>", "code": block.code, "lines": [[li.file, li.number] for li in block.lines]}
        for block in blocks
    ]
    env = environment(page.book, page.article)
    beside = page.book.snippets / page.article
    if beside.is_dir():
        env["PYTHONPATH"] = os.pathsep.join([str(beside), env["PYTHONPATH"]])
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        job, result = Path(folder, "job.json"), Path(folder, "result.jsonl")
        job.write_text(json.dumps(jobs), "utf-8")
        code, _, errors = call([python, "-P", *through, str(CHILD), str(job), str(result)], page.book, env, page.name)
        done = [json.loads(line) for line in result.read_text("utf-8").splitlines()] if result.exists() else []
    for block, answer in zip(blocks, done, strict=False):
        failure = answer["failure"]
        if failure:
            file, number = failure["at"] or [block.page, block.page_number]
            place, what = kernel_error(failure["what"]) or (f"{file}:{number}", one_line(failure["what"]))
            where = place if place.startswith(f"{block.page}:") else f"{block.where}: {place}"
            raise RunError(
                f"{where}: this block fails: {what}", printed(answer["stdout"]) + failure["traceback"] + errors
            )
    if len(done) < len(blocks) or code:
        block = blocks[min(len(done), len(blocks) - 1)]
        raise RunError(f"{block.where}: this block ended the process ({ending(code)})", errors)
    return Blocks([answer["stdout"] for answer in done], [answer["packages"] for answer in done])


def run_program(
    book: Book,
    program: Path,
    arguments: tuple[str, ...] = (),
    python: str = sys.executable,
    through: tuple[str, ...] = (),
) -> Run:
    """Run `python snippets/<article>/<program>.py`. Raises RunError if it fails."""
    name = book.relative(program)
    env = environment(book, program.parent.name)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        out = Path(folder, "values.json")
        env["WARPBENCH_OUT"] = str(out)
        code, stdout, errors = call([python, *through, name, *arguments], book, env, name)
        seconds = time.monotonic() - start
        if code == SKIPPED and (said := SKIPS.findall(stdout)):
            return Run(stdout, seconds, skipped=said[-1])
        if code:
            raise RunError(program_failure(name, code, errors), printed(stdout) + errors)
        kept = json.loads(out.read_text("utf-8")) if out.exists() else {}
        if not kept and "Exception ignored in atexit callback: <function _write" in errors:
            raise RunError(f"{name}: what it measured could not be written: {errors.strip().splitlines()[-1]}", errors)
    kinds = ("values", "series", "spans", "matrices", "graphs", "clocks", "device", "packages")
    return Run(stdout, seconds, **{kind: kept.get(kind, {}) for kind in kinds})


def whole(ran: Run | Blocks, name: str) -> None:
    """Raise LackingError if something of `name` was left out for want of packages."""
    texts = ran.printed if isinstance(ran, Blocks) else [ran.stdout]
    if why := next(filter(None, map(lacked, texts)), ""):
        raise LackingError(f"{name}: {why}")


def call(command: list[str], book: Book, env: dict[str, str], name: str) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of `command` run in the repository's root."""
    try:
        done = subprocess.run(
            command,
            cwd=book.root,
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{name}: still running after {TIME_LIMIT:.0f} s; stopped") from None
    return done.returncode, done.stdout, done.stderr


def present_device(book: Book, python: str = sys.executable) -> dict[str, Any]:
    """What warpbench says of the device that programs would use here."""
    code = "import json, pycuda.autoprimaryctx, warpbench; print(json.dumps(warpbench.device()))"
    status, out, errors = call([python, "-c", code], book, environment(book, ""), "warpbench.device()")
    if status:
        last = (errors.strip().splitlines() or [ending(status)])[-1]
        raise BookError(f"no CUDA device and no softcuda here; run `make setup` ({last})")
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def ending(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def program_failure(name: str, code: int, errors: str) -> str:
    """One line for a program that failed: the kernel's line that does not compile, else the program's own."""
    kernel = kernel_error(errors)
    if kernel:
        return f"{name}: {kernel[0]}: this program fails: {kernel[1]}"
    places = re.findall(rf'File "[^"]*{re.escape(name)}", line (\d+)', errors)
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    where = f"{name}:{places[-1]}" if places else name
    return f"{where}: this program fails: {last if code > 0 and last else ending(code)}"


def kernel_error(text: str) -> tuple[str, str] | None:
    """(file:line, message) of the first thing that nvcc or ptxas rejected, if `text` names one."""
    match = re.search(
        r"^\[?(?:stderr:\s*)?([^\s()\[\]]+\.cuh?)\((\d+)\): (?:fatal )?error\s*:? ?(.*)$", text, re.MULTILINE
    )
    return (f"{match[1]}:{match[2]}", f"the kernel does not compile: {match[3]}") if match else None


def one_line(text: str) -> str:
    """The first line of an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no message"


def printed(stdout: str) -> str:
    return f"{stdout.rstrip()}\n" if stdout.strip() else ""
