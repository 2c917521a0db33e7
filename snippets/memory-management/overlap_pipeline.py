"""Copy in, compute, copy out: in one piece, and in chunks that several streams work on at the same time.

python overlap_pipeline.py   check; on a GPU also time 1 to 8 streams and 1 to 256 chunks, and record who did what when
"""

from collections.abc import Iterable
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
A, C = np.uint32(1664525), np.uint32(1013904223)
STEPS = 1200 if GPU else 9  # on an H200, as long as the copy of the same chunk: see the page
rng = np.random.default_rng(20261126)
kernel = wb.module("memory-management/pipeline.cu").get_function("step")


def reference(x: np.ndarray, steps: int) -> np.ndarray:
    """`steps` rounds of a * x + c in one: the map's power, by repeated squaring."""
    a, c, power_a, power_c = 1, 0, int(A), int(C)
    while steps:
        if steps & 1:
            a, c = a * power_a % 2**32, (c * power_a + power_c) % 2**32
        power_a, power_c = power_a * power_a % 2**32, (power_a + 1) * power_c % 2**32
        steps >>= 1
    return x * np.uint32(a) + np.uint32(c)


# --8<-- [start:plan]
def plan(n: int, chunks: int, streams: int) -> list[tuple[int, int, int]]:
    """(stream, first, last) of every chunk: the streams take turns."""
    size = -(-n // chunks)
    return [(k % streams, k * size, min(n, (k + 1) * size)) for k in range(chunks) if k * size < n]


# --8<-- [end:plan]


class Pipeline:
    """Two inputs that take turns, so that an output which was not written is seen."""

    def __init__(self, n: int, pinned: bool = True) -> None:
        self.n = n
        self.data = [np.frombuffer(rng.bytes(4 * n), np.uint32) for _ in range(2)]
        empty = cuda.pagelocked_empty if pinned else np.empty
        self.sources, self.target = [empty(n, np.uint32) for _ in range(2)], empty(n, np.uint32)
        for source, data in zip(self.sources, self.data, strict=True):
            source[:] = data
        self.target[:] = 0
        self.device = cuda.mem_alloc(4 * n)
        self.streams = [cuda.Stream() for _ in range(8)]
        self.wanted = [reference(data, STEPS) for data in self.data]

    def spoil(self, i: int) -> None:
        cuda.memset_d32_async(self.device, 0xFFFFFFFF, self.n)

    # --8<-- [start:enqueue]
    def stages(self, i: int, first: int, last: int, stream: cuda.Stream) -> Iterable[str]:
        """Enqueue the three stages of one chunk, one after another."""
        host, count, at = self.sources[i % 2], last - first, int(self.device) + 4 * first
        cuda.memcpy_htod_async(at, host[first:last], stream)
        yield "H2D"
        arguments = np.intp(at), np.int32(count), A, C, np.int32(STEPS)
        kernel(*arguments, block=(256, 1, 1), grid=(-(-count // 256), 1), stream=stream)
        yield "kernel"
        cuda.memcpy_dtoh_async(self.target[first:last], at, stream)
        yield "D2H"

    def run(self, i: int, chunks: int, streams: int) -> None:
        """Chunk by chunk: all three stages of one, then the next."""
        for stream, first, last in plan(self.n, chunks, streams):
            for _ in self.stages(i, first, last, self.streams[stream]):
                pass

    def run_by_stage(self, i: int, chunks: int, streams: int) -> None:
        """Stage by stage: the first stage of as many chunks as there are streams, then the second, then the third."""
        chunked = plan(self.n, chunks, streams)
        for k in range(0, len(chunked), streams):
            group = [self.stages(i, first, last, self.streams[s]) for s, first, last in chunked[k : k + streams]]
            for _ in zip(*group, strict=True):
                pass

    # --8<-- [end:enqueue]

    def check(self, i: int) -> None:
        cuda.Context.synchronize()
        if not np.array_equal(self.target, self.wanted[i % 2]):
            wb.check(self.target, self.wanted[i % 2], what="pipeline")

    def time(self, chunks: int, streams: int, repeats: int = 9, by_stage: bool = False) -> wb.Timing:
        run = partial(self.run_by_stage if by_stage else self.run, chunks=chunks, streams=streams)
        return wb.time(run, repeats=repeats, warmup=2, poison=self.spoil, check=self.check)

    # --8<-- [start:trace]
    def trace(self, chunks: int, streams: int) -> list[tuple[int, float, float, str]]:
        """(stream, start, stop, stage) in seconds, from an event after each stage.

        A stage starts when the one before it in its stream is done and its engine is free: the engines (one for each
        way of copying, and the SMs) take their work in the order in which it was enqueued.
        """
        begin, marks = cuda.Event(), []
        cuda.Context.synchronize()
        begin.record()
        for stream, first, last in plan(self.n, chunks, streams):
            for stage in self.stages(0, first, last, self.streams[stream]):
                marks.append((stream, stage, cuda.Event().record(self.streams[stream])))
        cuda.Context.synchronize()
        self.check(0)
        spans, stream_free, engine_free = [], {}, {}
        for stream, stage, event in marks:
            start = max(stream_free.get(stream, 0.0), engine_free.get(stage, 0.0))
            stop = max(start, event.time_since(begin) * 1e-3)
            spans.append((stream, start, stop, stage))
            stream_free[stream] = engine_free[stage] = stop
        return spans

    # --8<-- [end:trace]


def check_all() -> None:
    for n in (1, 31, 1000, 2**16 + 7):
        pipeline = Pipeline(n)
        for chunks, streams in ((1, 1), (3, 2), (16, 3), (7, 8)):
            for i in range(2):
                pipeline.spoil(i)
                pipeline.run(i, chunks, streams)
                pipeline.check(i)
                pipeline.run_by_stage(1 - i, chunks, streams)
                pipeline.check(1 - i)
        stages = len(pipeline.trace(5, 4))
        print(f"n = {n:>6,}: 1 to 16 chunks on 1 to 8 streams exact; {stages} stages traced")
    pageable = Pipeline(1000, pinned=False)
    pageable.run(1, 4, 4)
    pageable.check(1)
    print("from and to pageable memory: exact")


def measure(n: int) -> None:
    pipeline = Pipeline(n)
    load = [pipeline.time(1, 1, repeats=2) for _ in range(3)]  # wakes the clocks
    del load
    print(f"\n{4 * n / 2**20:.0f} MiB in and out, {STEPS} rounds")
    whole = pipeline.time(1, 1)
    wb.timing("whole", whole)
    print(f"one chunk: {whole.median * 1e3:.2f} ms")
    by_streams = {s: pipeline.time(16, s) for s in (1, 2, 3, 4, 6, 8)}
    by_stage = pipeline.time(16, 4, by_stage=True)
    wb.timing("by_stage", by_stage)
    print(f"16 chunks, 4 streams, stage by stage: {by_stage.median * 1e3:.2f} ms")
    by_chunks = {c: pipeline.time(c, 4) for c in (1, 2, 4, 8, 16, 32, 64, 128, 256)}
    for name, of in (("streams", by_streams), ("chunks", by_chunks)):
        median, low, high = ([getattr(t, which) for t in of.values()] for which in ("median", "low", "high"))
        wb.series(f"by.{name}", list(of), median, x_unit="count", unit="s", low=low, high=high)
        for count, t in of.items():
            print(f"{'16 chunks, ' if name == 'streams' else '4 streams, '}{count:3} {name}: {t.median * 1e3:.2f} ms")
            wb.timing(f"{name}_{count}", t)
    wb.value("boundary.time", (by_streams[1].median - whole.median) / (3 * (16 - 1)), "s")
    for name, stages in (("h2d", "H2D"), ("kernel", "kernel"), ("d2h", "D2H")):
        spans = [pipeline.trace(1, 1) for _ in range(3)]
        seconds = sorted(stop - start for run in spans for _, start, stop, stage in run if stage == stages)
        wb.value(f"{name}.time", seconds[1], "s", (seconds[0], seconds[-1]))
        print(f"{stages} of all: {seconds[1] * 1e3:.2f} ms")
    for streams in (1, 2, 4):
        pipeline.trace(8, streams)
        wb.spans(f"on{streams}.timeline", pipeline.trace(8, streams), unit="s")
    pageable = Pipeline(n, pinned=False)
    t = pageable.time(16, 4, repeats=5)
    wb.timing("pageable", t)
    print(f"pageable memory, 16 chunks, 4 streams: {t.median * 1e3:.2f} ms")


def main() -> None:
    check_all()
    if GPU:
        wb.needs(memory=2**30)
        measure(2**25)
    else:
        print("no GPU: nothing is timed")


if __name__ == "__main__":
    main()
