"""The products of two language models, one token for each of M users: ours, cuBLAS and a copy.

python shapes.py   check; on a GPU also time every layer's product for M = 1 to 16
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemv import Launch, Problem, copy, cublas, resident, rounds, shares, simple, stream, timed

BATCHES = [1, 2, 4, 8, 16]
BIG = 2**29  # bytes that the yardstick copies
# --8<-- [start:layers]
LAYERS = {  # N and K of the linear layers of Llama 3 with 8 and with 70 billion parameters
    "k, v 8B": (1024, 4096),
    "q, o 8B": (4096, 4096),
    "down 8B": (4096, 14336),
    "up 8B": (14336, 4096),
    "k, v 70B": (1024, 8192),
    "q, o 70B": (8192, 8192),
    "down 70B": (8192, 28672),
    "up 70B": (28672, 8192),
    "head 70B": (128256, 8192),
}


def choose(m: int, n: int) -> tuple[str, Launch]:
    """Our kernel: one warp per row for one row of x and rows enough for every warp, else stream-K."""
    if m == 1 and n >= 16 * resident():
        return "v2", simple("v2")
    return "v8", stream(resident())


# --8<-- [end:layers]


def measure(rng: np.random.Generator) -> None:
    yardstick = copy(BIG)
    tables: dict[str, list[list[float]]] = {"cublas": [], "ours": [], "gain": []}
    print(f"{'':10}{'N':>7}{'K':>7}  per cent of copy: cuBLAS / ours, for M = {BATCHES}")
    for layer, (n, k) in LAYERS.items():
        whole = Problem(rng, 16, n, k, whole=True, copies=wb.rotation(2 * n * k))
        rows: dict[str, list[float]] = {name: [] for name in tables}
        for m in BATCHES:
            p = whole.first_rows(m)
            name, launch = choose(m, n)
            p.check(launch, f"{layer} by {name}")
            ours, theirs, copied = rounds([timed(p, launch), cublas(p), yardstick], seconds=0.05)
            each = {
                "ours": shares(ours, copied, 100 * p.nbytes / BIG / 2),
                "cublas": shares(theirs, copied, 100 * p.nbytes / BIG / 2),
                "gain": shares(ours, theirs),
            }
            for which, share in each.items():
                rows[which].append(share[0])
        for which, row in rows.items():
            tables[which].append(row)
        pairs = zip(rows["cublas"], rows["ours"], strict=True)
        print(f"{layer:10}{n:7}{k:7}  " + "   ".join(f"{a:5.1f} / {b:5.1f}" for a, b in pairs))
    for which, table in tables.items():
        wb.matrix(f"{which}.map", table, list(LAYERS), [f"{m}" for m in BATCHES], unit="%")
    gains = np.array(tables["gain"])
    wb.value("gain.most", float(gains.max()), "%")
    wb.value("gain.least", float(gains.min()), "%")
    wb.value("gain.median", float(np.median(gains)), "%")


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    for n, k in ((96, 256), (1024, 128)):
        for m in (1, 8):
            for name, launch in (choose(m, n), choose(m, 10**6)):
                Problem(generator, m, n, k).check(launch, name)
        print(f"N = {n}, K = {k}: within the bound")
    if wb.is_gpu():
        wb.needs("8.0", memory=12 * 2**30)
        measure(generator)
    else:
        print("no GPU: nothing is timed")
