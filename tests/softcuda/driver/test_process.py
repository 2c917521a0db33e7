"""The environment, and how processes begin and end."""

from __future__ import annotations

import re

import native
import pytest

from softcuda import _settings

START = """
import pycuda.driver as cuda
try:
    cuda.init()
    print(cuda.Device(0).total_memory(), cuda.Device(0).name())
except cuda.Error as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("size", "bytes"), [("2G", 2 << 30), ("512MiB", 512 << 20), ("1.5g", 3 << 29), ("65536", 65536)]
)
def test_memory_size(program, size, bytes):
    assert program(START, SOFTCUDA_MEMORY=size).stdout.split()[0] == str(bytes)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("SOFTCUDA_MEMORY", "2X", "a size such as 2G or 512M"),
        ("SOFTCUDA_MEMORY", "-1", "a size such as 2G or 512M"),
        ("SOFTCUDA_THREADS", "many", "a number of threads from 1 to 1024"),
        ("SOFTCUDA_SEED", "0x1", "a whole number (0: no shuffling)"),
        ("SOFTCUDA_TIMEOUT", "nan", "a number of seconds a launch may take (0: no limit)"),
        (
            "SOFTCUDA_OPTIMISE", "affine,dot",
            "all, none, or some of registers, hoisting, plans, dots, affine, lockstep, with commas (no-dots: without)",
        ),
        ("SOFTCUDA_INSPECT", "profile", "profile:FOLDER, check:FOLDER or trace:FOLDER"),
    ],
)  # fmt: skip
def test_bad_settings_are_one_line(program, name, value, wanted):
    done = program(START, **{name: value})
    assert done.stderr == f"softcuda: {name}={value} is not {wanted}\n"
    assert done.stdout == "cuInit failed: invalid argument\n"


@pytest.mark.parametrize("level", ["foo", "AVX2", "avx1024"])
def test_an_unknown_simd_level_is_refused(program, level):
    done = program(START, SOFTCUDA_SIMD=level)
    levels = ", ".join(native.levels())
    assert done.stderr == f"softcuda: SOFTCUDA_SIMD={level} is not one of {levels}, which this CPU has\n"
    assert done.stdout == "cuInit failed: invalid argument\n"


def test_every_simd_level_of_this_cpu_can_be_asked_for(program):
    for level in native.levels():
        assert program(START, SOFTCUDA_SIMD=level).stdout.endswith("(softcuda)\n")


def test_settings_that_change_are_looked_at_again(program):
    """Launches read some of them anew."""
    done = program("""
import os
import pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule
kernel = SourceModule("__global__ void k() {}").get_function("k")
for value in ("0", "2"):
    os.environ["SOFTCUDA_THREADS"] = value
    try:
        kernel(block=(1, 1, 1))
        print("ran")
    except cuda.Error as error:
        print(error)
""")
    assert done.stderr == "softcuda: SOFTCUDA_THREADS=0 is not a number of threads from 1 to 1024\n"
    assert done.stdout == "cuLaunchKernel failed: invalid argument\nran\n"


# As a program in any other language calls it.
INIT = """
import ctypes
from softcuda import _toolkit
print(ctypes.CDLL(str(_toolkit.library())).cuInit(0))
"""


@pytest.mark.parametrize(
    ("name", "hint"),
    [("SOFTCUDA_SMID", "; did you mean SOFTCUDA_SIMD?"), ("SOFTCUDA_TREADS", "; did you mean SOFTCUDA_THREADS?"),
     ("SOFTCUDA_", ""), ("SOFTCUDA_ANYTHING_ELSE", "")],
)  # fmt: skip
def test_a_setting_that_there_is_not_is_refused(program, name, hint):
    message = f"softcuda: {name} is no setting of softcuda's{hint}\n"
    driver = program(INIT, **{name: "1"})
    assert (driver.stdout, driver.stderr) == ("1\n", message), "by the driver"
    package = program("import pycuda.driver", **{name: "1"})
    assert package.returncode == 1 and package.stderr.endswith(f"SelectError: {message}"), "and by the package"


def test_package_and_driver_know_the_same_settings(program):
    """With values that say nothing, none is refused."""
    source = (native.SOURCE / "driver" / "settings.cpp").read_text()
    listed = source.partition("names[] = {")[2].partition("};")[0]
    assert tuple(re.findall(r'"(\w+)"', listed)) == _settings.NAMES
    documented = set(re.findall(r"SOFTCUDA_\w+", (native.SOFTCUDA / "README.md").read_text()))
    assert documented <= set(_settings.NAMES)
    nothing = {name: "" for name in _settings.NAMES if name not in native.clean_environment()}
    assert program(START, **nothing | {"SOFTCUDA_QUIET": "1"}).stderr == ""


def test_device_is_chosen_by_name(program):
    assert "T4 (softcuda)" in program(START, SOFTCUDA_DEVICE="t4").stdout


def test_child_of_fork_has_no_device(program):
    done = program("""
import os, pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).make_context()
if os.fork() == 0:
    try:
        cuda.mem_alloc(4)
    except cuda.Error as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
cuda.mem_alloc(4).free()
context.pop()
""")
    assert done.stdout == "cuMemAlloc failed: initialization error\n" and done.returncode == 0, done.stderr


@pytest.mark.parametrize("ending", ["", "import os; os._exit(3)", "import sys; sys.exit(3)", "raise SystemExit(3)"])
def test_process_may_end_while_a_kernel_runs(program, ending):
    done = program(f"""
import pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule
kernel = SourceModule("__global__ void k(unsigned *a) {{ for (int i = 0; i < 1000000; i++) a[0] = a[0] * 3 + 1; }}")
data = cuda.mem_alloc(4)
kernel.get_function("k")(data, block=(1, 1, 1))
{ending}
""")
    assert done.returncode == (3 if ending else 0) and not done.stderr, done.stderr


def test_printf_appears_at_synchronisation(program):
    done = program("""
import pycuda.autoinit
from pycuda.compiler import SourceModule
module = SourceModule('#include <cstdio>\\n__global__ void k() { printf("hello from %d\\\\n", threadIdx.x); }')
module.get_function("k")(block=(3, 1, 1))
pycuda.autoinit.context.synchronize()
print("after", flush=True)
""")
    assert done.stdout == "hello from 0\nhello from 1\nhello from 2\nafter\n", done.stderr
