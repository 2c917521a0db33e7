"""One fact about each place inside the GPU where data can lie: registers, local, shared, L1, L2, constant, global.

python hierarchy.py             check each kernel; on a GPU also time it
python hierarchy.py --profile   launch each once for a profiler
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
ITEMS, PACKS = 32, 2048  # as in hierarchy.cu
PROFILED = "memory-management/hierarchy.py --profile"
device, attributes = cuda.Context.get_device(), cuda.device_attribute
SMS = device.multiprocessor_count
rng = np.random.default_rng(20261129)
module = wb.module("memory-management/hierarchy.cu")


def words(n: int) -> np.ndarray:
    return np.frombuffer(rng.bytes(4 * n), np.uint32)


def spoiled(n: int) -> cuda.DeviceAllocation:
    out = cuda.mem_alloc(4 * n)
    cuda.memset_d32(out, 0xFFFFFFFF, n)
    return out


def same(what: str, got: cuda.DeviceAllocation, want: np.ndarray) -> None:
    here = np.empty(want.size, np.uint32)
    cuda.memcpy_dtoh(here, got)
    wb.check(here, want, what=what)


Case = tuple[Callable[[int], object], Callable[[int], object], Callable[[int], object]]  # launch, poison, check


def case(what: str, kernel: str, arguments: tuple, want: np.ndarray, blocks: int, threads: int) -> Case:
    """How to launch a kernel, spoil its output (the argument `...`) and check it."""
    out = spoiled(want.size)
    function = module.get_function(kernel)
    filled = [out if a is Ellipsis else a for a in arguments]
    return (
        lambda i: function(*filled, block=(threads, 1, 1), grid=(blocks, 1)),
        lambda i: cuda.memset_d32_async(out, 0xFFFFFFFF, want.size),
        lambda i: same(what, out, want),
    )


# --- Registers and local memory --------------------------------------------------------------------------------------


def own(kernel: str, rounds: int, blocks: int, threads: int, turn: int = 5) -> Case:
    """Each thread adds up 32 words of its own, in order or beginning further on in every round."""
    n = blocks * threads
    data = words(ITEMS * n).reshape(ITEMS, n)
    want = np.zeros(n, np.uint32)
    for r in range(rounds):
        for k in range(ITEMS):
            want = want * np.uint32(3) + data[(k + r * turn) % ITEMS if kernel == "in_local" else k]
    arguments = (cuda.to_device(data), ..., np.int32(rounds), *([np.int32(turn)] if kernel == "in_local" else []))
    return case(kernel, kernel, arguments, want, blocks, threads)


# --- Shared memory ---------------------------------------------------------------------------------------------------


def check_shared() -> None:
    """The whole of a block's shared memory: the default, and what it may have when it asks."""
    plain = device.get_attribute(attributes.MAX_SHARED_MEMORY_PER_BLOCK)
    most = device.get_attribute(attributes.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    function = module.get_function("reverse")
    # --8<-- [start:opt_in]
    function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, most)
    # --8<-- [end:opt_in]
    for n in (1, 31, 1000, plain // 4, most // 4):
        data = words(n)
        there = cuda.to_device(data)
        function(there, np.int32(n), block=(256, 1, 1), grid=(1, 1), shared=4 * n)
        same(f"reversed, {n} words", there, data[::-1].copy())
    if GPU:
        wb.value("shared.default", plain, "B")
        wb.value("shared.most", most, "B")
    print("shared memory: reversed in one block, up to all that a block may have")


# --- L1 and L2 -------------------------------------------------------------------------------------------------------


def reread(kernel: str, rounds: int, blocks: int) -> Case:
    """Each block reads its 32 KiB over and over; thread t gets another part of it in every round."""
    threads = 512
    tiles = words(4 * PACKS * blocks).reshape(blocks, PACKS, 4)
    packs = np.bitwise_xor.reduce(tiles, axis=2)
    start = np.arange(threads)
    want = np.zeros((blocks, threads), np.uint32)
    for r in range(rounds):
        for k in range(0, PACKS, threads):
            want += packs[:, (start + k + 32 * r) % PACKS]
    arguments = cuda.to_device(tiles), ..., np.int32(rounds)
    return case(kernel, kernel, arguments, want.reshape(-1), blocks, threads)


# --- Constant memory -------------------------------------------------------------------------------------------------

TABLE = words(64)
address, nbytes = module.get_global("table")
assert nbytes == TABLE.nbytes
cuda.memcpy_htod(address, TABLE)


def look_up(kernel: str, rounds: int, spread: int, blocks: int, threads: int) -> Case:
    """Each lane reads another word if `spread` is 32, all the same one if it is 1."""
    lane = np.arange(threads) % spread
    want = np.zeros(threads, np.uint32)
    for r in range(rounds):
        want = want * np.uint32(3) + TABLE[lane + r % 32]
    arguments: tuple = (..., np.int32(rounds), np.int32(spread))
    if kernel == "look_up_global":
        arguments = (cuda.to_device(TABLE), *arguments)
    return case(f"{kernel}, spread {spread}", kernel, arguments, np.tile(want, blocks), blocks, threads)


# --- All of it -------------------------------------------------------------------------------------------------------


def once(checked: Case) -> None:
    launch, poison, check = checked
    poison(0)
    launch(0)
    check(0)


def check_all() -> None:
    for blocks, threads, rounds in ((1, 1, 1), (3, 31, 2), (2, 256, 9)):
        for kernel in ("in_registers", "in_local"):
            once(own(kernel, rounds, blocks, threads))
        for kernel in ("look_up", "look_up_global"):
            for spread in (1, 4, 32):
                once(look_up(kernel, 8 * rounds, spread, blocks, threads))
        for kernel in ("reread_l1", "reread_l2"):
            once(reread(kernel, rounds, blocks))
        print(f"{blocks} blocks of {threads} threads: every sum right, wherever the words lie")
    check_shared()
    for kernel in ("in_registers", "in_local"):
        print(f"{kernel}: {module.get_function(kernel).local_size_bytes} bytes of local memory a thread")


def measure() -> None:
    for name, attribute, unit in (
        ("registers.sm", attributes.MAX_REGISTERS_PER_MULTIPROCESSOR, 4),
        ("shared.sm", attributes.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 1),
        ("l2.size", attributes.L2_CACHE_SIZE, 1),
        ("constant.size", attributes.TOTAL_CONSTANT_MEMORY, 1),
    ):
        wb.value(name, device.get_attribute(attribute) * unit, "B")
    wb.value("registers.all", device.get_attribute(attributes.MAX_REGISTERS_PER_MULTIPROCESSOR) * 4 * SMS, "B")
    print()

    def timed(name: str, checked: Case, moved: int | None = None) -> wb.Timing:
        launch, poison, check = checked
        t = wb.time(launch, repeats=30, poison=poison, check=check)
        wb.timing(name, t, nbytes=moved)
        print(f"{name:16}{t.median * 1e6:10.1f} µs" + (f"{moved / t.median / 1e9:10.1f} GB/s" if moved else ""))
        return t

    blocks, threads, rounds = 4 * SMS, 256, 128  # 128 KiB of local memory an SM, so that it stays in the L1
    for kernel in ("in_registers", "in_local"):
        timed(kernel, own(kernel, rounds, blocks, threads))
    blocks, rounds = 4 * SMS, 256
    for kernel in ("reread_l1", "reread_l2"):
        timed(kernel, reread(kernel, rounds, blocks), moved=blocks * rounds * PACKS * 16)
    spreads, times = (1, 2, 4, 8, 16, 32), {}
    for kernel in ("look_up", "look_up_global"):
        of = times[kernel] = [timed(f"{kernel}_{s}", look_up(kernel, 512, s, 8 * SMS, 256)) for s in spreads]
        median, low, high = ([getattr(t, which) for t in of] for which in ("median", "low", "high"))
        wb.series(f"{kernel}.spread", spreads, median, x_unit="count", unit="s", low=low, high=high)


def profile() -> None:
    blocks = SMS if GPU else 2
    once(own("in_registers", 4, blocks, 256))
    once(own("in_local", 4, blocks, 256))
    once(reread("reread_l1", 16, blocks))
    once(reread("reread_l2", 16, blocks))
    once(look_up("look_up", 64, 32, blocks, 256))
    once(look_up("look_up_global", 64, 32, blocks, 256))
    print("every sum right")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile()
    else:
        check_all()
        if GPU:
            measure()
        else:
            print("no GPU: nothing is timed")
