"""From 16 to 65536 bins: additions in global memory, and in shared memory in as many launches as the bins need.

python bins.py   check; on a GPU also time 2^27 keys of 16 bits
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, BITS = 1024, 16
MOST = 2**15  # bins that fit into the shared memory of a block: 128 KiB
GPU = wb.is_gpu()

module = wb.module("histogram/bins.cu")
many_global, many_shared = module.get_function("many_global"), module.get_function("many_shared")
many_shared.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 4 * MOST)
sms = cuda.Context.get_device().multiprocessor_count


# --8<-- [start:launches]
def by_global(x, out, n: int, bins: int) -> None:
    shift = BITS - bins.bit_length() + 1
    many_global(x, out, np.uint32(n), np.int32(shift), block=(BLOCK, 1, 1), grid=(2 * sms, 1))


def by_shared(x, out, n: int, bins: int) -> None:
    shift = BITS - bins.bit_length() + 1
    size = min(bins, MOST)
    grid = (sms * (2 if 4 * size <= 2**16 else 1), 1)
    for begin in range(0, bins, size):
        numbers = np.uint32(n), np.int32(shift), np.uint32(begin), np.uint32(size)
        many_shared(x, out, *numbers, block=(BLOCK, 1, 1), grid=grid, shared=4 * size)


# --8<-- [end:launches]

rng = np.random.default_rng()
for n in (1, 1023, 2**18 + 5, *([2**27] if GPU else [])):
    keys = rng.integers(0, 2**BITS, n, dtype=np.uint16)
    full = np.bincount(keys, minlength=2**BITS)
    inputs = [cuda.to_device(keys), cuda.to_device(keys[::-1].copy())]
    sizes = [2**k for k in range(4, BITS + 1, 2 if n < 2**27 else 1)]
    rates: dict[str, list] = {"global": [], "shared": []}
    for bins in sizes:
        want, out, got = full.reshape(bins, -1).sum(1), cuda.mem_alloc(4 * bins), np.empty(bins, np.uint32)
        for name, count in (("global", by_global), ("shared", by_shared)):

            def clear(_: int = 0, out=out, bins=bins) -> None:
                cuda.memset_d32_async(out, 0, bins)

            def check(_: int = 0, out=out, got=got, want=want, what=f"{name}, {bins} bins") -> None:
                cuda.memcpy_dtoh(got, out)
                wb.check(got, want, 0, what)

            def run(i: int = 0, out=out, bins=bins, count=count, n=n, inputs=inputs) -> None:
                count(inputs[i % 2], out, n, bins)

            if n < 2**27:
                clear()
                run()
                check()
                continue
            t = wb.time(run, poison=clear, check=check, repeats=10 if name == "global" else 30)
            rates[name].append((2 * n / t.median, 2 * n / t.high, 2 * n / t.low))
            if bins in (256, 2**15, 2**16):
                wb.timing(f"{name}_{bins}", t, 2 * n)
        out.free()
    print(f"n = {n:>11,}: {len(sizes)} numbers of bins, 2 kernels, exact")
    for name, found in rates.items():
        if found:
            middle, low, high = ([rate[which] for rate in found] for which in range(3))
            wb.series(f"{name}.rates", [float(b) for b in sizes], middle, x_unit="count", unit="B/s",
                      low=low, high=high)  # fmt: skip
            print(f"{name:7}" + "".join(f"{rate / 1e9:7.0f}" for rate in middle) + "  GB/s")
    for memory in inputs:
        memory.free()
