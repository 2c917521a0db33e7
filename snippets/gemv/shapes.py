"""The products of two language models, one token for each of M users: the best of our kernels, cuBLAS and a copy.

python shapes.py   check; on a GPU also time every layer's product for M = 1 to 16
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemv import (
    CHUNK,
    TILE,
    Launch,
    Problem,
    compile_all,
    copy,
    cublas,
    fixed_up,
    resident,
    rounds,
    shares,
    simple,
    stream,
    timed,
)
from _staged import compile_staged, staged

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
}


def candidates(m: int, n: int, k: int) -> dict[str, Launch]:
    """What is tried: a warp for whole rows if M is small, and tiles in parts that fill the device half, once, twice."""
    tiles, found = -(-n // TILE), {"v8": stream(resident())}
    if m <= 4:
        found |= {"v2": simple("v2"), "v4": simple("v4", padded=True)}
    for blocks in (resident() // 2, resident(), 2 * resident()):
        splits = max(1, min(-(-k // CHUNK), blocks // tiles))
        found[f"v7/{splits}"] = fixed_up(splits)
        if m > 4 and blocks <= resident():
            found[f"v9/{splits}"] = staged(splits)
    return found


# --8<-- [end:layers]


def fastest(p: Problem, ways: dict[str, Launch]) -> str:
    times = {name: wb.time(timed(p, way), repeats=10, warmup=2).median for name, way in ways.items()}
    return min(times, key=lambda name: times[name])


def measure(rng: np.random.Generator) -> None:
    yardstick = copy(BIG)
    tables: dict[str, list[list[float]]] = {"cublas": [], "ours": [], "gain": []}
    print(f"{'':10}{'N':>7}{'K':>7}  per cent of copy, cuBLAS / ours, for M = {BATCHES}")
    for layer, (n, k) in LAYERS.items():
        whole = Problem(rng, 16, n, k, whole=True, copies=wb.rotation(2 * n * k))
        rows: dict[str, list[float]] = {name: [] for name in tables}
        chosen = []
        for m in BATCHES:
            p = whole.first_rows(m)
            ways = candidates(m, n, k)
            name = fastest(p, ways)
            p.check(ways[name], f"{layer} by {name}")
            ours, theirs, copied = rounds([timed(p, ways[name]), cublas(p), yardstick], seconds=0.03)
            share = 100 * p.nbytes / (2 * BIG)
            rows["ours"].append(shares(ours, copied, share)[0])
            rows["cublas"].append(shares(theirs, copied, share)[0])
            rows["gain"].append(shares(ours, theirs)[0])
            chosen.append(name)
        for which, row in rows.items():
            tables[which].append(row)
        pairs = zip(rows["cublas"], rows["ours"], chosen, strict=True)
        print(f"{layer:10}{n:7}{k:7}  " + "   ".join(f"{a:5.1f} / {b:5.1f} {name:5}" for a, b, name in pairs))
    for which, table in tables.items():
        wb.matrix(f"{which}.map", table, list(LAYERS), [f"{m}" for m in BATCHES], unit="%")
    gains = np.array(tables["gain"])
    wb.value("gain.most", float(gains.max()), "%")
    wb.value("gain.least", float(gains.min()), "%")
    wb.value("gain.median", float(np.median(gains)), "%")


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    for n, k in ((96, 256), (1024, 512)):
        for m in (1, 8):
            for name, launch in candidates(m, n, k).items():
                Problem(generator, m, n, k).check(launch, name)
        print(f"N = {n}, K = {k}: within the bound")
    if wb.is_gpu():
        wb.needs("8.0", memory=4 * 2**30)
        compile_all(BATCHES)
        compile_staged(BATCHES)
        measure(generator)
    else:
        print("no GPU: nothing is timed")
