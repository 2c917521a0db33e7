"""Records of eight fields, by rows and by columns: one field of each, and all of them.

python records.py             check; on a GPU also time 2^25 records (1 GiB)
python records.py --profile   launch each kernel once for a profiler: 2^22 records (softcuda: 2^12)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

FIELDS, BLOCK, EACH = 8, 256, 4
KERNELS = ("pick_aos", "pick_soa", "weigh_aos", "weigh_soa", "weigh_vector", "weigh_shared")

module = wb.module("memory-access/records.cu")
functions = {name: module.get_function(name) for name in KERNELS}


class Table:
    """Random records, both ways round, and what the kernels ought to say of them."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.n = n
        rows = rng.integers(0, 2**32, (n, FIELDS), np.uint32)
        self.aos, self.soa = cuda.to_device(rows), cuda.to_device(np.ascontiguousarray(rows.T))
        self.out = cuda.mem_alloc(4 * n)
        self.want = {"pick": rows[:, 3].copy(), "weigh": rows @ np.arange(1, FIELDS + 1, dtype=np.uint32)}

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xDEADBEEF, self.n)

    def launch(self, name: str) -> None:
        source = self.soa if name.endswith("soa") else self.aos
        blocks = -(-self.n // (EACH * BLOCK if name.startswith("pick") else BLOCK))
        functions[name](source, self.out, np.int64(self.n), block=(BLOCK, 1, 1), grid=(blocks, 1))

    def check(self, name: str) -> None:
        got = np.empty(self.n, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        wb.check(got, self.want[name.split("_")[0]], what=f"{name} of {self.n} records")


def run_all(table: Table) -> None:
    for name in KERNELS:
        table.poison()
        table.launch(name)
        table.check(name)


def time_all(table: Table) -> None:
    print(f"\n{'':14}{'µs':>8}{'GB/s':>8}")
    for name in KERNELS:
        t = wb.time(
            lambda i, name=name: table.launch(name),
            poison=table.poison,
            repeats=30,
            check=lambda i, name=name: table.check(name),
        )
        needed = (4 if name.startswith("pick") else 4 * FIELDS) + 4  # bytes that the task needs a record: in, out
        wb.timing(name, t, needed * table.n)
        print(f"{name:14}{t.median * 1e6:8.1f}{needed * table.n / t.median / 1e9:8.0f}")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        run_all(Table(generator, 2**22 if wb.is_gpu() else 2**12))
        print(f"{', '.join(KERNELS)}: exact")
    else:
        print(f"device: {wb.device()['name']}")
        for n in (1, 31, 1000, 2**14 + 7):
            run_all(Table(generator, n))
            print(f"{len(KERNELS)} kernels of {n:,} records: exact")
        if wb.is_gpu():
            wb.needs(memory=5 * 2**29)
            time_all(Table(generator, 2**25))
        else:
            print("no GPU: nothing is timed")
