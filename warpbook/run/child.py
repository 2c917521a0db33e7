"""The process that runs one page's blocks: `python child.py JOB RESULT`.

Imports nothing but the standard library, so that a page sees the modules a program of its own would. JOB is
a JSON list of {"name", "code", "lines": [[file, line], …]}; RESULT gets one JSON line a block as it ends, so that
a process that dies still says how far it came.
"""

import ast
import contextlib
import ctypes
import json
import linecache
import os
import symtable
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator
from typing import Any

Job = dict[str, Any]


@contextlib.contextmanager
def captured() -> Iterator[list[str]]:
    """Collect everything written to file descriptor 1: Python's, C's and, after a synchronisation, the device's."""
    flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        text: list[str] = []
        try:
            yield text
        finally:
            flush()
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text.append(file.read().decode("utf-8", "replace"))


def flush() -> None:
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def synchronise() -> None:
    """Wait for the device, so that a kernel's printf and its errors belong to the block that launched it."""
    driver = sys.modules.get("pycuda.driver")
    if driver is not None and driver.Context.get_current() is not None:
        driver.Context.synchronize()


def describe(error: BaseException, jobs: dict[str, Job]) -> dict[str, Any]:
    """The error as written in pages and snippets: no frame of ours, every block's line where it was written."""
    failure = traceback.TracebackException.from_exception(error)
    seen: traceback.TracebackException | None = failure
    while seen is not None:
        seen.stack[:] = [moved(frame, jobs) for frame in seen.stack if frame.filename != __file__]
        if isinstance(error, SyntaxError) and seen is failure and failure.filename in jobs:
            failure.filename, line = place(jobs[failure.filename], error.lineno)
            failure.lineno = str(line)
        seen = seen.__cause__ or seen.__context__
    last = [f for f in failure.stack if any([f.filename, f.lineno] in job["lines"] for job in jobs.values())]
    at = [last[-1].filename, last[-1].lineno] if last else None
    if at is None and isinstance(error, SyntaxError) and failure.filename:
        at = [failure.filename, int(failure.lineno or 0)]
    head = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, SyntaxError):
        head = f"{type(error).__name__}: {error.msg}"
    return {"at": at, "what": head, "traceback": "".join(failure.format())}


def moved(frame: traceback.FrameSummary, jobs: dict[str, Job]) -> traceback.FrameSummary:
    """A block's frame where it was written; made anew, since the columns and last line it knows are the block's."""
    if frame.filename not in jobs:
        return frame
    file, number = place(jobs[frame.filename], frame.lineno)
    return traceback.FrameSummary(file, number, frame.name, lookup_line=False, line=frame.line)


def place(job: Job, number: int | None) -> list[Any]:
    lines = job["lines"]
    return lines[min(max(number or 1, 1), len(lines)) - 1] if lines else [job["name"], number]


def given_names(code: str) -> set[str]:
    """The names that a block gives to those after it: what it assigns, defines or imports at its top."""
    table = symtable.symtable(code, "block", "exec")
    return {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}


def names_asked(code: str) -> set[str]:
    """The names that a block reads and does not give itself: those of blocks before it, and built-in ones."""
    tables, found = [symtable.symtable(code, "block", "exec")], set[str]()
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {
            one.get_name() for one in table.get_symbols() if one.is_referenced() and (table is top or one.is_global())
        }
    return found - given_names(code)


def main(job_file: str, result_file: str) -> int:
    with open(job_file, encoding="utf-8") as file:
        jobs = {job["name"]: job for job in json.load(file)}
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # so that pickling and dataclasses find what blocks define
    withheld: dict[str, str] = {}  # names that skipped blocks did not give, and why they were skipped
    with open(result_file, "w", encoding="utf-8") as results:
        for name, job in jobs.items():
            linecache.cache[name] = (len(job["code"]), None, job["code"].splitlines(True), name)
            failure, skipped = None, ""
            with captured() as text:
                try:
                    code = compile(ast.parse(job["code"], name), name, "exec")
                    lacked = (
                        sorted((withheld.keys() - vars(module).keys()) & names_asked(job["code"])) if withheld else []
                    )
                    if lacked:
                        skipped = withheld[lacked[0]]
                        print(f"skipped: {skipped}")
                    else:
                        exec(code, module.__dict__)
                        synchronise()
                except BaseException as error:  # SystemExit too: a page is not over before its last block
                    if type(error).__name__ == "Skipped":  # warpbench's; it has printed what there is too little of
                        skipped = str(error)
                    else:
                        failure = describe(error, jobs)
            if skipped:
                withheld |= dict.fromkeys(given_names(job["code"]), skipped)
            used = getattr(sys.modules.get("warpbench"), "packages_used", {})
            results.write(json.dumps({"stdout": text[0], "failure": failure, "packages": used}) + "\n")
            results.flush()
            if failure:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
