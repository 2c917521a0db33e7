"""`softcuda check` finds what was planted, at its line, and accuses no clean kernel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import planted
import planted_copies
import pytest
from background import background
from softcuda._check import update

HERE = Path(__file__).parent
Finding = dict[str, Any]


def check(*arguments: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "softcuda", "check", *map(str, arguments)]
    environment = os.environ | {"SOFTCUDA_QUIET": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


def lines_of(finding: Finding) -> set[int]:
    return {finding[who]["line"] for who in ("first", "second") if who in finding}


def judge(case: planted.Case, findings: list[Finding]) -> None:
    told = [(finding["kind"], sorted(lines_of(finding))) for finding in findings]
    if not case.kind:
        assert told == []
        return
    marked = set(case.lines)
    assert any(kind == case.kind and set(lines) <= marked for kind, lines in told), told
    for kind, lines in told:
        assert kind in (case.kind, *case.also) and set(lines) <= marked, told
    for finding in findings:
        assert finding["text"] and finding["hint"] and not finding["library"]


# --- the planted ------------------------------------------------------------------------------------------------------

TOGETHER = [case for case in planted.CASES.values() if not case.fails and not case.host]
APART = [case for case in planted.CASES.values() if case.fails or case.host]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Of all kernels that end well, by kernel: one compilation, one run."""
    file = tmp_path_factory.mktemp("check") / "findings.json"
    done = check("--json", file, HERE / "planted.py", *(case.name for case in TOGETHER))
    assert done.returncode == 1 and done.stdout.count(" ran\n") == len(TOGETHER), done.stderr
    report = json.loads(file.read_text())
    assert report["partial"] is False
    by_kernel: dict[str, list[Finding]] = {case.name: [] for case in TOGETHER}
    for finding in report["findings"]:
        by_kernel[finding["kernel"]].append(finding)
    return by_kernel


@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: case.name)
def test_planted(case: planted.Case, findings: dict[str, list[Finding]]) -> None:
    judge(case, findings[case.name])


@pytest.mark.parametrize("case", APART, ids=lambda case: case.name)
def test_planted_apart(case: planted.Case, tmp_path: Path) -> None:
    """A launch that fails, and what is left over at the end."""
    done = check("--json", tmp_path / "findings.json", HERE / "planted.py", case.name)
    assert done.returncode == (1 if case.kind else 0)
    assert ("Traceback" in done.stderr) == case.fails, done.stderr
    judge(case, json.loads((tmp_path / "findings.json").read_text())["findings"])


def test_table() -> None:
    """Several of each kind, and as many that look like them."""
    defects = [case.kind for case in planted.CASES.values() if case.kind]
    assert len(defects) >= 40 and len(planted.CASES) == 2 * len(defects)
    assert all(defects.count(kind) >= 2 for kind in set(defects))
    assert all(case.lines or case.kind == "leak" for case in planted.CASES.values() if case.kind)


def test_other_order(tmp_path: Path) -> None:
    """Clean kernels stay clean in whatever order warps and blocks come."""
    clean = [case.name for case in TOGETHER if not case.kind]
    for seed in ("1", "2"):
        done = check("--seed", seed, HERE / "planted.py", *clean)
        assert done.returncode == 0, done.stdout


# --- bulk copies ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copy_findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    file = tmp_path_factory.mktemp("check") / "findings.json"
    names = [name for name, case in planted_copies.CASES.items() if not case.fails]
    done = check("--json", file, HERE / "planted_copies.py", *names)
    assert done.returncode == 1 and done.stdout.count(" ran\n") == len(names), done.stderr
    by_kernel: dict[str, list[Finding]] = {name: [] for name in planted_copies.CASES}
    for finding in json.loads(file.read_text())["findings"]:
        by_kernel[finding["kernel"]].append(finding)
    return by_kernel


@pytest.mark.parametrize(
    "case", [case for case in planted_copies.CASES.values() if not case.fails], ids=lambda case: case.name
)
def test_bulk_copies(case: planted.Case, copy_findings: dict[str, list[Finding]]) -> None:
    judge(case, copy_findings[case.name])


