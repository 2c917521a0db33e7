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
PROFILED = "memory-access/records.py --profile"
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

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


def claims() -> None:
    wb.claim(
        "one_field_soa",
        en="one field of eight is picked at least 3 times as fast from columns (SoA) as from records (AoS)",
        zh="八个字段里只取一个：按列存放（SoA）的速度至少是按记录存放（AoS）的 3 倍",
        ratio=("pick_aos.time", "pick_soa.time"),
        at_least=3.0,
        predicted=36 / 8,
        source="DRAM: 32 + 4 bytes a record against 4 + 4",
        source_zh="DRAM 流量：每条记录 32 + 4 字节，对 4 + 4 字节",
    )
    for name, at_least, en, zh in (
        ("aos", 0.85, "eight scalar loads from records", "从记录里做八次标量加载"),
        ("vector", 0.9, "two 16-byte loads from records", "从记录里做两次 16 字节加载"),
        ("shared", 0.9, "records brought in through shared memory", "记录经共享内存读入"),
    ):
        wb.claim(
            f"all_fields_{name}",
            en=f"all eight fields: {en} reach at least {at_least:g} of the rate of columns",
            zh=f"八个字段都要：{zh}，至少达到按列存放速率的 {at_least:g}",
            ratio=(f"weigh_{name}.rate", "weigh_soa.rate"),
            at_least=at_least,
            predicted=1.0,
            source="DRAM: 36 bytes a record in each",
            source_zh="DRAM 流量：每条记录都是 36 字节",
        )
    for kernel, times, en, zh in (
        ("pick_soa", 8.0, "picking one field from records asks for 8 times the sectors of columns",
         "只取一个字段：按记录存放请求的扇区数是按列存放的 8 倍"),
        ("weigh_shared", 8.0, "eight scalar loads from records ask for 8 times the sectors that shared memory does",
         "八次标量加载请求的扇区数，是经共享内存的 8 倍"),
        ("weigh_vector", 4.0, "eight scalar loads from records ask for 4 times the sectors of two 16-byte loads",
         "八次标量加载请求的扇区数，是两次 16 字节加载的 4 倍"),
    ):  # fmt: skip
        aos = "pick_aos" if kernel.startswith("pick") else "weigh_aos"
        wb.claim(
            f"{kernel}_sectors",
            en=en,
            zh=zh,
            ratio=(f"{aos}.{LOADS}", f"{kernel}.{LOADS}"),
            at_least=times,
            predicted=times,
            source="addresses of each warp, counted by hand",
            source_zh="手工数出的每个线程束的地址",
            counters=PROFILED,
        )


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
        claims()
