"""The GRIM test: which printed means can n whole numbers have?

python grim.py   every mean of two decimals for n up to 100, on the device and by fractions; then scores out of 164
"""

# --8<-- [start:import]
from fractions import Fraction

# --8<-- [end:import]
import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

SCALE, MOST = 100, 100
SCORES = (  # who, percent as printed, problems, samples of each problem
    ("GPT-4", "67.0", 164, 1),
    ("GPT-3.5", "48.1", 164, 1),
    ("PaLM", "26.2", 164, 1),
    ("CodeT + GPT-3.5", "65.8", 164, 1),
    ("Codex 12B", "28.81", 164, 200),
)


def possible(scale: int = SCALE, most: int = MOST) -> np.ndarray:
    """possible[n - 1, m]: whether n whole numbers can have a mean that ends in m / scale."""
    kernel = wb.module("reading-papers/grim.cu").get_function("grim")
    table = cuda.mem_alloc(most * scale)
    cuda.memset_d8(table, 0xFF, most * scale)
    kernel(table, np.int32(scale), np.int32(most), block=(128, 1, 1), grid=(-(-scale // 128), most))
    return cuda.from_device(table, (most, scale), np.uint8)


def by_fractions(scale: int = SCALE, most: int = MOST) -> np.ndarray:
    """The same the other way round: every mean there is, and all that it may be printed as."""
    table = np.zeros((most, scale), np.uint8)
    half = Fraction(1, 2)
    for n in range(1, most + 1):
        for k in range(n + 1):
            exact = Fraction(k, n) * scale
            for m in range(int(exact), int(exact) + 2):
                if abs(exact - m) <= half:  # a tie may go up or down
                    table[n - 1, m % scale] = 1
    return table


# --8<-- [start:score]
def nearest(percent: str, count: int) -> tuple[int, bool, bool]:
    """Of `count` yes or no answers: how many yes come nearest; whether they round, or are cut, to `percent`."""
    decimals = len(percent.partition(".")[2])
    unit, said = Fraction(1, 10**decimals), Fraction(percent)
    near = round(said / 100 * count)
    found = [100 * Fraction(k, count) for k in (near - 1, near, near + 1)]
    rounded = any(abs(share - said) <= unit / 2 for share in found)
    cut = any(0 <= share - said < unit for share in found)
    return near, rounded, cut


# --8<-- [end:score]


def main() -> None:
    table = possible()
    wb.check(table, by_fractions(), what="GRIM")
    for scale, most in ((10, 31), (1000, 7), (7, 100)):
        wb.check(possible(scale, most), by_fractions(scale, most), what=f"GRIM at {scale}")
    print("the kernel and the fractions agree on every mean")
    print("n           of 100 printed means possible")
    for n in (1, 8, 20, 28, 50, 99, 100):
        print(f"{n:<12}{table[n - 1].sum()}")
    wb.matrix("grim", table, unit="1")
    print(f"\n{'':18}{'printed':>8}{'nearest':>16}{'is':>10}   rounded   cut")
    for who, percent, problems, samples in SCORES:
        near, rounded, cut = nearest(percent, problems * samples)
        exact = 100 * near / (problems * samples)
        print(
            f"{who:18}{percent:>8}{near:>8} of {problems * samples:<6}{exact:9.4f}"
            f"   {'yes' if rounded else 'no ':8}  {'yes' if cut else 'no'}"
        )


if __name__ == "__main__":
    main()
