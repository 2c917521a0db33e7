"""Strided reads of linear memory: plain loads, __ldg and a texture object, side by side. Needs a GPU.

python texture.py   check, and time strides 1 to 32 of 512 MiB
"""

import ctypes

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, PER_SM = 256, 8
WORDS = 2**27  # 512 MiB: what a texture of linear memory may hold in words of 4 bytes
STRIDES = [1, 8, 32]
LINEAR, UNSIGNED_INT32, READ_AS_INTEGER = 2, 3, 1  # of the driver's CUresourcetype, CUarray_format, CU_TRSF_…


class _Linear(ctypes.Structure):
    _fields_ = [
        ("pointer", ctypes.c_uint64),
        ("format", ctypes.c_uint),
        ("channels", ctypes.c_uint),
        ("size", ctypes.c_size_t),
    ]


class _Resource(ctypes.Union):
    _fields_ = [("linear", _Linear), ("reserved", ctypes.c_int * 32)]


class _ResourceDescription(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint), ("resource", _Resource), ("flags", ctypes.c_uint)]


class _TextureDescription(ctypes.Structure):
    _fields_ = [
        ("address_mode", ctypes.c_uint * 3),
        ("filter_mode", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("anisotropy", ctypes.c_uint),
        ("mipmap", ctypes.c_float * 4),
        ("border", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    ]


def texture_of(data: cuda.DeviceAllocation, words: int) -> np.uint64:
    """A texture object of linear memory, one unsigned word a texel."""
    resource = _ResourceDescription(type=LINEAR)
    resource.resource.linear = _Linear(int(data), UNSIGNED_INT32, 1, 4 * words)
    description = _TextureDescription(flags=READ_AS_INTEGER)
    object_ = ctypes.c_uint64()
    library = ctypes.CDLL("libcuda.so.1")  # the one that PyCUDA uses
    status = library.cuTexObjectCreate(ctypes.byref(object_), ctypes.byref(resource), ctypes.byref(description), None)
    if status:
        raise RuntimeError(f"cuTexObjectCreate: error {status}")
    return np.uint64(object_.value)


def main() -> None:
    wb.needs(gpu=True, memory=2**30)
    grid = cuda.Context.get_device().multiprocessor_count * PER_SM
    module = wb.module("memory-access/texture.cu")
    values = np.random.default_rng().integers(0, 2**32, WORDS, np.uint32)
    data, other = cuda.to_device(values), cuda.mem_alloc(2**28)
    sums = cuda.mem_alloc(4 * grid * BLOCK)
    sources = {"plain": data, "read_only": data, "texture": texture_of(data, WORDS)}

    def poison(_: int) -> None:
        cuda.memset_d32_async(other, 0x5A5A5A5A, 2**26)  # pushes the data out of the L2
        cuda.memset_d32_async(sums, 0xDEADBEEF, grid * BLOCK)

    print(
        f"device: {wb.device()['name']}\n\n{'stride':>8}" + "".join(f"{name:>11}" for name in sources) + "   GB/s used"
    )
    for stride in STRIDES:
        count, want, row = WORDS // stride, values[::stride].sum(dtype=np.uint32), ""
        for name, source in sources.items():
            kernel = module.get_function(f"sum_{name}")

            def launch(i: int, kernel=kernel, source=source, count=count, stride=stride) -> None:
                kernel(source, sums, np.int64(count), np.int64(stride), block=(BLOCK, 1, 1), grid=(grid, 1))

            def check(i: int, name=name, stride=stride, want=want) -> None:
                got = np.empty(grid * BLOCK, np.uint32)
                cuda.memcpy_dtoh(got, sums)
                wb.check(got.sum(dtype=np.uint32), want, what=f"{name}, stride {stride}")

            t = wb.time(launch, repeats=30, poison=poison, check=check)
            wb.timing(f"{name}_{stride}", t, 4 * count)
            row += f"{4 * count / t.median / 1e9:11.0f}"
        print(f"{stride:8}{row}", flush=True)


if __name__ == "__main__":
    main()
