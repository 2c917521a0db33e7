"""Run an automaton over a long text: check every rung of scan.cu, then time it against a copy, one thread, one core.

python scan.py             check; on a GPU also time 2^28 and 2^30 symbols (one thread: 2^20)
python scan.py --profile   launch each rung once for a profiler: 2^26 symbols (softcuda: 2^14; one thread: 2^10)
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _dfa import CONTAINS_01, DFA, ODD_ONES, compiled, divisible
from _walk import Walker, composed

WARP, CHUNK = 32, 16  # as in scan.cu: lanes; groups of 8 symbols that a lane takes at a time
SMS = cuda.Context.get_device().multiprocessor_count
MOST_BLOCKS = 16 * SMS


# --8<-- [start:rungs]
@dataclass(frozen=True)
class Rung:
    name: str
    threads: int  # of a block
    per_sm: int  # blocks that an SM holds
    copies: int = 0  # of the table in shared memory
    tiles: bool = True  # symbols go through shared memory, 4.5 KiB a warp
    states: int = 8  # the most that it can carry
    bits: int = 1  # of a symbol

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block asks for."""
        stage = 16 * (CHUNK // 2 + 1) * self.threads if self.tiles else 0
        return stage + 8 * 256 * self.copies


RUNGS = [
    Rung("serial", 1, 1, tiles=False, states=32),
    Rung("lanes", 1024, 2, tiles=False, states=32),
    Rung("packed", 512, 2),
    Rung("table", 512, 2, copies=1),
    Rung("banked", 1024, 1, copies=32),
    Rung("ahead", 512, 1, copies=1),
]
LETTERS = [Rung(f"letters{1 << bits}", 512, 1, copies=1, bits=bits) for bits in (2, 4, 8)]
# --8<-- [end:rungs]


# --8<-- [start:tables]
def steps(dfa: DFA) -> np.ndarray:
    """For each letter and each of 32 states: the next state, and 32 if that accepts."""
    table = np.tile(np.arange(WARP, dtype=np.uint32), (len(dfa.alphabet), 1))
    for q, row in enumerate(dfa.step):
        for a, p in enumerate(row):
            table[a, q] = p + WARP * (p in dfa.accepting)
    return table


def tables(dfa: DFA, bits: int = 1) -> np.ndarray:
    """Pairs of words: what each string of 8 bits does to eight states, 4 bits a state, and how often it is accepted.

    Three more pairs are for single letters of one bit: what 0 does, what 1 does, the accepting states.
    """
    table, q = np.zeros((259, 2), np.uint32), np.arange(len(dfa.step))
    if q.size > 8:
        return table  # no packed rung can run it
    to, count = composed(dfa, 8 // bits, bits)
    table[:256, 0] = 0x76543210 & ~sum(15 << 4 * int(p) for p in q)  # states that are not there stay where they are
    table[:256, 0] |= (to << 4 * q).sum(axis=1).astype(np.uint32)
    table[:256, 1] = (count << 8 * (q % 4) + 4 * (q // 4)).sum(axis=1)
    if bits == 1:
        for a in range(2):
            table[256 + a, 0] = sum((dfa.step[p][a] if p < len(q) else p) << 4 * p for p in range(8))
        for p in dfa.accepting:
            table[258, p // 4] |= 1 << 8 * (p % 4)
    return table


# --8<-- [end:tables]


class Scanner:
    """One automaton on the device. All rungs take the same arguments."""

    module = None

    def __init__(self, dfa: DFA, bits: int = 1) -> None:
        Scanner.module = Scanner.module or wb.module("automata/scan.cu")
        self.dfa, self.bits = dfa, bits
        self.step, self.table = cuda.to_device(steps(dfa)), cuda.to_device(tables(dfa, bits))
        self.pieces, self.arrived, self.out = (
            cuda.mem_alloc(4 * WARP * MOST_BLOCKS),
            cuda.mem_alloc(4),
            cuda.mem_alloc(16),
        )
        cuda.memset_d32(self.arrived, 0, 1)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.pieces, 0xFFFFFFFF, WARP * MOST_BLOCKS)
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, 4)

    # --8<-- [start:launch]
    def launch(self, rung: Rung, text: cuda.DeviceAllocation, n: int) -> None:
        kernel = self.module.get_function(f"scan_{rung.name}")
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, rung.shared)
        warps = -(-n // (8 * WARP * CHUNK if rung.tiles else 128))  # more would find nothing to do
        blocks = 1 if rung.name == "serial" else max(1, min(rung.per_sm * SMS, -(-32 * warps // rung.threads)))
        arguments = text, np.int64(n), self.step, self.table, np.int32(0), self.pieces, self.arrived, self.out
        kernel(*arguments, block=(rung.threads, 1, 1), grid=(blocks, 1), shared=rung.shared)

    # --8<-- [end:launch]

    def result(self) -> tuple[int, int]:
        got = np.empty(2, np.uint64)
        cuda.memcpy_dtoh(got, self.out)
        return int(got[0]), int(got[1])

    def check(self, rung: Rung, n: int, want: tuple[int, int]) -> None:
        if (got := self.result()) != want:
            raise AssertionError(f"scan_{rung.name} of {n} symbols: state and count {got}, not {want}")


def fresh(rng: np.random.Generator, n: int, letters: int = 2) -> np.ndarray:
    """Random letters, a byte each; of two letters '0' and '1', as text has them."""
    if letters > 2:
        return rng.integers(0, letters, n, np.uint8)
    text = np.unpackbits(np.frombuffer(rng.bytes(n // 8 + 1), np.uint8))[:n]
    text += np.uint8(ord("0"))
    return text


def random_dfa(rng: np.random.Generator, states: int, letters: int = 2) -> DFA:
    step = rng.integers(0, states, (states, letters)).tolist()
    accepting = frozenset(np.flatnonzero(rng.random(states) < 0.4).tolist()) | {int(rng.integers(states))}
    return DFA("".join(map(chr, range(48, 48 + letters))), tuple(map(tuple, step)), accepting)


def plain(dfa: DFA, text: np.ndarray) -> tuple[int, int]:
    """The reference for any alphabet: Python, a symbol at a time."""
    state = count = 0
    for letter in (text & np.uint8(len(dfa.alphabet) - 1)).tolist():
        state = dfa.step[state][letter]
        count += state in dfa.accepting
    return state, count


def check_all(rng: np.random.Generator, sizes: list[int]) -> None:
    """Every rung on several automata, at awkward lengths."""
    automata = {
        "contains 01": CONTAINS_01, "odd ones": ODD_ONES, "7 divides": divisible(7),
        "third from last": compiled("(0|1)*1(0|1)(0|1)"), "random, 5": random_dfa(rng, 5),
        "random, 32": random_dfa(rng, 32), "31 divides": divisible(31),
    }  # fmt: skip
    for name, dfa in automata.items():
        scanner, walker = Scanner(dfa), Walker(dfa)
        rungs = [rung for rung in RUNGS if len(dfa.step) <= rung.states]
        for n in sizes + [2**16 + 5] * (name == "7 divides"):  # the last takes more than one block
            text = fresh(rng, n)
            want = plain(dfa, text)
            if walker.walk(text) != want or (n % 8 == 0 and walker.built and walker.walk8(text) != want):
                raise AssertionError(f"walk.c of {n} symbols: not {want}")
            data = cuda.to_device(np.concatenate([text, np.zeros(-n % 16, np.uint8)]))
            for rung in rungs:
                scanner.poison()
                scanner.launch(rung, data, n)
                scanner.check(rung, n, want)
        print(f"{name:16} |Q| = {len(dfa.step):2}  {len(rungs)} rungs at {', '.join(map(str, sizes))}: exact")
    for rung in LETTERS:
        dfa = random_dfa(rng, 8, 1 << rung.bits)
        scanner = Scanner(dfa, rung.bits)
        for n in sizes:
            text = fresh(rng, n, 1 << rung.bits)
            data = cuda.to_device(np.concatenate([text, np.zeros(-n % 16, np.uint8)]))
            scanner.poison()
            scanner.launch(rung, data, n)
            scanner.check(rung, n, plain(dfa, text))
        print(f"{len(dfa.alphabet):3} letters      |Q| =  8  1 rung at {', '.join(map(str, sizes))}: exact")


def remainder(text: np.ndarray, by: int = 7) -> int:
    """The text as a binary number modulo 7, without an automaton: 8 = 1 modulo 7, so digits' weights are 1, 2, 4."""
    digits = (text[::-1] & 1).astype(np.int8)
    return sum(int(digits[k::3].sum(dtype=np.int64)) << k for k in range(3)) % by


def median_of(run: Callable[[], object], repeats: int = 3) -> tuple[float, object]:
    """Median seconds on this core, and what it answered."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), answer


def time_read(scanner: Scanner, buffers: list, texts: list[np.ndarray]) -> wb.Timing:
    """Reading the text once."""
    read, n, k = scanner.module.get_function("read_all"), texts[0].size, len(texts)
    mixed = [np.bitwise_xor.reduce(text.view(np.uint32)) for text in texts]

    def check(i: int) -> None:
        wb.check(np.uint32(scanner.result()[0] & 0xFFFFFFFF), mixed[i % k], what="read_all")

    return wb.time(
        lambda i: read(buffers[i % k], np.int64(n), scanner.out, block=(512, 1, 1), grid=(2 * SMS, 1)),
        poison=lambda i: cuda.memset_d32_async(scanner.out, 0, 4),
        check=check,
    )


def time_copy(scanner: Scanner, buffers: list, texts: list[np.ndarray]) -> wb.Timing:
    """Copying the text."""
    copy, n = scanner.module.get_function("copy"), texts[0].size
    spare = cuda.mem_alloc(n)

    def check(i: int) -> None:
        got = np.empty(n, np.uint8)
        cuda.memcpy_dtoh(got, spare)
        wb.check(got, texts[i % 2], what="copy")

    t = wb.time(
        lambda i: copy(buffers[i % 2], spare, np.int64(n), block=(256, 1, 1), grid=(n // 4096, 1)),
        poison=lambda i: cuda.memset_d32_async(spare, 0xFFFFFFFF, n // 4),
        check=check,
    )
    spare.free()
    return t


def time_all(rng: np.random.Generator, n: int, few: int) -> None:
    dfa = divisible(7)  # its letters permute the states: no two starts ever meet, and nothing can be skipped
    scanner, walker = Scanner(dfa), Walker(dfa)
    texts = [fresh(rng, n) for _ in range(2)]
    buffers = [cuda.to_device(text) for text in texts]
    seconds, answers = {}, []
    for name, walk in (("cpu", walker.walk), ("cpu8", walker.walk8)):
        if walker.built:
            walk(texts[0])
            seconds[name], answer = median_of(lambda walk=walk: walk(texts[0]))
            answers.append(answer)
    want = [walker.walk8(text) if walker.built else walker.walk(text) for text in texts]
    for text, (state, _) in zip(texts, want, strict=True):
        wb.check(state, remainder(text), what="last state, by arithmetic")
    if any(answer != want[0] for answer in answers):
        raise AssertionError(f"walk.c contradicts itself: {answers}, {want[0]}")
    times = {"copy": time_copy(scanner, buffers, texts), "read": time_read(scanner, buffers, texts)}
    for rung in RUNGS:
        size = few if rung.name == "serial" else n
        expected = [walker.walk(text[:size]) for text in texts] if size < n else want
        times[rung.name] = wb.time(
            lambda i, rung=rung, size=size: scanner.launch(rung, buffers[i % 2], size),
            repeats=10 if rung.name == "serial" else 50,
            warmup=2 if rung.name == "serial" else 5,
            poison=scanner.poison,
            check=lambda i, rung=rung, size=size, expected=expected: scanner.check(rung, size, expected[i % 2]),
        )
    print(f"\n{n:,} symbols, a byte each; |Q| = {len(dfa.step)}\n{'':10}{'µs':>10}{'symbols/s':>12}{'of read':>9}")
    for name, s in seconds.items():
        wb.value(f"{name}.time", s, "s")
        wb.value(f"{name}.rate", n / s, "B/s")
        print(f"{name:10}{s * 1e6:10.0f}{n / s / 1e9:10.2f} G")
    for name, t in times.items():
        moved = 2 * n if name == "copy" else few if name == "serial" else n
        wb.timing(name, t, moved)
        of_read = moved / t.median / (n / times["read"].median)
        print(f"{name:10}{t.median * 1e6:10.1f}{moved / t.median / 1e9:10.2f} G{of_read:9.1%}")
    wb.value("serial.symbol", times["serial"].median / few, "s")
    wb.value("serial.whole", times["serial"].median / few * n, "s")  # extrapolated
    for buffer in buffers:
        buffer.free()
    longer(rng, 4 * n)
    letters(rng, n)


def longer(rng: np.random.Generator, n: int) -> None:
    """The last rung on a text so long that start and end hardly count. One text: the L2 holds little of it."""
    dfa = divisible(7)
    scanner, walker = Scanner(dfa), Walker(dfa)
    text = fresh(rng, n)
    data = cuda.to_device(text)
    want = (walker.walk8 if walker.built else walker.walk)(text)
    times = {
        "read_long": time_read(scanner, [data], [text]),
        "ahead_long": wb.time(
            lambda i: scanner.launch(RUNGS[-1], data, n),
            poison=scanner.poison,
            check=lambda i: scanner.check(RUNGS[-1], n, want),
        ),
    }
    for name, t in times.items():
        wb.timing(name, t, n)
        print(f"{name:10}{t.median * 1e6:10.1f}{n / t.median / 1e9:10.2f} G   {n:,} symbols")
    data.free()


def letters(rng: np.random.Generator, n: int) -> None:
    """The last rung with larger alphabets: fewer symbols a lookup."""
    for rung in LETTERS:
        dfa = random_dfa(rng, 8, 1 << rung.bits)
        scanner = Scanner(dfa, rung.bits)
        period = fresh(rng, 2**16, 1 << rung.bits)  # the text repeats it, so the reference can double its way up
        text = np.tile(period, n // period.size)
        want = doubled(dfa, period, n // period.size)
        data = [cuda.to_device(text) for _ in range(2)]
        t = wb.time(
            lambda i, scanner=scanner, rung=rung, data=data: scanner.launch(rung, data[i % 2], n),
            poison=scanner.poison,
            check=lambda i, scanner=scanner, rung=rung, want=want: scanner.check(rung, n, want),
        )
        wb.timing(rung.name, t, n)
        print(f"{1 << rung.bits:3} letters{t.median * 1e6:10.1f}{n / t.median / 1e9:10.2f} G")
        for buffer in data:
            buffer.free()


def doubled(dfa: DFA, period: np.ndarray, times: int) -> tuple[int, int]:
    """The reference for a text that repeats: what a period does to each state, then follow it."""
    to = np.arange(len(dfa.step))
    count = np.zeros_like(to)
    step, accepting = np.array(dfa.step), np.array([q in dfa.accepting for q in range(len(dfa.step))])
    for letter in period.tolist():
        to = step[to, letter]
        count += accepting[to]
    state = total = 0
    for _ in range(times):
        total, state = total + int(count[state]), int(to[state])
    return state, total


def profile(rng: np.random.Generator, n: int, few: int) -> None:
    dfa = divisible(7)
    scanner, walker = Scanner(dfa), Walker(dfa)
    text = fresh(rng, n)
    data = cuda.to_device(text)
    for rung in RUNGS:
        size = few if rung.name == "serial" else n
        scanner.poison()
        scanner.launch(rung, data, size)
        scanner.check(rung, size, walker.walk(text[:size]))
        print(f"scan_{rung.name} of {size} symbols: exact")


if __name__ == "__main__":
    generator = np.random.default_rng(28 if "--profile" in sys.argv[1:] else None)  # counters are the same each time
    gpu = wb.is_gpu()
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**26 if gpu else 2**14, 2**16 if gpu else 2**10)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(generator, [1, 7, 31, 1000, 4097] + ([10**6 + 3] if gpu else []))
        if gpu:
            time_all(generator, 2**28, 2**20)
        else:
            print("no GPU: nothing is timed")
