"""Which sources does this book cite together? Co-citation is A^T A, counted with bits.

python cocitation.py   the book's own references, and random ones that fill no word
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _graph import References

# --8<-- [start:together]


def together(a: np.ndarray) -> np.ndarray:
    """A^T A of a matrix of zeros and ones, a row a page and a column a source."""
    pages, sources = a.shape
    words = -(-pages // 64)
    bits = np.zeros((sources, 64 * words), np.uint8)
    bits[:, :pages] = a.T
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    out = cuda.mem_alloc(4 * sources**2)
    cuda.memset_d32(out, 0xFFFFFFFF, sources**2)
    kernel = wb.module("pagerank/cocitation.cu").get_function("cocite")
    sizes = np.int32(sources), np.int32(words)
    kernel(cuda.In(packed), out, *sizes, block=(64, 1, 1), grid=(-(-sources // 64), sources))
    return cuda.from_device(out, (sources, sources), np.int32)


# --8<-- [end:together]


def main() -> None:
    rng = np.random.default_rng()
    for pages, sources in ((1, 1), (31, 65), (64, 64), (130, 100)):
        a = (rng.random((pages, sources)) < 0.3).astype(np.int64)
        wb.check(together(a), a.T @ a, what=f"{pages} pages, {sources} sources")
    print("A^T A of random pages: exact")
    book = References()
    a = book.cites()
    counts = together(a)
    wb.check(counts, a.T @ a, what="the book's references")
    show(book, counts)


def show(book: References, counts: np.ndarray, most: int = 8) -> None:
    """The pairs that most pages cite together."""
    print("pages   sources that they cite together")
    i, j = np.triu_indices(len(counts), 1)
    order = np.argsort(-counts[i, j], kind="stable")[:most]
    for pair in order:
        print(f"{counts[i[pair], j[pair]]:5}   {book.sources[i[pair]]} | {book.sources[j[pair]]}")


if __name__ == "__main__":
    main()
