"""Every float16, divided by 2^0 … 2^40 and stored in float16 again: how many come back, are rounded, are lost."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

SHIFTS = 41
FINITE = 0x7BFF  # positive float16 below infinity


# --8<-- [start:fates]
def fates() -> np.ndarray:
    """By shift and bits: 0 exact, 1 rounded, 2 lost, 3 not counted."""
    kernel = wb.module("training-tricks/half.cu").get_function("survive")
    fate = np.full((SHIFTS, 65536), 255, np.uint8)
    kernel(cuda.InOut(fate), block=(256, 1, 1), grid=(256, SHIFTS))
    return fate


def by_whole_numbers() -> np.ndarray:
    """The same without floats: a float16 is m times 2^(e - 24), and rounds at multiples of 2^-24 at the finest."""
    bits = np.arange(65536)
    exponent, mantissa = bits >> 10 & 31, bits & 1023
    m = np.where(exponent, mantissa + 1024, mantissa)
    e = np.maximum(exponent, 1) - 1
    out = np.empty((SHIFTS, 65536), np.uint8)
    for shift in range(SHIFTS):
        down = np.maximum(0, shift - e)  # binary digits of m that fall below 2^-24
        whole, rest, middle = m >> down, m & ((1 << down) - 1), 1 << down >> 1
        up = (rest > middle) | ((rest == middle) & (rest > 0) & (whole % 2 == 1))
        out[shift] = np.where((m == 0) | (exponent == 31), 3, np.where(whole + up == 0, 2, np.where(rest, 1, 0)))
    return out


def lost(shift: int) -> int:
    """How many positive float16 are at most 2^(shift - 25), the half of the smallest one times 2^shift."""
    return 0 if shift < 1 else min(FINITE, 1 << (shift - 1) if shift <= 11 else 1024 * (shift - 10))


# --8<-- [end:fates]


if __name__ == "__main__":
    found = fates()
    wb.check(found, by_whole_numbers(), what="fates")
    positive = found[:, 1 : FINITE + 1]
    gone = (positive == 2).sum(1)
    wb.check(gone, np.array([lost(shift) for shift in range(SHIFTS)]), what="lost, by the formula")
    shares = {name: 100 * (positive == kind).mean(1) for kind, name in enumerate(("exact", "rounded", "lost"))}
    for name, share in shares.items():
        wb.series(f"{name}.share", range(SHIFTS), share, x_unit="count", unit="%")
    print("divided by   exact  rounded     lost   of 31743 positive numbers")
    for shift in (0, 1, 8, 16, 20, 24, 32, 40):
        exact, rounded, none = ((positive[shift] == kind).sum() for kind in range(3))
        print(f"2^{shift:<8}{exact:8}{rounded:9}{none:9}")
    wb.value("lost.twenty", int(gone[20]), "count")
