"""`softcuda trace`: each step of a block, read back and held against what NumPy makes of the same data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from background import background

HEAD = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

def kernel(source, name):
    return SourceModule(source).get_function(name)
"""

# Two warps: a tree of shuffles each, then one addition.
SUM = """
sum = kernel('''__global__ void sum(const float *a, float *out)
{
    __shared__ float part[2];
    float s = a[blockIdx.x * 64 + threadIdx.x];
    for (int d = 16; d; d /= 2)
        s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0] + part[1];
}''', "sum")
a = np.random.default_rng(5).random(256, dtype=np.float32)
out = np.full(4, np.nan, np.float32)
for scale in (1, 2):
    sum(cuda.In(scale * a), cuda.InOut(out), grid=(4, 1), block=(64, 1, 1))
print("ran")
"""

PARTING = """
part = kernel('''__global__ void part(int *out, int n)
{
    int i = threadIdx.x;
    if (i % 3 == 0)
        for (int k = 0; k < i; ++k)
            out[i] += n;
    else
        out[i] = -i;
}''', "part")
part(cuda.InOut(np.arange(40, dtype=np.int32)), np.int32(7), grid=(1, 1), block=(40, 1, 1))
"""

TRANSPOSE = """
transpose = kernel('''__global__ void transpose(const double *in, double *out)
{
    __shared__ double tile[8][9];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 8 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}''', "transpose")
transpose(cuda.In(np.arange(64.0) / 3), cuda.Out(np.empty(64)), grid=(1, 1), block=(8, 8, 1))
"""

HISTOGRAM = """
histogram = kernel('''__global__ void histogram(const unsigned char *data, unsigned *bins, unsigned *tickets)
{
    unsigned char b = data[blockIdx.x * 32 + threadIdx.x];
    atomicAdd(&bins[b], 1u);
    tickets[threadIdx.x] = atomicAdd(&tickets[32], 3u);
}''', "histogram")
data = np.random.default_rng(6).integers(0, 4, 64, dtype=np.uint8)
histogram(cuda.In(data), cuda.InOut(np.zeros(4, np.uint32)), cuda.InOut(np.zeros(33, np.uint32)), grid=(2, 1),
          block=(32, 1, 1))
"""


class Trace:
    """A trace, unpacked."""

    def __init__(self, text: str) -> None:
        self.raw: dict[str, Any] = json.loads(text)
        assert self.raw["format"] == "softcuda trace 1"

    def steps(self, ptx: str = "", warp: int | None = None, line: int = 0) -> list[dict[str, Any]]:
        """Of PTX instructions that begin so, every key there, rows spread over lanes."""
        out = []
        for warp_, index, *more in (step for step in self.raw["steps"] if step[0] != "barrier"):
            operation = self.raw["operations"][index]
            if not operation["ptx"].startswith(ptx) or warp not in (None, warp_) or line not in (0, operation["line"]):
                continue
            step = more[0] if more else {}
            lanes = self.lanes(step.get("lanes", self.present(warp_)))
            rows = {
                name: [self.row(row, lanes) if type_ != "pred" else self.lanes(row)
                       for row, (_, type_) in zip(step[name], operation[name], strict=True)]
                for name in ("results", "stores") if name in step
            }  # fmt: skip
            access = {}
            for memory, _, at, *mask in step.get("access", []):
                name = self.raw["memories"][memory]["name"]
                access[name] = self.row(at, self.lanes(mask[0]) if mask else lanes)
            out.append({"warp": warp_, "lanes": lanes, "access": access, "taken": step.get("taken"), **rows})
        return out

    def present(self, warp: int) -> int:
        return (1 << min(32, int(np.prod(self.raw["block"])) - 32 * warp)) - 1

    @staticmethod
    def lanes(mask: int) -> list[int]:
        return [lane for lane in range(32) if mask >> lane & 1]

    @staticmethod
    def row(row: Any, lanes: list[int]) -> list[Any]:
        if isinstance(row, dict) and "by" in row:
            return [row["from"] + row["by"] * (lane - lanes[0]) for lane in lanes]
        return row if isinstance(row, list) else [row] * len(lanes)