@pytest.mark.parametrize("order", [(), ("--seed", "3")], ids=["in_order", "shuffled"])
@pytest.mark.parametrize(
    "case", [case for case in planted_copies.CASES.values() if case.fails], ids=lambda case: case.name
)
def test_phases_that_cannot_end(case: planted.Case, order: tuple[str, ...], tmp_path: Path) -> None:
    """The launch ends as other deadlocks do, at once and with the line."""
    done = check(*order, "--json", tmp_path / "findings.json", HERE / "planted_copies.py", case.name, timeout=60)
    assert done.returncode == 1 and "the launch timed out" in done.stderr and "at an mbarrier for" in done.stderr
    judge(case, json.loads((tmp_path / "findings.json").read_text())["findings"])


# --- what is said -----------------------------------------------------------------------------------------------------


def test_words(tmp_path: Path) -> None:
    done = check(HERE / "planted.py", "shared_reverse")
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "softcuda check: 1 finding" in told
    assert "1. race in shared memory in kernel shared_reverse" in told
    assert "of block (0,0,0) writes at shared_reverse.cu:2" in told
    assert "of block (0,0,0) reads at shared_reverse.cu:3" in told
    assert "hint: put __syncthreads() between the two lines" in told


UPDATES = {  # a line that updates one element, and the atomic in its place
    "local[d]++;": "atomicAdd",
    "++local[d];": "atomicAdd",
    "total += a[i];": "atomicAdd",
    "for (int k = 0; k < n; ++k) *sum -= a[k];": "atomicAdd",
    "bins[a[i] % 7].count += 1;  // all of them": "atomicAdd",
    "s[t] = fmaxf(s[t], x);": "atomicMax",
    "if (x > 3) flags[0] |= 4;": "atomicOr",
    "s[d] *= x;": "an atomic (atomicCAS in a loop)",
    "s[d] = s[d] + x;": "atomicAdd",
}
OTHERS = [  # each thread has an element of its own, and reads another's
    "if (t < d) s[t] += s[t + d];",
    "for (int k = 0; k < n; k++) s[k] = s[k + 1];",
    "s[t] = a[i];",
    "s[t] = s[t - 1] + s[t];",
    "s[t] = x; y = s[63 - t];",
    "if (s[t] <= x) y = 0;",
    "",
]


def test_updates_of_one_element_are_told_from_other_lines() -> None:
    assert {line: update(line) for line in UPDATES} == UPDATES
    assert [line for line in OTHERS if update(line)] == []


def test_hint_for_an_update_within_one_line(findings: dict[str, list[Finding]]) -> None:
    """No barrier fits between the two accesses of `bins[d] += 1`."""
    said = {finding["hint"] for finding in findings["shared_histogram"]}
    assert said == {
        "same line, read and written by several lanes: use atomicAdd",
        "same line, read and written by several threads: use atomicAdd",
    }


def test_hint_for_a_line_that_reads_another_threads_element(findings: dict[str, list[Finding]]) -> None:
    hints = {finding["kind"]: finding["hint"] for finding in findings["shared_tree"]}
    assert "put __syncthreads() between the read and the write" in hints["race"]
    assert "put __syncwarp() between the read and the write" in hints["warp-synchronous"]


LEAK = """
import ctypes, sys
import pycuda.autoinit
ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1000))
"""


@pytest.mark.parametrize("ending", ["raise ValueError('mine')", "sys.exit(3)", "import os; os.abort()"])
def test_no_leak_is_reported_after_a_crash(tmp_path: Path, ending: str) -> None:
    (tmp_path / "program.py").write_text(LEAK)
    assert "device memory never freed" in check(tmp_path / "program.py").stdout
    (tmp_path / "program.py").write_text(f"{LEAK}{ending}\n")
    assert "nothing found" in check(tmp_path / "program.py").stdout


