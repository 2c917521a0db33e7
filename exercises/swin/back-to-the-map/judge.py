"""Windows back into a map that is not shifted: sign of the shift, rows of windows, and orders are named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, CHANNELS = 256, 8


def shape(rows, columns, m, shift):
    rows, columns = sorted((rows, columns))
    return rows * m, columns * m, shift % m


def inputs(random, rows, columns, m, shift):
    h, w, by = shape(rows, columns, m, shift)
    return {
        "windows": random.floats((h * w // m**2, m * m, CHANNELS)),
        "h": h,
        "w": w,
        "m": m,
        "shift": by,
        "c": CHANNELS,
    }


def put_back(windows, h, w, m, shift, shifts=1, across=None, tokens=False, grid=False):
    """The map; the options are what a wrong answer does."""
    y, x = (np.arange(h)[:, None] - shifts * shift) % h, (np.arange(w) - shifts * shift) % w
    window = x // m * (h // m) + y // m if grid else y // m * (across or w // m) + x // m
    token = x % m * m + y % m if tokens else y % m * m + x % m
    return windows[window, token]


def reference(windows, h, w, m, shift, c):
    return {"map": put_back(windows, h, w, m, shift).astype(np.float64)}


def order(failure):
    given = {name: failure.inputs[name] for name in ("windows", "h", "w", "m", "shift")}
    given |= {name: int(given[name]) for name in ("h", "w", "m", "shift")}
    options = {
        "shift-sign": {"shifts": -1},
        "no-shift": {"shifts": 0},
        "rows-of-windows": {"across": given["h"] // given["m"]},
        "tokens-transposed": {"tokens": True},
        "windows-transposed": {"grid": True},
    }
    for name, option in options.items():
        if np.array_equal(failure.got, put_back(**given, **option).astype(np.float32)):
            y, x, c = (int(i) for i in np.argwhere(failure.wrong)[0])
            about = {"at": f"[{y}][{x}][{c}]"}
            return Cause(name, about, SENTENCES[name], "swin#unfused")
    return None


SENTENCES = {
    "shift-sign": {
        "en": "{size}: map{at} is wrong: the shift has the wrong sign. Pixel (y, x) of the map was at (y - shift, "
        "x - shift) of the shifted map",
        "zh": "{size}：map{at} 不对：移位的方向反了。图上的 (y, x) 在移位后的图里是 (y - shift, x - shift)",
    },
    "no-shift": {
        "en": "{size}: map{at} is wrong: the windows are back in their places, but the map is still shifted",
        "zh": "{size}：map{at} 不对：窗口都放回去了，但图还处于移位后的状态",
    },
    "rows-of-windows": {
        "en": "{size}: map{at} is wrong: a row of windows has w / m of them, not h / m. On a square map both "
        "are the same",
        "zh": "{size}：map{at} 不对：一排有 w / m 个窗口，不是 h / m 个。图是正方形时两者相同",
    },
    "tokens-transposed": {
        "en": "{size}: map{at} is wrong: rows and columns are swapped within each window",
        "zh": "{size}：map{at} 不对：每个窗口内部的行和列对调了",
    },
    "windows-transposed": {
        "en": "{size}: map{at} is wrong: the windows are taken column by column; they lie row by row",
        "zh": "{size}：map{at} 不对：窗口被当成逐列存放，其实是逐行",
    },
}


def launch(rows, columns, m, shift):
    h, w, _ = shape(rows, columns, m, shift)
    return Launch(grid=-(-h * w * CHANNELS // BLOCK), block=BLOCK)


exercise = Exercise(
    kernel="void reverse(const float* windows, float* map, int h, int w, int m, int shift, int c)",
    sizes=Sizes([(1, 2, 2, 0), (1, 3, 3, 1), (2, 3, 2, 1), (2, 2, 5, 2), (2, 4, 4, 3), (3, 5, 3, 2), (2, 3, 7, 3)]),
    inputs=inputs,
    reference=reference,
    launch=launch,
    budget=Budget(at=(4, 8, 7, 3), sectors_per_load=4.0, sectors_per_store=4.0),
    causes=(order,),
)
