"""Two real images came out of one complex transform: take their spectra apart. Whole numbers, so that all is exact."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, H, W):
    return {"z": random.whole((H, W, 2), 30_000), "H": H, "W": W}


def parts(z, mirrored, conjugate=True):
    """(spectrum of the first image, of the second), with `mirrored` in the place of Z at -f."""
    z, mirrored = (a.astype(np.float64) @ (1, 1j) for a in (z, mirrored))
    other = mirrored.conj() if conjugate else mirrored
    return tuple(np.stack([a.real, a.imag], -1) for a in ((z + other) / 2, (z - other) / 2j))


def mirror(z, axes=(0, 1)):
    """z at -u, -v, indices modulo H and W."""
    return np.roll(np.flip(z, axes), 1, axes)


def reference(z, H, W):
    return dict(zip("xy", parts(z, mirror(z)), strict=True))


def equals(failure, pair):
    want = pair["xy".index(failure.name)]
    return np.array_equal(failure.got.reshape(want.shape), want)


def one_axis(failure):
    z = failure.inputs["z"]
    if not any(equals(failure, parts(z, mirror(z, (axis,)))) for axis in (0, 1)):
        return None
    return Cause(
        "one-axis",
        {},
        {
            "en": "{size}: the partner of Z[u][v] is taken from the same row or from the same column. The mirror image "
            "of (u, v) is (-u, -v): both indices change sign",
            "zh": "{size}：Z[u][v] 的搭档取自同一行或同一列。(u, v) 的镜像是 (-u, -v)，两个下标都要变号",
        },
        "gfnet#dft",
    )


def not_conjugated(failure):
    z = failure.inputs["z"]
    if not equals(failure, parts(z, mirror(z), conjugate=False)):
        return None
    return Cause(
        "not-conjugated",
        {},
        {
            "en": "{size}: Z[-u][-v] is added without being conjugated. For a real image X[-u][-v] is the conjugate of "
            "X[u][v], so the imaginary part of the partner changes its sign",
            "zh": "{size}：加上 Z[-u][-v] 时没有取共轭。实数图像的 X[-u][-v] 是 X[u][v] 的共轭，所以搭档的虚部要变号",
        },
        "gfnet#dft",
    )


def still_times_i(failure):
    want = failure.want.reshape(-1, 2)
    if failure.name != "y" or not np.array_equal(failure.got.reshape(-1, 2), want @ np.array([[0, 1], [-1, 0]])):
        return None
    return Cause(
        "still-times-i",
        {},
        {
            "en": "{size}: y is i times the second spectrum. The second image stood in the imaginary part: divide by "
            "i, which makes (re, im) into (im, -re)",
            "zh": "{size}：y 是第二个频谱乘以 i。第二幅图像原来放在虚部里，所以还要除以 i，"
            "也就是把 (re, im) 变成 (im, -re)",
        },
        "gfnet#pairs",
    )


def not_halved(failure):
    if not np.array_equal(failure.got, 2 * failure.want):
        return None
    return Cause(
        "not-halved",
        {"name": failure.name},
        {
            "en": "{size}: {name} is twice as large as it should be: Z[u][v] plus the conjugate of its partner holds "
            "the spectrum twice",
            "zh": "{size}：{name} 是应有值的两倍：Z[u][v] 与搭档的共轭相加，把同一个频谱算了两遍",
        },
        "gfnet#pairs",
    )


exercise = Exercise(
    kernel="void separate(const float* z, float* x, float* y, int H, int W)",
    sizes=Sizes([(1, 1), (1, 2), (2, 1), (3, 5), (7, 10), (14, 14), (16, 16), (1, 257), (31, 33), (40, 23)]),
    inputs=inputs,
    reference=reference,
    launch=lambda H, W: Launch(grid=-(-H * W // BLOCK), block=BLOCK),
    causes=(one_axis, not_conjugated, still_times_i, not_halved),
    budget=Budget(at=(64, 64), bytes_loaded=5 * 8 * 64 * 64, bytes_stored=4 * 8 * 64 * 64),
)
