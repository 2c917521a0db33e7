"""CYK on the device: which strings does a context-free grammar derive?

python cyk.py             check; on a GPU also time 1188 strings of 256 letters
python cyk.py --profile   launch each kernel once for a profiler: 132 strings of 256 letters (softcuda: 3 of 40)
"""

import itertools
import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _grammar import CNF, DYCK, PALINDROMES, cyk, is_dyck, is_palindrome, normal_form

KERNELS = ("cyk_one", "cyk_two", "cyk_one_lookup", "cyk_two_lookup")
THREADS = 512


class Parser:
    """A grammar on the device."""

    def __init__(self, grammar: CNF) -> None:
        self.grammar, self.module = grammar, wb.module("grammars/cyk.cu")
        if len(grammar.names) > 8 or len(grammar.pairs) > 64:
            raise ValueError(f"{len(grammar.names)} variables, {len(grammar.pairs)} pairs: cyk.cu holds 8 and 64")
        self.rules = np.array([a << 16 | b << 8 | c for a, b, c in grammar.pairs], np.uint32)
        left, right = np.indices((256, 256), np.uint32)
        self.both = np.zeros((256, 256), np.uint8)
        for a, b, c in grammar.pairs:  # what two sets give, for any two sets of eight variables
            self.both |= ((left >> b & right >> c & 1) << a).astype(np.uint8)
        self.sets = {x: sum({1 << a for a, letter in grammar.letters if letter == x}) for _, x in grammar.letters}

    # --8<-- [start:launch]
    def load(self, words: list[str]) -> None:
        """Strings of one length, as sets of variables."""
        self.words, self.n = words, len(words[0])
        self.letters = cuda.to_device(np.array([[self.sets[x] for x in word] for word in words], np.uint32))
        self.bodies, self.given = cuda.to_device(self.rules), cuda.to_device(self.both)
        self.cells = 2 * self.n * (self.n + 1) * len(words)
        self.tables, self.out = cuda.mem_alloc(4 * self.cells), cuda.mem_alloc(4 * len(words))

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.tables, 0xFFFFFFFF, self.cells)
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, len(self.words))

    def launch(self, kernel: str) -> None:
        function, shared = self.module.get_function(kernel), 65536 if kernel.endswith("lookup") else 0
        function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        function(
            self.letters, self.bodies, np.int32(self.rules.size), self.given, self.tables, self.out, np.int32(self.n),
            block=(THREADS, 1, 1), grid=(len(self.words), 1), shared=shared,
        )  # fmt: skip

    # --8<-- [end:launch]

    def derived(self) -> np.ndarray:
        got = np.empty(len(self.words), np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        return got

    def table(self, string: int) -> np.ndarray:
        """The cells of one string by start and length; those that mean nothing are 0."""
        n = self.n
        got = np.empty((2, n, n + 1), np.uint32)
        cuda.memcpy_dtoh(got, int(self.tables) + string * got.nbytes)
        inside = (np.arange(n)[:, None] + np.arange(n + 1) <= n) & (np.arange(n + 1) > 0)
        return np.where(inside, got[0], 0)

    def check(self, kernel: str, want: list[bool]) -> None:
        wb.check(self.derived(), np.array(want, np.uint32), what=f"{kernel}, strings of {self.n}")


def some_dyck(rng: np.random.Generator, n: int) -> str:
    """A random balanced string, n even."""
    word, waiting = [], []
    while len(word) < n:
        if waiting and (len(waiting) == n - len(word) or rng.random() < 0.5):
            word.append(waiting.pop())
        else:
            kind = int(rng.integers(2))
            word.append("(["[kind])
            waiting.append(")]"[kind])
    return "".join(word)


def some_palindrome(rng: np.random.Generator, n: int) -> str:
    half = "".join("01"[i] for i in rng.integers(0, 2, (n + 1) // 2))
    return half[: n // 2] + half[::-1]


def spoiled(rng: np.random.Generator, word: str, letters: str) -> str:
    """One letter changed."""
    i = int(rng.integers(len(word)))
    other = [x for x in letters if x != word[i]]
    return word[:i] + other[int(rng.integers(len(other)))] + word[i + 1 :]


LANGUAGES: dict[str, tuple[dict, str, Callable[[str], bool], Callable[..., str]]] = {
    "Dyck": (DYCK, "()[]", is_dyck, some_dyck),
    "palindromes": (PALINDROMES, "01", is_palindrome, some_palindrome),
}


def mixture(rng: np.random.Generator, name: str, n: int, count: int) -> list[str]:
    """Half of them in the language, half of these with a letter changed."""
    _, letters, _, some = LANGUAGES[name]
    n -= n % 2 if name == "Dyck" else 0
    words = [some(rng, n) for _ in range(count)]
    return [spoiled(rng, word, letters) if i % 2 else word for i, word in enumerate(words)]


def check_all(rng: np.random.Generator, sizes: list[int], exhaustive: int) -> None:
    for name, (rules, letters, belongs, _) in LANGUAGES.items():
        parser = Parser(normal_form(rules))
        tried = 0
        for n in range(1, exhaustive + 1):  # every string there is
            words = ["".join(word) for word in itertools.product(letters, repeat=n)]
            parser.load(words)
            for kernel in KERNELS:
                parser.poison()
                parser.launch(kernel)
                parser.check(kernel, [belongs(word) for word in words])
            tried += len(words)
        for n in sizes:
            words = mixture(rng, name, n, 6)
            parser.load(words)
            for kernel in KERNELS:
                parser.poison()
                parser.launch(kernel)
                parser.check(kernel, [belongs(word) for word in words])
                if n <= 40:  # every cell, too
                    want = np.array(cyk(parser.grammar, words[0]), np.uint32)[:, : len(words[0])].T
                    wb.check(parser.table(0), want, what=f"{kernel}, every cell")
        form = parser.grammar
        print(f"{name:12}{len(form.names):3} variables, {len(form.letters)} + {len(form.pairs)} rules", end=": ")
        print(f"all {tried:,} strings up to {exhaustive} letters, some of {', '.join(map(str, sizes))}: exact")


def time_all(rng: np.random.Generator, n: int, count: int) -> None:
    print()
    for name, (rules, _, belongs, _) in LANGUAGES.items():
        parser = Parser(normal_form(rules))
        words = mixture(rng, name, n, count)
        parser.load(words)
        want = [belongs(word) for word in words]
        for kernel in KERNELS:
            t = wb.time(
                lambda i, parser=parser, kernel=kernel: parser.launch(kernel),
                repeats=10,
                poison=parser.poison,
                check=lambda i, parser=parser, kernel=kernel, want=want: parser.check(kernel, want),
            )
            label = f"{kernel}.{name.lower()}"
            wb.timing(label, t)
            wb.value(f"{label}.strings", count / t.median, "1/s")
            print(f"{label:24}{t.median * 1e6:10.0f} µs for {count} strings of {n} letters")


def profile(rng: np.random.Generator, n: int, count: int) -> None:
    parser = Parser(normal_form(DYCK))
    words = mixture(rng, "Dyck", n, count)
    parser.load(words)
    for kernel in KERNELS:
        parser.poison()
        parser.launch(kernel)
        parser.check(kernel, [is_dyck(word) for word in words])
        print(f"{kernel}: {count} strings of {n} letters, exact")


if __name__ == "__main__":
    generator = np.random.default_rng(28 if "--profile" in sys.argv[1:] else None)  # counters are the same each time
    gpu = wb.is_gpu()
    if "--profile" in sys.argv[1:]:
        profile(generator, *((256, 132) if gpu else (40, 3)))
    else:
        print(f"device: {wb.device()['name']}")
        check_all(generator, [17, 31, 40] + ([100, 255, 256] if gpu else []), 6 if gpu else 5)
        if gpu:
            time_all(generator, 256, 1188)
        else:
            print("no GPU: nothing is timed")
