"""Programs of other Python libraries that hand PTX to the driver, unchanged: cuda.core, cuda.bindings, numba-cuda."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# NVRTC makes PTX, the driver loads it, buffers come from the device's memory pool.
CUDA_CORE = """
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device()
device.set_current()
stream = device.create_stream()
source = r'''
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a * x[i] + y[i];
}
'''
program = Program(source, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
saxpy = program.compile("ptx").get_kernel("saxpy")
n = 1000
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.full(n, np.nan, np.float32)
buffers = [device.allocate(x.nbytes, stream=stream) for _ in range(3)]
for buffer, array in zip(buffers, (x, y)):
    assert driver.cuMemcpyHtoDAsync(int(buffer.handle), array.ctypes.data, array.nbytes, stream.handle) == (0,)
launch(stream, LaunchConfig(grid=4, block=128), saxpy, np.float32(2), *buffers, np.uint64(n))
assert driver.cuMemcpyDtoHAsync(out.ctypes.data, int(buffers[2].handle), out.nbytes, stream.handle) == (0,)
stream.sync()
assert np.array_equal(out, 2 * x + 1), out
print(device.name)
"""

# PTX as text, the driver API as it is.
CUDA_BINDINGS = """
import numpy as np
from cuda.bindings import driver

def check(answer):
    assert answer[0] == driver.CUresult.CUDA_SUCCESS, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]

ptx = b'''
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.rn.f32 %f2, %f2, %f1;
    st.global.f32 [%rd3], %f2;
    ret;
}
'''
check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoadData(ptx))
kernel = check(driver.cuModuleGetFunction(module, b"scale"))
host = np.arange(32, dtype=np.float32)
memory = check(driver.cuMemAlloc(host.nbytes))
check(driver.cuMemcpyHtoD(memory, host.ctypes.data, host.nbytes))
arguments = [np.array([int(memory)], np.uint64), np.array([3], np.float32)]
pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
check(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, pointers.ctypes.data, 0))
check(driver.cuCtxSynchronize())
check(driver.cuMemcpyDtoH(host.ctypes.data, memory, host.nbytes))
assert np.array_equal(host, 3 * np.arange(32)), host
check(driver.cuMemFree(memory))
print(check(driver.cuDeviceGetName(64, device)).split(b"\\0")[0].decode())
"""

# A reduction in shared memory, its parts added with an atomic.
NUMBA_CUDA = """
import numpy as np
from numba import cuda, float32

@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] if i < x.size else 0
    step = 64
    while step > 0:
        cuda.syncthreads()
        if t < step:
            part[t] += part[t + step]
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])

x, out = np.arange(1000, dtype=np.float32), cuda.to_device(np.zeros(1, np.float32))
total[8, 128](cuda.to_device(x), out)
assert out.copy_to_host()[0] == x.sum(), out.copy_to_host()
name = cuda.get_current_device().name
print(name.decode() if isinstance(name, bytes) else name)
"""

PROGRAMS = {"cuda.core": CUDA_CORE, "cuda.bindings": CUDA_BINDINGS, "numba-cuda": NUMBA_CUDA}


@pytest.mark.parametrize("library", PROGRAMS)
@pytest.mark.parametrize("command", [[], ["-m", "softcuda", "run"]], ids=["python", "softcuda run"])
def test_program(library, command, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[library])
    environment = {key: value for key, value in os.environ.items() if key not in ("SOFTCUDA", "SOFTCUDA_QUIET")}
    environment |= {"SOFTCUDA": "force", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    done = subprocess.run(
        [sys.executable, *command, path], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.stdout == "NVIDIA H200 (softcuda)\n", done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("softcuda: as asked (SOFTCUDA=force)"), done.stderr


def test_a_cubin_is_refused_in_one_sentence(program):
    done = program("""
from cuda.core import Device, Program, ProgramOptions
device = Device()
device.set_current()
kernel = 'extern "C" __global__ void k() {}'
try:
    Program(kernel, code_type="c++", options=ProgramOptions(arch="sm_90")).compile("cubin").get_kernel("k")
except Exception as error:
    print(type(error).__name__)
""", SOFTCUDA_QUIET="0")  # fmt: skip
    assert done.stdout == "CUDAError\n", done.stderr
    assert "machine code for a GPU (cubin or fatbin); softcuda runs PTX" in done.stderr