@pytest.fixture
def run(tmp_path):
    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(HEAD + program)
        command = [sys.executable, "-m", "softcuda", "trace", *arguments]
        environment = os.environ | {"SOFTCUDA_QUIET": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def trace(run, tmp_path):
    def trace(program: str, *arguments: str) -> Trace:
        done = run(program, *arguments, "-o", "trace.json", "program.py")
        assert done.returncode == 0, done.stderr
        return Trace((tmp_path / "trace.json").read_text())

    return trace


# --- what a block does ------------------------------------------------------------------------------------------------


def test_a_reduction_of_two_warps(trace):
    of = trace(SUM, "--kernel", "sum", "--block", "2", "--launch", "2")
    assert (of.raw["launch"], of.raw["traced"], of.raw["complete"]) == (2, [2, 0, 0], True)
    a = 2 * np.random.default_rng(5).random(256, dtype=np.float32)
    tile = a[128:192].reshape(2, 32)
    loads = of.steps("ld.global")
    assert [step["warp"] for step in loads] == [0, 1]
    for warp, step in enumerate(loads):
        assert step["access"] == {"a": [4 * (128 + 32 * warp + lane) for lane in range(32)]}
        assert np.array_equal(np.float32(step["results"][0]), tile[warp])
    for warp in (0, 1):
        level = tile[warp].copy()
        for add, d in zip(of.steps("add.f32", warp, line=6), (16, 8, 4, 2, 1), strict=True):
            level[: 32 - d] += level[d:].copy() if d < 32 else 0
            level[32 - d :] *= 2  # lanes with nobody d further read themselves
            assert np.array_equal(np.float32(add["results"][0]), level)
        [store] = of.steps("st.shared", warp)
        assert (store["lanes"], store["access"]) == ([0], {"part": [4 * warp]})
        assert np.float32(store["stores"][0][0]) == level[0]
    at = of.raw["steps"].index(["barrier", 0, 64])
    told = [of.raw["operations"][step[1]]["ptx"] for step in of.raw["steps"][:at]]
    assert told.count("bar.sync") == 2, "both warps come before it opens"
    [store] = of.steps("st.global")
    parts = [step["results"][0][0] for step in of.steps("ld.shared")]
    assert store["access"] == {"out": [8]}
    assert np.float32(store["stores"][0][0]) == np.float32(parts[0]) + np.float32(parts[1])
    assert of.raw["source"][0]["6"] == "        s += __shfl_down_sync(~0u, s, d);"


def test_divergence(trace):
    of = trace(PARTING, "--kernel", "part")
    others = of.steps("st.global", 0, line=8)
    lanes = [lane for lane in range(32) if lane % 3]
    assert [step["lanes"] for step in others] == [lanes]
    assert others[0]["stores"] == [[2**32 - lane for lane in lanes]], "nvcc stores int as u32"
    assert others[0]["access"] == {"out": [4 * lane for lane in lanes]}
    looping = [step["lanes"] for step in of.steps("st.global", 0) if step["lanes"] != lanes]
    for lane in range(0, 32, 3):
        assert sum(lane in step for step in looping) in (1, lane), "a store an iteration, or one of them all"
    # The last of them hold what the loop has made.
    final = np.arange(40, dtype=np.int32)
    for step in of.steps("st.global"):
        for value, at in zip(step["stores"][0], step["access"]["out"], strict=True):
            final[at // 4] = np.uint32(value).astype(np.int32)
    i = np.arange(40)
    assert np.array_equal(final, np.where(i % 3 == 0, i + 7 * i, -i))
    branches = [step for step in of.steps("bra", 0) if step["taken"] is not None]
    assert any(0 < len(of.lanes(step["taken"])) < len(step["lanes"]) for step in branches)
    assert all(set(of.lanes(step["taken"])) <= set(step["lanes"]) for step in branches)
    assert max(max(step["lanes"]) for step in of.steps(warp=1)) == 7, "the second warp has 8 lanes"


def test_a_transposition_in_shared_memory(trace):
    of = trace(TRANSPOSE, "--kernel", "transpose")
    matrix = (np.arange(64) / 3).reshape(8, 8)
    stored = np.full(72, np.nan)
    for step in of.steps("st.shared.f64"):
        stored[np.array(step["access"]["tile"]) // 8] = step["stores"][0]
    assert np.array_equal(stored.reshape(8, 9)[:, :8], matrix)
    out = np.full(64, np.nan)
    for step in of.steps("st.global.f64"):
        out[np.array(step["access"]["out"]) // 8] = step["stores"][0]
    assert np.array_equal(out.reshape(8, 8), matrix.T)
    for step in of.steps("ld.shared.f64"):
        t = np.arange(32) + 32 * step["warp"]
        assert step["access"] == {"tile": list(8 * (t % 8 * 9 + t // 8))}
    assert {"space": "shared", "name": "tile", "bytes": 576} in of.raw["memories"]


def test_atomics(trace):
    of = trace(HISTOGRAM, "--kernel", "histogram", "--block", "1")
    data = np.random.default_rng(6).integers(0, 4, 64, dtype=np.uint8)[32:]
    [load] = of.steps("ld.global")
    assert load["results"][0] == list(data)
    [count] = [step for step in of.steps("red.global") + of.steps("atom.global") if "bins" in step["access"]]
    assert count["access"]["bins"] == list(4 * data.astype(int)) and count["stores"] == [[1] * 32]
    [ticket] = [step for step in of.steps("atom.global") if "tickets" in step["access"]]
    assert ticket["results"][0] == [3 * lane + 96 for lane in range(32)], "after the 32 lanes of block 0"


def test_every_run_gives_the_same_bytes(run, tmp_path):
    for name in ("one.json", "two.json"):
        assert run(SUM, "--kernel", "sum", "-o", name, "program.py").returncode == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert (tmp_path / "one.json").stat().st_size < 25_000, "105 steps, most with 32 floats"


# --- what is not there ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kernel", "product"], "no kernel product was launched; launched were sum (2 times)"),
        (["--kernel", "sum", "--launch", "3"], "sum was launched 2 times, so there is no launch 3"),
        (["--kernel", "sum", "--block", "4"], "block (4,0,0) is not in the grid of 4x1x1"),
    ],
)
def test_nothing_to_trace(run, tmp_path, arguments, told):
    done = run(SUM, *arguments, "-o", "trace.json", "program.py")
    assert (done.returncode, done.stdout) == (1, "ran\n")
    assert done.stderr.strip() == f"softcuda: nothing traced: {told}"
    assert not (tmp_path / "trace.json").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "trace which kernel?"),
        (["--kernel", "sum"], "trace what? softcuda trace program.py, or softcuda trace -m module"),
        (["--kernel", "sum", "--block", "1,x", "program.py"], "--block needs a block's index, such as 3 or 3,1,0,"),
        (["--kernel", "sum", "--launch", "0", "program.py"], "--launch needs a whole number from 1 on, not 0"),
        (["--kernel", "sum", "-o", "no/trace.json", "program.py"], "there is no folder"),
        (["--kernel", "sum", "absent.py"], "no program absent.py"),
    ],
)
def test_bad_arguments(run, arguments, told):
    done = run(SUM, *arguments)
    assert done.returncode == 1 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_no_more_steps_than_asked_for(run, tmp_path):
    done = run(SUM, "--kernel", "sum", "--steps", "50", "-o", "trace.json", "program.py")
    assert done.returncode == 0
    assert "the block has 105 steps, and these are the first 50; --steps N for more" in done.stderr
    of = Trace((tmp_path / "trace.json").read_text())
    assert len(of.steps()) == 50 and of.raw["steps_in_block"] == 105 and not of.raw["complete"]


def test_a_program_that_fails_keeps_its_ending(run, tmp_path):
    done = run(SUM + "raise SystemExit(7)\n", "--kernel", "sum", "-o", "trace.json", "program.py")
    assert done.returncode == 7
    assert Trace((tmp_path / "trace.json").read_text()).raw["complete"]


def test_a_launch_that_fails(run, tmp_path):
    program = SUM.replace("out[blockIdx.x] = part[0]", "out[threadIdx.x + 4000000] = part[0]")
    done = run(program, "--kernel", "sum", "-o", "trace.json", "program.py")
    assert done.returncode == 1 and "the trace is partial: illegal address: kernel sum" in done.stderr
    of = Trace((tmp_path / "trace.json").read_text())
    assert not of.raw["complete"] and of.steps()[-1]["stores"], "up to the store that failed"


ENDLESS = """
spin = kernel('__global__ void spin(volatile int *a) { while (a[0] == 0); }', "spin")
zero = cuda.to_device(np.zeros(1, np.int32))
spin(zero, grid=(1, 1), block=(32, 1, 1))
"""


def test_a_launch_that_never_ends_is_told_as_far_as_it_went(tmp_path):
    of = interrupted(tmp_path, ENDLESS, "spin")
    assert not of.raw["complete"] and of.raw["message"] == "the program ended before the launch did"
    assert len(of.steps()) >= 256


def test_an_interrupted_run_tells_what_it_has(tmp_path):
    assert interrupted(tmp_path, SUM, "sum").raw["complete"], "the block was done"


def interrupted(tmp_path, source: str, kernel: str) -> Trace:
    """Of a program that is ended by a signal."""
    ending = "import time\ntime.sleep(1)\nprint('waits', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "program.py").write_text(HEAD + source + ending)
    command = [sys.executable, "-m", "softcuda", "trace", "--kernel", kernel, "-o", "trace.json", "program.py"]
    settings = os.environ | {"SOFTCUDA_QUIET": "1"}
    with background(command, cwd=tmp_path, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while b"waits" not in (line := running.stdout.readline()):
            assert line, "the program has ended"
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert running.returncode == -signal.SIGTERM
    return Trace((tmp_path / "trace.json").read_text())
