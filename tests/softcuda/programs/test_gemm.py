"""The matrix product of bench/gemm/tensor.cu, whole: tensor maps, tensor loads and stores, multicast in a cluster,
mbarriers between a producer and two consumers, wgmma; and `softcuda check` finds nothing in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import native
import pytest

PROGRAM = r'''
"""python gemm.py BENCH CLUSTER [FENCE]: the product; without the fence before it is stored, if FENCE is given."""

import ast
import ctypes
import sys
import tempfile
from pathlib import Path

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda import compiler

bench, cluster = Path(sys.argv[1]), int(sys.argv[2])
BN, STAGES, GROUP, M, N, K = 128, 3, 2, 264, 136, 208
tree = ast.parse((bench / "tune.py").read_text())  # which needs torch: only its text for wgmma.h
[made] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "wgmma"]
exec(compile(ast.Module([made], []), "tune.py", "exec"))
folder = Path(tempfile.mkdtemp())
(folder / "wgmma.h").write_text(wgmma(BN, "f16"))
text = (bench / "tensor.cu").read_text()
if sys.argv[3:]:
    assert text.count(sys.argv[3]) == 1
    text = text.replace(sys.argv[3], "")
defines = {"KIND": "f16", "ELEMENT": 2, "BN": BN, "STAGES": STAGES, "CLUSTER": cluster, "GROUP": GROUP, "OUTF16": 1}
options = [f"-D{key}={value}" for key, value in defines.items()] + ["-std=c++17", "-lineinfo", f"-I{folder}"]
image = compiler.compile(text, options=options, arch="sm_90a", no_extern_c=True)
library = ctypes.CDLL("libcuda.so.1")
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()  # not PyCUDA's: its packed arguments cannot carry a tensor map
assert library.cuModuleLoadData(ctypes.byref(module), image) == 0
assert library.cuModuleGetFunction(ctypes.byref(kernel), module, b"hgemm") == 0


def tensor_map(matrix, address, rows):
    """In boxes of `rows` x 64 halves, with the swizzle of 128 bytes."""
    buffer = np.zeros(192, np.uint8)
    place = buffer[-buffer.ctypes.data % 64 :][:128]
    sizes = (ctypes.c_uint64 * 2)(matrix.shape[1], matrix.shape[0]), (ctypes.c_uint64 * 1)(matrix.shape[1] * 2)
    box = (ctypes.c_uint32 * 2)(64, rows), (ctypes.c_uint32 * 2)(1, 1)
    where = ctypes.c_void_p(place.ctypes.data), 6, 2, ctypes.c_void_p(int(address))
    assert library.cuTensorMapEncodeTiled(*where, *sizes, *box, 0, 3, 2, 0) == 0
    return place


a, b = (np.random.default_rng(i).standard_normal((rows, K)).astype(np.float16) for i, rows in enumerate((M, N)))
c = np.full((M, N), 99, np.float16)
on_device = [cuda.to_device(x) for x in (a, b, c)]
maps = [tensor_map(*made) for made in zip((a, b, c), on_device, (128, BN // cluster, 64))]
shared = STAGES * (128 + BN) * 128 + 32768 + 16 * STAGES + 1024
assert library.cuFuncSetAttribute(kernel, 8, shared) == 0  # the most of dynamic shared memory
tiles = -(-M // (128 * cluster)) * -(-N // BN)
rest = ctypes.c_uint64(int(on_device[2])), *map(ctypes.c_int, (M, N, K))
params = (ctypes.c_void_p * 7)(*(one.ctypes.data for one in maps), *map(ctypes.addressof, rest))
grid = min(tiles, 2) * cluster
assert library.cuLaunchKernel(kernel, grid, 1, 1, 384, 1, 1, shared, None, params, None) == 0
got = cuda.from_device(on_device[2], (M, N), np.float16).astype(float)
want = a.astype(float) @ b.astype(float).T
print("error", abs(got - want).max() / abs(want).max())
'''
BENCH = Path(__file__).parents[3] / "bench" / "gemm"
FENCE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


@pytest.fixture
def gemm(tmp_path: Path):
    (tmp_path / "gemm.py").write_text(PROGRAM)

    def run(*arguments: object, before: tuple[object, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *before, tmp_path / "gemm.py", BENCH, *arguments]
        settings = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1"}
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=settings, timeout=120)

    return run


@pytest.mark.parametrize("cluster", [1, 2])
def test_the_product_is_right(gemm, cluster: int) -> None:
    done = gemm(cluster)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 5e-3


@pytest.mark.parametrize("cluster", [1, 2])
def test_check_finds_nothing_in_it(gemm, cluster: int) -> None:
    done = gemm(cluster, before=("-m", "softcuda", "check"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout


def test_check_finds_the_fence_that_is_missing(gemm, tmp_path: Path) -> None:
    done = gemm(1, FENCE, before=("-m", "softcuda", "check", "--json", tmp_path / "found.json"))
    assert done.returncode == 1, done.stderr
    findings = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert {finding["kind"] for finding in findings} == {"proxy"}
    assert {finding["first"]["instruction"].split(".")[0] for finding in findings} == {"stmatrix"}
