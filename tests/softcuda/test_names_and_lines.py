"""What a reader sees of a kernel: its C++ name everywhere, and a word on lines that the PTX does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Softcuda = Callable[..., subprocess.CompletedProcess[str]]

# A C++ kernel, which compilers call _Z5shiftPii: each thread writes what its neighbour reads.
SHIFT = """
import numpy as np, sys
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
SOURCE = "__global__ void shift(int *a, int n) { int i = threadIdx.x; if (i < n) a[i] = a[i + 1]; }"
module = SourceModule(SOURCE, no_extern_c=True)
a = cuda.to_device(np.arange(65, dtype=np.int32))
module.get_function("_Z5shiftPii")(a, np.int32(sys.argv[1]), block=(128, 1, 1), grid=(1, 1))
pycuda.autoinit.context.synchronize()
"""

# PTX as it is without -lineinfo: s[t] is written, s[63 - t] is read.
PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry _Z7reversePi(.param .u64 data)
{
    .reg .b64 %rd<6>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    sub.u64 %rd4, %rd1, %rd2;
    ld.global.u32 %r2, [%rd4+252];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd3], %r2;
    ret;
}
"""
REVERSE = f"""
import sys
import pycuda.autoinit
import pycuda.driver as cuda
module = cuda.module_from_buffer(b'''{PTX}''')
a = cuda.mem_alloc(256)
module.get_function("_Z7reversePi")(a, block=(int(sys.argv[1]), 1, 1), grid=(1, 1))
pycuda.autoinit.context.synchronize()
"""


@pytest.fixture
def softcuda(tmp_path: Path) -> Softcuda:
    """softcuda("check", PROGRAM, arguments ...) in a folder of its own."""

    def run(command: str, program: str, *arguments: str, options: tuple[str, ...] = ()):
        (tmp_path / "program.py").write_text(program)
        settings = os.environ | {"SOFTCUDA_QUIET": "1", "COLUMNS": "200"}
        words = [sys.executable, "-m", "softcuda", command, *options, "program.py", *arguments]
        return subprocess.run(words, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120)

    return run


def test_check_names_the_kernel_as_cpp_has_it_and_json_keeps_both(softcuda: Softcuda, tmp_path: Path) -> None:
    done = softcuda("check", SHIFT, "64")
    assert "in kernel shift(int*, int)\n" in done.stdout and "_Z5shift" not in done.stdout + done.stderr
    softcuda("check", SHIFT, "64", options=("--json", "out.json"))
    findings = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert {(one["kernel"], one["name"]) for one in findings} == {("_Z5shiftPii", "shift(int*, int)")}


def test_a_fault_names_the_kernel_as_cpp_has_it(softcuda: Softcuda) -> None:
    done = softcuda("check", SHIFT, "100")
    assert "softcuda: illegal address: kernel shift(int*, int), block (0,0,0), thread (" in done.stderr
    assert "in kernel shift(int*, int)\n" in done.stdout and "a[i] = a[i + 1]" in done.stdout, "with its line"
    assert "_Z5shift" not in done.stdout + done.stderr


def test_profile_names_the_kernel_as_cpp_has_it_and_json_keeps_both(softcuda: Softcuda, tmp_path: Path) -> None:
    done = softcuda("profile", SHIFT, "64")
    assert "\nshift(int*, int)  (launch 1 of 1;" in done.stdout and "_Z5shift" not in done.stdout
    softcuda("profile", SHIFT, "64", options=("--json", "out.json"))
    [launch] = json.loads((tmp_path / "out.json").read_text())
    assert (launch["kernel"], launch["name"]) == ("_Z5shiftPii", "shift(int*, int)")


def test_trace_takes_the_plain_name_and_its_file_keeps_both(softcuda: Softcuda, tmp_path: Path) -> None:
    softcuda("trace", SHIFT, "64", options=("--kernel", "shift", "-o", "out.json"))
    trace = json.loads((tmp_path / "out.json").read_text())
    assert (trace["kernel"], trace["name"]) == ("_Z5shiftPii", "shift(int*, int)")
    other = softcuda("trace", SHIFT, "64", options=("--kernel", "add"))
    assert other.stderr == "softcuda: nothing traced: no kernel add was launched; launched were shift(int*, int)\n"


# --- without -lineinfo ------------------------------------------------------------------------------------------------


def test_check_says_that_lines_are_unknown(softcuda: Softcuda, tmp_path: Path) -> None:
    done = softcuda("check", REVERSE, "64")
    assert "in kernel reverse(int*)\n" in done.stdout
    assert "writes at PTX line " in done.stdout and "reads at PTX line " in done.stdout
    assert "line unknown: compile with -lineinfo\n" in done.stdout
    assert "between the two accesses" in done.stdout and ":0" not in done.stdout


def test_a_fault_says_that_its_line_is_unknown(softcuda: Softcuda, tmp_path: Path) -> None:
    done = softcuda("check", REVERSE, "96", options=("--json", "out.json"))
    assert "PTX line 13 (st.global.u32); source line unknown: compile with -lineinfo\n" in done.stderr
    [fault] = [one for one in json.loads((tmp_path / "out.json").read_text())["findings"] if "message" in one]
    assert fault["first"]["ptx_line"] == 13 and fault["first"]["thread"] == [64, 0, 0]


def test_profile_says_that_lines_are_unknown(softcuda: Softcuda) -> None:
    done = softcuda("profile", REVERSE, "64")
    assert "line unknown: compile with -lineinfo" in done.stdout and ":0" not in done.stdout


def test_trace_says_that_lines_are_unknown(softcuda: Softcuda) -> None:
    done = softcuda("trace", REVERSE, "64", options=("--kernel", "reverse"))
    assert "line unknown: compile with -lineinfo" in done.stderr