def test_both_threads_and_the_allocation(findings: dict[str, list[Finding]]) -> None:
    (finding,) = findings["global_overlap"]
    first, second = finding["first"], finding["second"]
    assert (first["block"], first["thread"]) == ([0, 0, 0], [32, 0, 0])
    assert (second["block"], second["thread"]) == ([1, 0, 0], [0, 0, 0])
    assert finding["allocation"]["bytes"] == 4 * planted.N and finding["allocation"]["offset"] == 128
    assert finding["space"] == "global" and finding["where"].startswith("byte 128 of allocation")


LIBRARY = """
import numpy as np
import pycuda.autoinit
import pycuda.gpuarray as gpuarray
print(gpuarray.sum(gpuarray.to_gpu(np.ones(5000, np.float32))).get())
"""


def test_library_kernels_are_told_apart(tmp_path: Path) -> None:
    """PyCUDA's reductions end in a volatile tail, which is no fault of the program's."""
    program = tmp_path / "sums.py"
    program.write_text(LIBRARY)
    done = check(program)
    assert done.returncode == 0 and "nothing found" in done.stdout
    assert "in kernels of libraries (PyCUDA's reduction)" in done.stdout
    assert check("--strict", "--json", tmp_path / "f.json", program).returncode == 1
    found = json.loads((tmp_path / "f.json").read_text())["findings"]
    assert {finding["library"] for finding in found} == {"PyCUDA's reduction"}


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_clean_program_with_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint(sys.argv[1:], __name__)\n")
    done = check(tmp_path / "program.py", "--json", "-m")
    assert done.returncode == 0 and "['--json', '-m'] __main__" in done.stdout and "nothing found" in done.stdout


def test_a_program_that_fails_is_not_called_clean(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("raise SystemExit(3)\n")
    done = check(tmp_path / "program.py")
    assert done.returncode == 3 and "nothing found before the program failed" in done.stdout
    assert "the program ended with status 3" in done.stderr


def test_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    monkeypatch.chdir(tmp_path)
    done = check("-m", "tool", "--version")
    assert done.returncode == 0 and "__main__ ['--version']" in done.stdout


def test_failing_program_keeps_status_and_traceback(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise ValueError('mine')\n")
    done = check(program)
    assert done.returncode == 1 and "ValueError: mine" in done.stderr
    program.write_text("raise SystemExit(7)\n")
    assert check("--json", tmp_path / "f.json", program).returncode == 7
    assert json.loads((tmp_path / "f.json").read_text()) == {"partial": False, "findings": []}
    program.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert check(program).returncode == -signal.SIGKILL


def test_interrupted_program_tells_what_was_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys, time\nsys.path.insert(0, {str(HERE)!r})\nimport planted\nplanted.run(['global_shift'])\n"
        "print('waiting', flush=True)\ntime.sleep(100)\n"
    )
    command = [sys.executable, "-m", "softcuda", "check", "--json", str(tmp_path / "f.json"), str(program)]
    with background(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        while (line := running.stdout.readline()) != "waiting\n":
            assert line, "the program has ended"
        time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == -signal.SIGTERM
        assert "did not end by itself" in running.stderr.read()
    report = json.loads((tmp_path / "f.json").read_text())
    assert report["partial"] is True and report["findings"][0]["kernel"] == "global_shift"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "check what?"),
        (["-m"], "check what?"),
        (["--json"], "needs the name of a file"),
        (["--seed", "many", "x.py"], "--seed many is not a whole number"),
        (["--json", "/nowhere/at/all.json", "x.py"], "there is no folder /nowhere/at"),
        (["no_such_program.py"], "no program no_such_program.py"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    done = check(*arguments)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1


def test_what_compute_sanitizer_says_is_told_in_the_readme():
    said = json.loads((HERE / "compute_sanitizer.json").read_text())["said"]
    assert list(said) == list(planted.CASES), "the kernels have changed since compute-sanitizer saw them"
    defects = [name for name, case in planted.CASES.items() if case.kind]
    found = [name for name in defects if any(answer.endswith("found") for answer in said[name].values())]
    readme = (HERE.parents[2] / "softcuda" / "README.md").read_text()
    assert f"finds {len(found)} of the {len(defects)} defects" in readme
