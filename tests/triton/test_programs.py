"""Whole Triton programs, unchanged: without PyTorch, on PyCUDA's arrays."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

START = """
import numpy as np
import triton
import triton.language as tl
import pycuda.autoprimaryctx
from pycuda import gpuarray
"""

ADD = (
    START
    + """
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b, mask=i < n)

x, y = np.random.rand(2, 1000).astype(np.float32)
out = gpuarray.empty(1000, np.float32)
add[(triton.cdiv(1000, 256),)](gpuarray.to_gpu(x), gpuarray.to_gpu(y), out, 1000, BLOCK=256)
assert np.array_equal(out.get(), x + y)
print("right")
"""
)


@pytest.mark.parametrize("command", [[], ["run"]], ids=["python", "softcuda run"])
def test_a_program_runs_unchanged(run, command):
    done = run(ADD, *command, SOFTCUDA_QUIET="0")
    assert done.stdout == "right\n", done.stderr
    assert done.stderr == 'softcuda: as asked (SOFTCUDA=force): running on the CPU as "NVIDIA H200 (softcuda)"\n'


@pytest.mark.parametrize("order", [["triton", "pycuda.gpuarray"], ["pycuda.gpuarray", "triton"]])
def test_arrays_are_tensors_whichever_is_imported_first(run, order):
    imports = "".join(f"import {name}\n" for name in order)
    assert run(imports + ADD).stdout == "right\n"


def test_a_kernel_is_compiled_once(run):
    cache = run.folder / "kernels"
    assert run(ADD, TRITON_CACHE_DIR=str(cache)).stdout == "right\n"
    [compiled] = cache.glob("*/add.cubin")
    image = compiled.read_text()
    assert image.count("// softcuda: kernel=add registers=") == 1
    assert ".entry add" in image
    before = compiled.stat().st_mtime_ns
    assert run(ADD, TRITON_CACHE_DIR=str(cache)).stdout == "right\n"
    assert list(cache.glob("*/add.cubin")) == [compiled]
    assert compiled.stat().st_mtime_ns == before


# --- profile, trace, check --------------------------------------------------------------------------------------------


def test_profile_counts_by_python_line(run):
    file = run.folder / "counts.json"
    done = run(ADD, "profile", "--json", str(file))
    assert done.stdout == "right\n", done.stderr
    [launch] = json.loads(file.read_text())
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("add", [4, 1, 1], [128, 1, 1])
    assert launch["metrics"]["launch__registers_per_thread"] > 0
    sectors = {
        line["source"].strip(): line["metrics"].get("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
        for line in launch["lines"]
    }
    assert {Path(line["file"]).name for line in launch["lines"]} == {"program.py"}
    assert sectors["a = tl.load(x + i, mask=i < n)"] == sectors["b = tl.load(y + i, mask=i < n)"] > 0


def test_a_comment_that_begins_with_line_moves_nothing(run):
    """In CUDA C++ `# line 7` renumbers what follows."""
    file = run.folder / "counts.json"
    run(ADD.replace("    a = tl", "    # line 7 of the algorithm\n    a = tl"), "profile", "--json", str(file))
    [launch] = json.loads(file.read_text())
    assert "a = tl.load(x + i, mask=i < n)" in {line["source"].strip() for line in launch["lines"]}


def test_lines_after_inline_assembly_are_those_of_the_source(run):
    source = (
        START
        + """
