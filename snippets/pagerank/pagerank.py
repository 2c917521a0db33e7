"""PageRank on a GPU: this book's own references, then 10^7 edges against SciPy.

python pagerank.py             check; on a GPU also time an iteration at 10^7 edges, beside SciPy's on one CPU core
python pagerank.py --profile   one iteration of each kernel for a profiler: 10^7 edges (softcuda: 20 000)
"""

import sys
import time

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _graph import DAMPING, Csr, References, power_law, ranks, step

try:
    import networkx
except ImportError:
    networkx = None
try:
    import scipy.sparse
except ImportError:
    scipy = None
try:
    import torch
except ImportError:
    torch = None

BLOCK, TILE = 256, 2048  # as in pull.cu
WIDTHS = (1, 2, 4, 8, 16, 32)
KERNELS = ("thread", "warp", "eight", "tile")  # a row gets one lane, 32, or 8; tiles get equally many edges


# --8<-- [start:ranker]
class Ranker:
    """A graph on the device, and one iteration of PageRank by each kernel."""

    def __init__(self, graph: Csr) -> None:
        self.graph = graph
        self.module = wb.module("pagerank/pull.cu")
        self.narrow = wb.module("pagerank/pull.cu", SHARE="float")
        self.spread = self.module.get_function("spread")
        self.offsets, self.sources, self.degree = map(cuda.to_device, (graph.offsets, graph.sources, graph.degree))
        self.rank, self.share = (cuda.mem_alloc(8 * graph.n) for _ in range(2))
        self.dangling = cuda.mem_alloc(8)
        self.chunks = -(-graph.edges // (8 * BLOCK))
        self.sums = cuda.mem_alloc(8 * 8 * self.chunks)  # one a warp
        self.pulls = {"thread": (self.module.get_function("pull_thread"), -(-graph.n // BLOCK))}
        self.pulls |= {"warp": self.lanes(32), "eight": self.lanes(8), "tile": self.tiles()}

    def lanes(self, lanes: int) -> tuple:
        """Each row is pulled by so many lanes: the kernel and its grid."""
        module = wb.module("pagerank/pull.cu", LANES=lanes)
        return module.get_function("pull_lanes"), -(-self.graph.n * lanes // BLOCK)

    def tiles(self) -> tuple:
        """Edges and ends of rows are pulled in tiles: the kernel, its grid and what else it wants."""
        n, edges = np.int32(self.graph.n), np.int32(self.graph.edges)
        tiles = -(-int(n + edges) // TILE)
        first_rows = cuda.mem_alloc(4 * (tiles + 1))
        cuda.memset_d32(first_rows, 0xFFFFFFFF, tiles + 1)
        sizes = np.int32(tiles), n, edges
        cut = self.module.get_function("cut_tiles")
        cut(self.offsets, first_rows, *sizes, block=(BLOCK, 1, 1), grid=(tiles // BLOCK + 1, 1))
        return self.module.get_function("pull_tile"), tiles, first_rows, edges

    def start(self, rank: np.ndarray) -> None:
        """Ranks to go on from; the rest of the device's memory is spoilt."""
        cuda.memcpy_htod(self.rank, rank)
        cuda.memset_d32_async(self.share, 0xFFFFFFFF, 2 * self.graph.n)

    def hand_out(self) -> None:
        cuda.memset_d32_async(self.dangling, 0, 2)
        blocks = min(-(-self.graph.n // BLOCK), 4 * cuda.Context.get_device().multiprocessor_count)
        arguments = self.rank, self.degree, self.share, self.dangling, np.int32(self.graph.n)
        self.spread(*arguments, block=(BLOCK, 1, 1), grid=(blocks, 1))

    def pull(self, pull: tuple) -> None:
        kernel, grid, *more = pull
        buffers = self.offsets, self.sources, self.share, self.dangling, self.rank
        kernel(*buffers, np.float64(DAMPING), np.int32(self.graph.n), *more, block=(BLOCK, 1, 1), grid=(grid, 1))

    def gather(self, narrow: cuda.DeviceAllocation | None = None) -> None:
        """Every index and every share, and no rows: what no pull can beat by much. `narrow`: shares in float32."""
        kernel = (self.narrow if narrow else self.module).get_function("gather")
        arguments = self.sources, narrow or self.share, self.sums, np.int32(self.graph.edges)
        kernel(*arguments, block=(BLOCK, 1, 1), grid=(self.chunks, 1))

    def gathered(self) -> float:
        """The sum of all that was gathered."""
        return float(cuda.from_device(self.sums, 8 * self.chunks, np.float64).sum())

    def step(self, pull: tuple) -> None:
        """One iteration; only enqueued."""
        self.hand_out()
        self.pull(pull)

    def result(self) -> np.ndarray:
        rank = np.empty(self.graph.n)
        cuda.memcpy_dtoh(rank, self.rank)
        return rank

    def converge(self, pull: tuple, tolerance: float = 1e-12) -> tuple[np.ndarray, int]:
        """Ranks that an iteration changes by less than `tolerance` in all, and how many iterations it took."""
        rank, count = np.full(self.graph.n, 1 / self.graph.n), 0
        self.start(rank)
        while True:
            self.step(pull)
            count, before, rank = count + 1, rank, self.result()
            if not np.abs(rank - before).sum() >= tolerance:  # ends for NaN, too, which a check will tell
                return rank, count


# --8<-- [end:ranker]


def some_rank(graph: Csr, rng: np.random.Generator) -> np.ndarray:
    rank = rng.random(graph.n) + 0.5
    return rank / rank.sum()


def handed_on(graph: Csr, rank: np.ndarray) -> np.ndarray:
    return np.divide(rank, graph.degree, where=graph.degree > 0, out=np.zeros(graph.n))


def check_steps(graph: Csr, rng: np.random.Generator, what: str) -> None:
    """One iteration of every kernel, from fresh ranks, against NumPy."""
    ranker = Ranker(graph)
    for name, pull in [*ranker.pulls.items(), *((f"{w} lanes", ranker.lanes(w)) for w in (1, 2, 4, 16))]:
        rank = some_rank(graph, rng)
        ranker.start(rank)
        ranker.step(pull)
        want = step(graph, rank)
        wb.check(ranker.result(), want, 1e-12 * want, f"{what}, {name}")
    cuda.memset_d32(ranker.sums, 0xFFFFFFFF, 16 * ranker.chunks)
    ranker.gather()
    share = handed_on(graph, rank)
    total = share[graph.sources].sum()
    wb.check(ranker.gathered(), total, 1e-12 * total, f"{what}, gather")
    cuda.memset_d32(ranker.sums, 0xFFFFFFFF, 16 * ranker.chunks)
    ranker.gather(cuda.to_device(share.astype(np.float32)))
    wb.check(ranker.gathered(), total, 1e-7 * total, f"{what}, gather in float32")
    print(f"{what}: {graph.n:,} nodes, {graph.edges:,} edges: every kernel within 1e-12 of NumPy")


def awkward() -> dict[str, Csr]:
    """Graphs that trip kernels up: one edge, no end of empty rows, one row that has everything, tiles just full."""

    def csr(n: int, edges: list[tuple[int, int]]) -> Csr:
        return Csr(n, *np.array(edges, np.int64).reshape(-1, 2).T)

    return {
        "one edge": csr(2, [(0, 1)]),
        "a ring": csr(1000, [(i, (i + 1) % 1000) for i in range(1000)]),
        "a star": csr(5001, [(i, 0) for i in range(1, 5001)]),
        "a star outwards": csr(3001, [(3000, i) for i in range(3000)]),
        "two rows, 4999 empty": csr(5001, [(i, t) for i in range(2047) for t in (0, 5000)]),
        "random": power_law(1023, 20011, 4),
    }


def own_references() -> None:
    """The book's own citations, against NetworkX."""
    book = References()
    ranker = Ranker(book.csr)
    rank, count = ranker.converge(ranker.pulls["tile"])
    want = ranks(book.csr)
    wb.check(rank, want, 1e-9 * want, "the book's references, against NumPy")
    said = "NetworkX is not here"
    if networkx is not None:
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(book.csr.n))
        graph.add_edges_from(book.edges)
        found = networkx.pagerank(graph, alpha=DAMPING, tol=1e-12, max_iter=1000)
        worst = wb.check(rank, [found[i] for i in range(book.csr.n)], 1e-6, "the book's references, against NetworkX")
        wb.value("networkx.error", worst * 1e-6, "1")
        said = "within 1e-6 of NetworkX"
    wb.graph("references", *drawn(book, rank))
    print(f"{len(book.pages)} pages, {len(book.sources)} sources, {book.csr.edges} edges: {count} iterations, {said}")


def drawn(book: References, rank: np.ndarray, least: int = 3) -> tuple[list, list]:
    """The sources that at least that many pages cite, and these pages, with their ranks."""
    a = book.cites()
    shared = {source for source, pages in zip(book.sources, a.sum(axis=0), strict=True) if pages >= least}
    edges = [(page, source) for page, how, source in book.rows if how == "cites" and source in shared]
    kept = shared | {page for page, _ in edges}
    nodes = [(name, name, "", r) for name, r in zip(book.names, rank, strict=True)]
    return [node for node in nodes if node[0] in kept], edges


def scipy_step(graph: Csr) -> tuple:
    """SciPy's iteration, and its product alone: CSR times vector, on one core."""
    matrix = scipy.sparse.csr_array((np.ones(graph.edges), graph.sources, graph.offsets), shape=(graph.n, graph.n))
    inverse = np.divide(1.0, graph.degree, where=graph.degree > 0, out=np.zeros(graph.n))
    idle = graph.degree == 0

    def product(share: np.ndarray) -> np.ndarray:
        return matrix @ share

    def iterate(rank: np.ndarray) -> np.ndarray:
        return (1 - DAMPING + DAMPING * rank[idle].sum()) / graph.n + DAMPING * product(rank * inverse)

    return iterate, product


def host_time(call, repeats: int = 15) -> wb.Timing:
    seconds = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.percentile(seconds[2:], [10, 50, 90])
    return wb.Timing(float(median), float(low), float(high), repeats)


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, n: int, kind: str) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": kind, "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(rng: np.random.Generator, n: int, edges: int) -> None:
    graph = power_law(n, edges, seed=20161113)
    longest = int(np.diff(graph.offsets).max())
    wb.value("graph.longest", longest, "count")
    wb.value("graph.empty", float((np.diff(graph.offsets) == 0).mean()), "1")
    ranker, rank = Ranker(graph), some_rank(graph, rng)
    want = step(graph, rank)
    print(f"\n{n:,} nodes, {edges:,} edges, the longest row {longest:,}")
    print(f"{'':22}{'µs':>10}{'10 %':>10}{'90 %':>10}{'edges/s':>12}")

    def note(name: str, t: wb.Timing) -> None:
        wb.timing(name, t)
        wb.value(f"{name}.edges", edges / t.median, "1/s", (edges / t.high, edges / t.low))
        print(f"{name:22}{t.median * 1e6:10.1f}{t.low * 1e6:10.1f}{t.high * 1e6:10.1f}{edges / t.median:12.3g}")

    def check(i: int) -> None:
        wb.check(ranker.result(), want, 1e-10 * want, f"{n:,} nodes")

    def prepare(i: int) -> None:  # what `pull` needs, with the ranks spoilt
        cuda.memcpy_dtod_async(ranker.rank, fresh, 8 * n)
        ranker.hand_out()

    def restart(i: int) -> None:
        cuda.memcpy_dtod_async(ranker.rank, fresh, 8 * n)
        cuda.memset_d32_async(ranker.share, 0xFFFFFFFF, 2 * n)

    fresh = cuda.to_device(rank)
    times = {}
    for width in WIDTHS:
        pull = ranker.lanes(width)
        times[width] = wb.time(lambda i, pull=pull: ranker.pull(pull), poison=prepare, check=check, repeats=30)
        note(f"lanes_{width}", times[width])
    wb.series(
        "lanes", WIDTHS, [edges / times[w].median for w in WIDTHS], x_unit="count", unit="1/s",
        low=[edges / times[w].high for w in WIDTHS], high=[edges / times[w].low for w in WIDTHS],
    )  # fmt: skip
    for name, pull in ranker.pulls.items():
        note(name, wb.time(lambda i, pull=pull: ranker.pull(pull), poison=prepare, check=check, repeats=30))
    total = handed_on(graph, rank)[graph.sources].sum()

    def spoil(i: int) -> None:
        prepare(i)
        cuda.memset_d32_async(ranker.sums, 0xFFFFFFFF, 16 * ranker.chunks)

    def check_gather(i: int) -> None:
        wb.check(ranker.gathered(), total, 1e-10 * total, "gather")

    def check_narrow(i: int) -> None:
        wb.check(ranker.gathered(), total, 1e-6 * total, "gather in float32")

    note("gather", wb.time(lambda i: ranker.gather(), poison=spoil, check=check_gather, repeats=30))
    narrow = cuda.to_device(handed_on(graph, rank).astype(np.float32))
    note("narrow", wb.time(lambda i: ranker.gather(narrow), poison=spoil, check=check_narrow, repeats=30))
    restart(0)
    note("spread", wb.time(lambda i: ranker.hand_out(), poison=restart, repeats=30))
    pull = ranker.pulls["tile"]
    note("gpu", wb.time(lambda i: ranker.step(pull), poison=restart, check=check, repeats=30))
    if torch is not None:
        matrix = torch.sparse_csr_tensor(
            torch.as_tensor(Shared(ranker.offsets, n + 1, "<i4"), device="cuda"),
            torch.as_tensor(Shared(ranker.sources, edges, "<i4"), device="cuda"),
            torch.ones(edges, dtype=torch.float64, device="cuda"),
            size=(n, n),
        )
        share = handed_on(graph, rank)
        vector = torch.as_tensor(share, device="cuda")
        got = (matrix @ vector).cpu().numpy()
        product = np.bincount(graph.target, weights=share[graph.sources], minlength=n)
        wb.check(got, product, 1e-10 * product.max(), "torch's sparse product")
        note("torch", wb.time(lambda i: matrix @ vector, repeats=30))
        del matrix, vector
    if scipy is not None:
        iterate, product = scipy_step(graph)
        wb.check(iterate(rank), want, 1e-10 * want, "SciPy's iteration")
        share = rank.copy()
        note("scipy.product", host_time(lambda: product(share)))
        note("scipy", host_time(lambda: iterate(rank)))
    converged, count = ranker.converge(pull, 1e-10)
    wb.value("gpu.iterations", count, "count")
    again = step(graph, converged)
    wb.check(converged, again, 1e-6 * again, "the ranks at the end")
    print(f"{count} iterations from equal ranks until all changes together are below 1e-10")


def profile(rng: np.random.Generator, n: int, edges: int) -> None:
    graph = power_law(n, edges, seed=7)
    ranker, rank = Ranker(graph), some_rank(graph, rng)
    want = step(graph, rank)
    for name in KERNELS:
        ranker.start(rank)
        ranker.step(ranker.pulls[name])
        wb.check(ranker.result(), want, 1e-10 * want, name)
        print(f"{name}: {n:,} nodes, {edges:,} edges, right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, *((2**20, 10**7) if wb.is_gpu() else (2**11, 20_000)))
    else:
        print(f"device: {wb.device()['name']}")
        for what, graph in awkward().items():
            check_steps(graph, generator, what)
        own_references()
        if wb.is_gpu():
            time_all(generator, 2**20, 10**7)
        else:
            print("no GPU: nothing is timed")
