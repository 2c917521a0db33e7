"""Which tile, which order of blocks, which hints? The variants of the last rung of transpose.py, on one matrix.

python sweep.py   check; on a GPU also time some 60 variants at 8192 × 8192, and copies to hold them against
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from transpose import Matrix

GPU = wb.is_gpu()
SHAPES = [(32, 32, 64), (64, 64, 128), (64, 64, 256), (64, 128, 256), (128, 64, 512)]  # rows, columns, threads
LANES = [4, 8]  # of a warp along a row, for the variant without shared memory
LARGE = [(128, 128, 512)]
PERSISTENT = [((64, 64, 256), (3,))]
LIMITED = [1, 2, 3, 4]  # blocks of 64 × 64 on an SM, and no more
ORDERS = {"rows": 1, "bands": 16, "columns": 2**16}  # rows of tiles in a band
HINTS = {  # of loads, of stores
    "00": "NONE, NONE", "01": "NONE, ONCE", "10": "ONCE, NONE", "11": "ONCE, ONCE",
    "20": "AHEAD, NONE", "21": "AHEAD, ONCE",
}  # fmt: skip
COPIES = [1, 4, 8]
SMS = cuda.Context.get_device().multiprocessor_count


class Variant:
    """A kernel to be instantiated: its name, its template's arguments, and how it is launched."""

    def __init__(
        self, kind: str, arguments: tuple[int, ...], hint: str = "01", per_sm: int = 0, at_most: int = 0
    ) -> None:
        self.name = f"{kind}_{'x'.join(map(str, arguments))}_{hint}"
        self.key = self.name + f"_{per_sm}" * bool(per_sm) + f"_most_{at_most}" * bool(at_most)
        self.call = f"transpose_{kind}<{', '.join(map(str, arguments))}, {HINTS[hint]}>"
        self.kind, self.arguments, self.per_sm, self.at_most = kind, arguments, per_sm, at_most
        self.tile = (64, 64) if kind == "registers" else arguments[:2]
        self.threads = 256 if kind == "registers" else arguments[2]
        self.shared = 4 * self.tile[0] * self.tile[1] if kind == "large" else 0
        if at_most:  # of an SM's 228 KiB a block gets its tile, 1 KiB of the system's, and so much besides
            self.shared = 228 * 1024 // at_most - 1024 - 4 * self.tile[0] * self.tile[1]

    def with_hint(self, hint: str) -> "Variant":
        return Variant(self.kind, self.arguments, hint, self.per_sm, self.at_most)

    @property
    def text(self) -> str:
        return (
            f'extern "C" __global__ void __launch_bounds__({self.threads}) {self.name}(const float* in, float* out, '
            f"int rows, int cols, int band) {{ {self.call}(in, out, rows, cols, band); }}\n"
        )

    def launch(self, module: object, m: Matrix, band: int) -> None:
        tiles = -(-m.rows // self.tile[0]) * -(-m.cols // self.tile[1])
        grid = min(tiles, self.per_sm * SMS) if self.per_sm else tiles
        kernel = module.get_function(self.name)
        if self.shared > 48 * 1024:
            kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared)
        shape = np.int32(m.rows), np.int32(m.cols), np.int32(band)
        kernel(m.source, m.out, *shape, block=(self.threads, 1, 1), grid=(grid, 1), shared=self.shared)


def compiled(variants: list[Variant], more: str = "") -> object:
    texts = {variant.name: variant.text for variant in variants}
    append = wb.source("memory-access/sweep.cu") + "".join(texts.values()) + more
    return wb.module("memory-access/transpose.cu", append="\n" + append)


def variants() -> list[Variant]:
    out = [Variant("packs", shape) for shape in SHAPES] + [Variant("registers", (lanes,)) for lanes in LANES]
    out += [Variant("large", shape) for shape in LARGE]
    out += [Variant("packs", (64, 64, 256), at_most=k) for k in LIMITED]
    return out + [Variant("persistent", shape, per_sm=k) for shape, some in PERSISTENT for k in some]


def check(module: object, variant: Variant, m: Matrix, band: int) -> None:
    m.poison()
    variant.launch(module, m, band)
    m.check(f"{variant.key} in bands of {band}")


def timed(module: object, variant: Variant, m: Matrix, band: int) -> wb.Timing:
    return wb.time(lambda i: variant.launch(module, m, band), repeats=30, warmup=2, poison=m.poison)


def copies(m: Matrix) -> dict[str, wb.Timing]:
    """Copies of the same matrix: 1 to 8 loads of a thread in flight, with a hint or without."""
    names = {f"copy_{n}{'_stream' * s}": (n, "true" if s else "false") for n in COPIES for s in (0, 1)}
    text = "".join(
        f'extern "C" __global__ void {name}(const float4* in, float4* out, Index packs) '
        f"{{ copy_packs<{loads}, {hint}>(in, out, packs); }}\n"
        for name, (loads, hint) in names.items()
    )
    module, out = compiled([], text), {}
    for name, (loads, _) in names.items():
        kernel, blocks = module.get_function(name), -(-m.n // (4 * loads * 256))

        def launch(i: int, kernel: object = kernel, blocks: int = blocks) -> None:
            kernel(m.source, m.out, np.int64(m.n // 4), block=(256, 1, 1), grid=(blocks, 1))

        out[name] = wb.time(launch, repeats=30, poison=m.poison)
        wb.check(m.result(m.rows, m.cols), m.values, what=name)
    driver = wb.time(lambda i: cuda.memcpy_dtod_async(m.out, m.source, 4 * m.n), repeats=30, poison=m.poison)
    return out | {"memcpy": driver}


def sweep(rng: np.random.Generator) -> None:
    m = Matrix(rng, 8192, 8192)
    moved = 8 * m.n
    copied = copies(m)
    best_copy = min(copied, key=lambda name: copied[name].median)
    for name, t in copied.items():
        print(f"{name:34}{moved / t.median / 1e9:8.0f} GB/s" + ("   the best copy" if name == best_copy else ""))
    wb.timing("sweep.copy", copied[best_copy], moved)
    for name, t in copied.items():
        wb.value(f"sweep.{name}.rate", moved / t.median, "B/s")

    base = Variant("packs", (64, 64, 256))
    some = variants() + [base.with_hint(hint) for hint in HINTS if hint != "01"]
    module = compiled(some)
    print(f"\n{'GB/s':28}" + "".join(f"{order:>9}" for order in ORDERS))
    for variant in some:
        rates = {order: moved / timed(module, variant, m, band).median for order, band in ORDERS.items()}
        check(module, variant, m, ORDERS["columns"])
        for order, rate in rates.items():
            wb.value(f"{variant.key}.{order}.rate", rate, "B/s")
        print(f"{variant.key:28}" + "".join(f"{rate / 1e9:9.0f}" for rate in rates.values()), flush=True)


if __name__ == "__main__":
    generator = np.random.default_rng()
    some = variants()
    module = compiled(some)
    for rows, cols in ((1, 1), (100, 204), (131, 67)):
        small = Matrix(generator, rows, cols)
        for variant in some:
            for band in (1, 3):
                check(module, variant, small, band)
        small.free()
    print(f"{len(some)} variants at 1 × 1, 100 × 204 and 131 × 67: exact")
    if GPU:
        sweep(generator)
    else:
        print("no GPU: nothing is timed")
