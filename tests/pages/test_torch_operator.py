"""The counts on the page of PyTorch operators, in both languages, are those that programs print and softcuda counts."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from warpbook.book import SOFTCUDA, here
from warpbook.records import records
from warpbook.run.run import SKIPPED, environment

BOOK = here()
FOLDER, COMMAND = "torch-operator", "torch-operator/kernels.py --profile"
PAGES = [f"docs/{language}/frameworks/torch-operator.md" for language in ("en", "zh")]
RAYS, POINTS, WARPS = 64, 1024, 2**16 // 32  # of the profiled launches

pytestmark = pytest.mark.inputs(*PAGES, "records/softcuda")


def recorded() -> dict:
    record = records.read(BOOK, SOFTCUDA, FOLDER)
    assert record is not None
    return record


def printed(program: str, pattern: str) -> tuple[str, ...]:
    """The numbers that a program printed."""
    text = recorded()["programs"][f"{FOLDER}/{program}"]["stdout"]
    found = re.search(pattern, text)
    assert found, f"{program} prints nothing like {pattern}:\n{text}"
    return found.groups()


@pytest.mark.parametrize("path", PAGES)
def test_launches_and_bytes_are_what_the_programs_print(path: str) -> None:
    rows = [row for row in (BOOK.root / path).read_text("utf-8").splitlines() if row.startswith("| ")]
    gelu = printed("gelu.py", r"eager +(\d+) launches, (\d+) bytes")
    forward, both = printed("trilinear.py", r"composed +(\d+) launches forward, +(\d+) with")
    bytes_forward, bytes_both = printed("trilinear.py", r"(\d+) and (\d+) bytes per point")
    composed = printed("ragged.py", r"composed +(\d+) launches, (\d+) bytes")
    padded = printed("ragged.py", r"padded .* (\d+) bytes")
    (ragged,) = printed("ragged.py", r"ragged .* (\d+) bytes")
    for numbers in (gelu, (forward, bytes_forward), (both, bytes_both), (*padded, ragged), (*composed, ragged)):
        assert any(set(numbers) <= set(re.findall(r"\d+", row)) for row in rows), f"no row with {numbers}"


@pytest.mark.parametrize("path", PAGES)
def test_instructions_and_atomics_are_what_softcuda_counts(path: str) -> None:
    launches = [(one["kernel"], one["metrics"]) for one in recorded()["counters"][COMMAND]["launches"]]
    ran = lambda name: [m["softcuda__warp_instructions.sum"] for kernel, m in launches if kernel == name]  # noqa: E731
    added = {kernel: m["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"] for kernel, m in launches}
    ragged, padded = ran("composite")
    counts = [ran("gelu_single")[0] / WARPS, 4 * ran("gelu")[0] / WARPS, ran("trilinear")[0] / POINTS]
    counts += [padded / RAYS, ragged / RAYS]
    counts += [added["trilinear_backward"], added["trilinear_backward_fixed"]]
    text = re.findall(r"\d+", (BOOK.root / path).read_text("utf-8"))
    assert [f"{count:.0f}" for count in counts if f"{count:.0f}" not in text] == []


IN_A_THREAD = """
import threading

import pycuda.autoprimaryctx
import warpbench as wb

wb.needs(packages="torch")
import _ops as ops
import pycuda.driver as cuda
import torch

x, found = torch.randn(5001), []


def run(function):
    try:
        found.append(function())
    except cuda.LogicError as error:
        found.append(str(error))


for function in (cuda.Stream, lambda: ops.gelu(x), cuda.Stream):
    thread = threading.Thread(target=run, args=(function,))
    thread.start()
    thread.join()
assert "no currently active context" in found[0], found[0]
assert torch.equal(found[1], ops.gelu(x))
assert "no currently active context" in found[2], found[2]
cuda.Context.synchronize()  # this thread still has its own
print("right")
"""


def test_an_operator_runs_in_a_thread_without_a_context(tmp_path) -> None:
    """As autograd's threads on a GPU are: PyCUDA's context is current there during the launch, and not after it."""
    env = environment(BOOK, FOLDER)
    env["PYTHONPATH"] = os.pathsep.join([str(BOOK.snippets / FOLDER), env["PYTHONPATH"]])
    (script := tmp_path / "thread.py").write_text(IN_A_THREAD, "utf-8")
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.stdout == "right\n", done.stderr
