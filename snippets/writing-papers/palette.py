"""Whether readers who are colour-blind can tell the colours of this book's charts apart, and those of a rainbow."""

import numpy as np
import warpbench as wb
from _colours import MATRICES, SHARMA, colours, difference, lab, least

# --8<-- [start:palettes]
PALETTES = {  # the lines of this book's charts, on a light page and on a dark one, as they were and as they are now
    "light.before": "#1d7f5c #3566c4 #8a3f9e #806700 #a8326b #58625f",
    "light": "#1d7f5c #4569cc #842b89 #806700 #aa487d #415254",
    "dark.before": "#5cc49b #8db0ff #d39be6 #d8bf4c #ff9dc4 #a5b0ac",
    "dark": "#5cc49b #aeafff #b380c3 #d8bf4c #ffa0c9 #8a9696",
    "traffic": "#d62728 #2ca02c #ff7f0e",  # a red, a green and an orange
}
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
    """How often lightness turns along a ramp, and by how much it falls back from its main direction."""
    light = lab(ramp)[:, 0]
    light = light if light[-1] > light[0] else -light
    turns = int((np.diff(np.sign(np.diff(light))) != 0).sum())
    return turns, float((np.maximum.accumulate(light) - light).max())


def in_grey(ramp: np.ndarray, far: float = 0.25) -> float:
    """The smallest difference in lightness between two values that are at least so far apart on the scale."""
    light, n = lab(ramp)[:, 0], len(ramp)
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) >= far * n
    return float(np.abs(np.subtract.outer(light, light))[apart].min())


def main() -> None:
    check()
    kinds = ("", *MATRICES)
    print(f"\nsmallest CIEDE2000 between two colours\n{'':14}{'all cones':>12}" + "".join(f"{k:>14}" for k in MATRICES))
    for name, text in PALETTES.items():
        numbers = [least(colours(text), kind)[0] for kind in kinds]
        print(f"{name:14}{numbers[0]:12.1f}" + "".join(f"{number:14.1f}" for number in numbers[1:]))
        wb.value(f"{name}.all", numbers[0], "1")
        wb.value(f"{name}.least", min(numbers), "1")
    x = np.linspace(0, 1, 257)
    for name, ramp in (("rainbow", rainbow), ("hue", one_hue)):
        turns, fall = reversals(ramp(x))
        wb.value(f"{name}.turns", turns, "count")
        wb.value(f"{name}.fall", fall, "1")
        wb.value(f"{name}.grey", round(in_grey(ramp(x)), 2), "1")
        wb.value(f"{name}.steps", min(least(ramp(np.linspace(0, 1, STEPS)), kind)[0] for kind in kinds), "1")
        print(f"{name}: lightness turns {turns} times and falls back by {fall:.1f} of 100")
        wb.series(f"{name}.light", x[::8], lab(ramp(x[::8]))[:, 0], x_unit="1", unit="1")


if __name__ == "__main__":
    wb.measure_cpu()
    main()
