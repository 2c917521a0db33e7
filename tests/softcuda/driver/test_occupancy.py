"""Occupancy against NVIDIA's own calculator, the header cuda_occupancy.h of the compiler packages."""

from __future__ import annotations

import itertools
import subprocess

import pytest

from softcuda import _toolkit

CALCULATOR = """
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include "cuda_occupancy.h"

// Reads the device's eleven numbers, then lines of: registers, static shared, threads, dynamic shared.
int main()
{
    cudaOccDeviceProp p;
    if (scanf("%d %d %d %d %d %d %zu %zu %d %zu %zu", &p.computeMajor, &p.computeMinor, &p.maxThreadsPerBlock,
              &p.maxThreadsPerMultiprocessor, &p.regsPerBlock, &p.regsPerMultiprocessor, &p.sharedMemPerBlock,
              &p.sharedMemPerMultiprocessor, &p.numSms, &p.sharedMemPerBlockOptin, &p.reservedSharedMemPerBlock) != 11)
        return 1;
    p.warpSize = 32;
    int registers, threads;
    size_t fixed, dynamic;
    while (scanf("%d %zu %d %zu", &registers, &fixed, &threads, &dynamic) == 4) {
        cudaOccFuncAttributes f;
        f.maxThreadsPerBlock = 1024;
        f.numRegs = registers;
        f.sharedSizeBytes = fixed;
        f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        f.maxDynamicSharedSizeBytes = p.sharedMemPerBlockOptin - fixed;
        f.numBlockBarriers = 1;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &f, &state, threads, dynamic)) return 2;
        printf("%d\\n", result.activeBlocksPerMultiprocessor);
    }
}
"""

ASKER = """
import ctypes, sys
import pycuda.autoinit, pycuda.driver as cuda
a, get = cuda.device_attribute, cuda.Device(0).get_attribute
print(get(a.COMPUTE_CAPABILITY_MAJOR), get(a.COMPUTE_CAPABILITY_MINOR), get(a.MAX_THREADS_PER_BLOCK),
      get(a.MAX_THREADS_PER_MULTIPROCESSOR), get(a.MAX_REGISTERS_PER_BLOCK), get(a.MAX_REGISTERS_PER_MULTIPROCESSOR),
      get(a.MAX_SHARED_MEMORY_PER_BLOCK), get(a.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), get(a.MULTIPROCESSOR_COUNT),
      get(a.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), end=" ")
lib, reserved = ctypes.CDLL(None), ctypes.c_int()
lib.cuDeviceGetAttribute(ctypes.byref(reserved), 111, 0)
print(reserved.value)
for case in CASES:
    registers, fixed, threads, dynamic = case
    ptx = f'''// softcuda: kernel=k registers={registers} shared={fixed} spill_stores=0 spill_loads=0 stack=0
.version 8.0
.target sm_75
.address_size 64
.visible .entry k() {{ ret; }}
'''
    module, function, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert lib.cuModuleLoadData(ctypes.byref(module), ptx.encode()) == 0
    assert lib.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
    assert lib.cuFuncSetAttribute(function, 8, get(a.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - fixed) == 0
    ask = lib.cuOccupancyMaxActiveBlocksPerMultiprocessor
    assert ask(ctypes.byref(blocks), function, threads, ctypes.c_size_t(dynamic)) == 0
    print(*case, blocks.value)
    lib.cuModuleUnload(module)
"""

CASES = list(
    itertools.product((8, 16, 24, 32, 37, 40, 64, 72, 128, 255), (0, 100, 4096), (1, 32, 96, 128, 160, 256, 512, 1024),
                      (0, 1000, 16384, 40000))
)  # fmt: skip


@pytest.mark.parametrize("device", ["a100", "b200", "h200", "rtx4090", "rtx5090", "t4"])
def test_blocks_per_multiprocessor(program, tmp_path, device):
    asked = program(ASKER.replace("CASES", repr(CASES)), SOFTCUDA_DEVICE=device)
    assert asked.returncode == 0, asked.stderr
    first, *lines = asked.stdout.splitlines()
    assert len(lines) == len(CASES)
    questions = "\n".join([first, *(line.rpartition(" ")[0] for line in lines)])

    (tmp_path / "calculator.cpp").write_text(CALCULATOR)
    include = _toolkit.nvidia() / "include"
    subprocess.run(["g++", "-w", f"-I{include}", "calculator.cpp", "-o", "calculator"], cwd=tmp_path, check=True)
    expected = subprocess.run(
        ["./calculator"], cwd=tmp_path, input=questions, capture_output=True, text=True, check=True
    )
    ours = [line.rpartition(" ")[2] for line in lines]
    wrong = [
        (line, want) for line, mine, want in zip(lines, ours, expected.stdout.split(), strict=True) if mine != want
    ]
    assert not wrong