@triton.jit
def count_bits(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.inline_asm_elementwise(
        '''{
            .reg .b32 t;
            xor.b32 t, $1, 0;
            popc.b32 $0, t;
        }''', "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1))

x = np.arange(64, dtype=np.int32)
out = gpuarray.zeros(64, np.int32)
count_bits[(1,)](gpuarray.to_gpu(x), out, BLOCK=64)
assert np.array_equal(out.get(), [bin(value).count("1") for value in x])
"""
    )
    file = run.folder / "counts.json"
    done = run(source, "profile", "--json", str(file))
    assert done.returncode == 0, done.stderr
    [launch] = [launch for launch in json.loads(file.read_text()) if launch["kernel"] == "count_bits"]
    lines = {line["line"] for line in launch["lines"]}
    assert lines
    kernel = {number for number, line in enumerate(source.splitlines(), 1) if line.startswith(("def count", "    "))}
    assert lines <= kernel


def test_trace_names_python_lines(run):
    done = run(ADD, "trace", "--kernel", "add", "-o", "add.json")
    assert done.returncode == 0, done.stderr
    trace = json.loads((run.folder / "add.json").read_text())
    assert trace["complete"]
    [lines] = trace["source"]
    assert "    tl.store(out + i, a + b, mask=i < n)" in lines.values()
    assert {operation["file"] for operation in trace["operations"]} == {0}


def test_check_finds_nothing_in_a_program_that_is_right(run):
    done = run(ADD, "check")
    assert done.returncode == 0
    assert "nothing found" in done.stdout + done.stderr


DEFECTS = {
    "between programs": (
        "tl.store(x + i, i + tl.program_id(0))",
        "race",
        "programs run in any order",
    ),
    "between threads": (
        "tl.store(x + i, i); tl.store(out + i, tl.load(x + BLOCK - 1 - i))",
        "race",
        "tl.debug_barrier()",
    ),
    "one element": ("tl.store(x + i // 2, i)", "race", "tl.atomic_add"),
    "unwritten": ("tl.store(out + i, tl.load(unwritten + i))", "uninitialised", "gpuarray.zeros"),
    "beyond the end": ("tl.store(x + i + 200, i)", "out-of-bounds", "mask=offsets < n"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_check_finds_a_defect_and_its_hint_speaks_triton(run, defect):
    body, kind, hint = DEFECTS[defect]
    source = f"""{START}
@triton.jit
def kernel(x, out, unwritten, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    {body}

def new():
    return gpuarray.to_gpu(np.zeros(256, np.int32))

kernel[(2 if {defect == "between programs"} else 1,)](new(), new(), gpuarray.empty(256, np.int32), BLOCK=256)
pycuda.autoprimaryctx.context.synchronize()
"""
    file = run.folder / "findings.json"
    run(source, "check", "--json", str(file))
    findings = [finding for finding in json.loads(file.read_text())["findings"] if finding["kind"] == kind]
    assert findings
    assert any(hint in finding["hint"] for finding in findings)
    for finding in findings:
        assert finding["first"]["source"] == body
        assert "__sync" not in finding["hint"] + finding["text"]


def test_a_barrier_orders_what_threads_of_a_program_store_and_load(run):
    source = (
        START
        + """
@triton.jit
def turn(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i)
    tl.debug_barrier()
    tl.store(out + i, tl.load(x + BLOCK - 1 - i))

x, out = (gpuarray.to_gpu(np.zeros(256, np.int32)) for _ in range(2))
turn[(1,)](x, out, BLOCK=256)
assert np.array_equal(out.get(), np.arange(256)[::-1])
"""
    )
    done = run(source, "check")
    assert "nothing found" in done.stdout + done.stderr


# --- what PyTorch does elsewhere --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_autotune_and_do_bench(run, kind):
    done = run(
        START
        + f"kind = np.{kind}\n"
        + """
import sys
configurations = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((128, 1), (512, 4))]

@triton.autotune(configurations, key=["n"], reset_to_zero=["count"], restore_value=["x"])
@triton.jit
def double(x, count, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    tl.atomic_add(count + tl.arange(0, 1), 1)

values = np.arange(1000).astype(kind)
x, count = gpuarray.to_gpu(values), gpuarray.to_gpu(np.full(1, 7, np.int32))
grid = lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)
double[grid](x, count, 1000)
assert np.array_equal(x.get(), 2 * values), "the timed launches changed x"
assert count.get()[0] == triton.cdiv(1000, double.best_config.kwargs["BLOCK"]), "nor were they counted"
low, middle, high = triton.testing.do_bench(
    lambda: double[grid](x, count, 1000), warmup=1, rep=5, quantiles=[0.1, 0.5, 0.9])
assert 0 < low <= middle <= high
assert "torch" not in sys.modules
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("device", ["a100", "h200"])
def test_tensor_descriptors(run, device):
    done = run(START + """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def double(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    place = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    out.store(place, 2 * x.load(place))

@triton.jit
def double_here(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    place = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.store(place, 2 * source.load(place))

x = np.random.rand(70, 36).astype(np.float32)
X, first, second = gpuarray.to_gpu(x), gpuarray.zeros(x.shape, np.float32), gpuarray.zeros(x.shape, np.float32)
described = [TensorDescriptor.from_tensor(tensor, [32, 32]) for tensor in (X, first)]
double[(3, 2)](*described, ROWS=32, COLUMNS=32)
triton.set_allocator(lambda size, alignment, stream: gpuarray.empty(size, np.int8))
double_here[(3, 2)](X, second, 70, 36, ROWS=32, COLUMNS=32)
assert np.array_equal(first.get(), 2 * x) and np.array_equal(second.get(), 2 * x)
""", SOFTCUDA_DEVICE=device)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_print_and_assert_in_a_kernel(run):
    done = run(
        START
        + """
@triton.jit
def show(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.device_print("value", value)
    tl.device_assert(value < 3, "too large")

x = gpuarray.to_gpu(np.arange(4, dtype=np.int32))
show[(1,)](x, BLOCK=4, num_warps=1, debug=True)
pycuda.autoprimaryctx.context.synchronize()
"""
    )
    assert "idx (2) value: 2" in done.stdout
    assert re.search(r"program.py:13: .*Assertion `too large` failed", done.stderr)
    assert "device-side assert triggered" in done.stderr


# --- what is wrong ----------------------------------------------------------------------------------------------------


def test_assembly_that_ptxas_rejects_is_named_by_its_python_line(run):
    done = run(
        START
        + """
@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.inline_asm_elementwise("frobnicate.b32 $0, $1;", "=r,r", [i], tl.int32, True, 1))

kernel[(1,)](gpuarray.zeros(32, np.int32), BLOCK=32)
"""
    )
    assert done.returncode != 0
    assert re.search(r"softcuda: this comes from \S*program.py, line 11", done.stdout + done.stderr)


@pytest.mark.parametrize("version", ["3.7.1", "2.1.0"])
def test_a_triton_that_is_too_old_is_one_line(run, version):
    (run.folder / "triton").mkdir()
    (run.folder / "triton" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    path = f"{run.folder}:{os.environ['PYTHONPATH']}"
    done = run("import triton\nprint('imported')\n", "run", PYTHONPATH=path)
    assert done.returncode != 0
    message = f"Triton {version} is too old: softcuda runs Triton 3.8 and newer: pip install 'triton>=3.8'"
    assert done.stderr.splitlines()[-1].endswith(f"softcuda: {message}")


def test_no_c_compiler_is_one_line(run):
    done = run(ADD, PATH="/nowhere", TRITON_CACHE_DIR=str(run.folder / "kernels"))
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "RuntimeError: softcuda: Triton needs a C compiler and there is no gcc on PATH: apt-get install gcc"
    )


def test_looking_for_triton_starts_nothing(run):
    """Libraries look for it to know whether it is there."""
    done = run("import importlib.util\nprint(importlib.util.find_spec('triton').name)\n", SOFTCUDA_QUIET="0")
    assert (done.stdout, done.stderr) == ("triton\n", "")


def test_the_interpreter_is_left_alone(run):
    done = run("import triton, sys\nprint('softcuda._triton_driver' in sys.modules)\n", SOFTCUDA_QUIET="0",
               TRITON_INTERPRET="1")  # fmt: skip
    assert (done.stdout, done.stderr) == ("False\n", "")
