"""What this device is: attributes as the driver says them, and four of them as a kernel sees them.

python device_query.py   print the table; compare the driver's answers with the kernel's
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from pycuda.driver import device_attribute as at

device = cuda.Context.get_device()

# --8<-- [start:table]
ROWS = [
    ("multiprocessors", at.MULTIPROCESSOR_COUNT, 1, ""),
    ("threads a block, at most", at.MAX_THREADS_PER_BLOCK, 1, ""),
    ("threads a multiprocessor, at most", at.MAX_THREADS_PER_MULTIPROCESSOR, 1, ""),
    ("blocks along x, at most", at.MAX_GRID_DIM_X, 1, ""),
    ("blocks along y or z, at most", at.MAX_GRID_DIM_Y, 1, ""),
    ("lanes a warp", at.WARP_SIZE, 1, ""),
    ("registers a block, at most", at.MAX_REGISTERS_PER_BLOCK, 1, ""),
    ("shared memory a block", at.MAX_SHARED_MEMORY_PER_BLOCK, 2**10, "KiB"),
    ("the same, on request", at.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 2**10, "KiB"),
    ("L2 cache", at.L2_CACHE_SIZE, 2**20, "MiB"),
]


def table() -> None:
    for name, attribute, scale, unit in ROWS:
        print(f"{name:36}{device.get_attribute(attribute) / scale:13,.0f} {unit}".rstrip())


# --8<-- [end:table]


# --8<-- [start:peak]
def peak() -> float:
    """Bytes a second that the memory could move: two transfers a clock on every wire of the bus."""
    clock = device.get_attribute(at.MEMORY_CLOCK_RATE) * 1e3  # the attribute is in kHz
    return 2 * clock * device.get_attribute(at.GLOBAL_MEMORY_BUS_WIDTH) / 8


# --8<-- [end:peak]


def ask() -> None:
    answers = np.full(4, 2**32 - 1, np.uint32)
    kernel = wb.module("programming-model/query.cu").get_function("ask")
    kernel(cuda.InOut(answers), block=(31, 1, 1), grid=(3, 1))
    major, minor = device.compute_capability()
    said = [device.get_attribute(at.WARP_SIZE), 93, device.get_attribute(at.MULTIPROCESSOR_COUNT), 10 * major + minor]
    wb.check(answers[[0, 1, 3]], np.array(said)[[0, 1, 3]], what="warp size, threads, compute capability")
    if not said[2] <= answers[2] < 2**16:
        raise AssertionError(f"%nsmid is {answers[2]}, and the device has {said[2]} multiprocessors")
    print("warp size, threads, multiprocessors, compute capability: driver and kernel agree")


if __name__ == "__main__":
    free, total = cuda.mem_get_info()
    print(f"device: {device.name()}, compute capability {'{}.{}'.format(*device.compute_capability())}")
    print(f"driver: CUDA {cuda.get_driver_version() // 1000}.{cuda.get_driver_version() % 1000 // 10}")
    print(f"memory: {free / 2**30:.1f} of {total / 2**30:.1f} GiB free")
    table()
    ask()
    if wb.is_gpu():
        wb.value("peak.rate", peak(), "B/s")
        wb.value("memory.total", device.total_memory(), "B")
        print(f"{peak() / 1e12:.2f} TB/s by clock and bus width")
