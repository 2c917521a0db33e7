"""Occupancy by arithmetic, against the driver's own answer: every shape must agree exactly.

python occupancy_model.py            this device; without a GPU also every other device that softcuda can be
python occupancy_model.py --device   this device alone
"""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _driver import Module

KERNELS = ("hold_2", "hold_24", "hold_40", "hold_64", "hold_100", "hold_200")


# --8<-- [start:model]
@dataclass(frozen=True)
class Limits:
    """What an SM has to give away."""

    threads: int
    blocks: int
    registers: int
    shared: int  # bytes
    reserved: int  # bytes of shared memory that the system takes for each block
    shared_unit: int = 128  # bytes
    register_unit: int = 256  # registers of a warp are given out in these
    partitions: int = 4


def up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def fits(has: Limits, threads: int, registers: int, shared: int) -> dict[str, int]:
    """How many blocks of this shape each resource allows; registers are of a thread, shared memory of a block."""
    warps = up(threads, 32) // 32
    of_warp = up(max(registers, 16) * 32, has.register_unit)
    in_partition = has.registers // has.partitions // of_warp  # a warp's registers lie in one partition
    of_block = up(shared + has.reserved, has.shared_unit)
    return {
        "blocks": has.blocks,
        "warps": has.threads // 32 // warps,
        "registers": in_partition * has.partitions // warps,
        "shared": has.shared // of_block if of_block else has.blocks,
    }


def occupancy(has: Limits, threads: int, registers: int, shared: int) -> float:
    """The share of an SM's warps that can be resident."""
    return min(fits(has, threads, registers, shared).values()) * (up(threads, 32) // 32) / (has.threads // 32)


# --8<-- [end:model]


def limits() -> Limits:
    """Of the current device."""
    dev, a = cuda.Context.get_device(), cuda.device_attribute
    return Limits(
        threads=dev.get_attribute(a.MAX_THREADS_PER_MULTIPROCESSOR),
        blocks=dev.get_attribute(a.MAX_BLOCKS_PER_MULTIPROCESSOR),
        registers=dev.get_attribute(a.MAX_REGISTERS_PER_MULTIPROCESSOR),
        shared=dev.get_attribute(a.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        reserved=dev.get_attribute(a.RESERVED_SHARED_MEMORY_PER_BLOCK),
        shared_unit=128 if dev.compute_capability()[0] >= 8 else 256,
    )


def check_kernels() -> None:
    """The kernels themselves compute something, and it is right."""
    values = np.random.default_rng().integers(0, 2**32, 96, dtype=np.uint32)
    module = wb.module("execution-model/registers.cu")
    for name in KERNELS:
        count = int(name.split("_")[1])
        x = values[None, :] + np.arange(count, dtype=np.uint32)[:, None]
        for _ in range(3):
            for k in range(count):
                x[k] = 5 * x[k] + x[(k + 1) % count]
        out = np.full(96, 0xFFFFFFFF, np.uint32)
        module.get_function(name)(cuda.In(values), cuda.InOut(out), np.int32(3), block=(32, 1, 1), grid=(3, 1))
        wb.check(out, x.sum(0, dtype=np.uint32), what=name)


def compare() -> tuple[int, list[str]]:
    """Ask the driver about every shape; how many were asked about, and one line for each on which it disagrees."""
    module, has, asked, parted = Module("execution-model/registers.cu"), limits(), 0, []
    check_kernels()
    most_shared = cuda.Context.get_device().get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    dynamic = (0, 1, 1000, 1024, 4000, 7168, 14_336, 20_000, 33_333, 48 << 10, most_shared - 1, most_shared)
    for name in KERNELS:
        function = module.get_function(name)
        registers, largest = function.attribute(4), function.attribute(0)  # NUM_REGS, MAX_THREADS_PER_BLOCK
        function.allow_dynamic_shared(most_shared)
        for threads in (size for size in (1, 31, 33, 100, 1000, 1023, *range(32, 1025, 32)) if size <= largest):
            for shared in dynamic:
                model = min(fits(has, threads, registers, shared).values())
                driver = function.blocks_per_sm(threads, shared)
                asked += 1
                if model != driver:
                    shape = f"{registers} registers, {threads} threads, {shared} bytes"
                    parted.append(f"{shape}: {model} by the model, {driver} by the driver")
    return asked, parted


if __name__ == "__main__":
    asked, parted = compare()
    print(f"{wb.device()['name']}: {asked:,} shapes, the model and the driver agree on {asked - len(parted):,}")
    print("\n".join(parted[:10]), end="\n" if parted else "")
    if parted and not wb.is_gpu():
        raise SystemExit("the model and the driver part")
    wb.value("agreed.share", 1 - len(parted) / asked, "1")
    if not wb.is_gpu() and "--device" not in sys.argv[1:]:
        for other in ("a100", "b200", "rtx5090", "rtx4090", "t4"):
            env = {**os.environ, "SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "SOFTCUDA_DEVICE": other}
            env.pop("WARPBENCH_OUT", None)
            done = subprocess.run([sys.executable, __file__, "--device"], env=env, capture_output=True, text=True)
            print(done.stdout, end="")
            if done.returncode:
                raise SystemExit(f"{other}: {done.stderr.strip().splitlines()[-1]}")
