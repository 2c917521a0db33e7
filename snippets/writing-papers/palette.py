"""Whether readers who are colour-blind can tell the colours of this book's charts apart, and those of a rainbow."""

import numpy as np
import warpbench as wb
from _colours import MATRICES, SHARMA, colours, difference, lab, least

# --8<-- [start:palettes]
LIGHT = colours("#1d7f5c #3566c4 #8a3f9e #806700 #a8326b #58625f")  # theme/style/colours.css, --wb-s0 to --wb-s5
DARK = colours("#5cc49b #8db0ff #d39be6 #d8bf4c #ff9dc4 #a5b0ac")
TRAFFIC = colours("#d62728 #2ca02c #ff7f0e")  # the red, green and orange that many plots begin with
STEPS = 9


def rainbow(x: np.ndarray) -> np.ndarray:
    """A map like the old default of many plotting libraries: blue, cyan, yellow, red, by straight lines."""
    return np.clip(1.5 - np.abs(4 * x[:, None] - np.array([3, 2, 1])), 0, 1)


def one_hue(x: np.ndarray) -> np.ndarray:
    """This book's heat maps: from the ground of the page to one dark green."""
    ground, ink = colours("#fdfdfb #07503a")
    return ground + x[:, None] * (ink - ground)


# --8<-- [end:palettes]


def check() -> None:
    wb.check(difference(SHARMA[:, :3], SHARMA[:, 3:6]), SHARMA[:, 6], 1e-4, "CIEDE2000")
    wb.check(difference(SHARMA[:, 3:6], SHARMA[:, :3]), SHARMA[:, 6], 1e-4, "CIEDE2000, turned round")
    wb.check(lab(colours("#ffffff #000000")), np.array([[100.0, 0, 0], [0, 0, 0]]), 0.02, "CIELAB of white and black")
    for kind, matrix in MATRICES.items():
        wb.check(np.sum(matrix, 1), np.ones(3), 1e-5, f"{kind}: grey stays grey")
    print(f"CIEDE2000 as {len(SHARMA)} published pairs; grey stays grey for all three kinds")


def reversals(ramp: np.ndarray) -> tuple[int, float]:
    """How often lightness turns along a ramp, and how far it falls back from its main direction."""
    light = lab(ramp)[:, 0]
    light = light if light[-1] > light[0] else -light
    steps = np.diff(light)
    turns = int((np.diff(np.sign(steps[np.abs(steps) > 1e-9])) != 0).sum())
    return turns, float((np.maximum.accumulate(light) - light).max())


def main() -> None:
    check()
    places = np.linspace(0, 1, STEPS)
    found = {"light": LIGHT, "dark": DARK, "traffic": TRAFFIC, "rainbow": rainbow(places), "hue": one_hue(places)}
    print(f"\nsmallest CIEDE2000 between two colours\n{'':10}{'all cones':>12}" + "".join(f"{k:>14}" for k in MATRICES))
    for name, palette in found.items():
        numbers = {kind or "all": least(palette, kind)[0] for kind in ("", *MATRICES)}
        print(f"{name:10}{numbers['all']:12.1f}" + "".join(f"{numbers[kind]:14.1f}" for kind in MATRICES))
        for kind, number in numbers.items():
            wb.value(f"{name}.{kind}", number, "1")
        wb.value(f"{name}.least", min(numbers.values()), "1")
    for name, ramp in (("rainbow", rainbow), ("hue", one_hue)):
        turns, fall = reversals(ramp(np.linspace(0, 1, 256)))
        wb.value(f"{name}.turns", turns, "count")
        wb.value(f"{name}.fall", fall, "1")
        print(f"{name}: lightness turns {turns} times and falls back by {fall:.1f}")
        light = lab(ramp(np.linspace(0, 1, 64)))[:, 0]
        wb.series(f"{name}.light", np.linspace(0, 1, 64), light, x_unit="1", unit="1")


if __name__ == "__main__":
    wb.measure_cpu()
    main()
