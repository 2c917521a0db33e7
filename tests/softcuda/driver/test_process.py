"""The environment, and how processes begin and end."""

from __future__ import annotations

import pytest

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
    ],
)
def test_bad_settings_are_one_line(program, name, value, wanted):
    done = program(START, **{name: value})
    assert done.stderr == f"softcuda: {name}={value} is not {wanted}\n"
    assert done.stdout == "cuInit failed: invalid argument\n"


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
