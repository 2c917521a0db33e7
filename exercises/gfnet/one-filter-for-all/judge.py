"""The product in the middle of the layer: one complex filter for all images of a batch, read once. All is exact."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 128
IMAGES, SIZE = 8, 1 << 11


def inputs(random, images, size):
    return {
        "X": random.whole((images, size, 2), 999),
        "K": random.whole((size, 2), 999),
        "images": images,
        "size": size,
    }


def product(X, K):
    x, k = (a.astype(np.float64) @ (1, 1j) for a in (X, K))
    return np.stack([(x * k).real, (x * k).imag], -1)


def reference(X, K, images, size):
    return {"Y": product(X, K)}


def conjugated(failure):
    X, K = failure.inputs["X"], failure.inputs["K"]
    got = failure.got.reshape(X.shape)
    if not any(np.array_equal(got, product(*pair)) for pair in ((X, K * (1, -1)), (X * (1, -1), K))):
        return None
    return Cause(
        "conjugated",
        {},
        {
            "en": "{size}: Y is the product with one factor conjugated: in (a + i b)(c + i d) the real part is "
            "a c - b d. The conjugate belongs to the way back of the gradient",
            "zh": "{size}：Y 是把一个因子取了共轭之后的乘积：(a + i b)(c + i d) 的实部是 a c - b d。"
            "反向传播梯度时才取共轭",
        },
        "gfnet#backward",
    )


def by_parts(failure):
    X, K = failure.inputs["X"], failure.inputs["K"]
    if not np.array_equal(failure.got.reshape(X.shape), X.astype(np.float64) * K):
        return None
    return Cause(
        "by-parts",
        {},
        {
            "en": "{size}: real parts are multiplied with real parts and imaginary parts with imaginary ones: the "
            "numbers are complex, and each part of a product needs both parts of both factors",
            "zh": "{size}：实部只与实部相乘，虚部只与虚部相乘。它们是复数，乘积的每一部分都要用到两个因子的实部和虚部",
        },
        "gfnet#layer",
    )


exercise = Exercise(
    kernel="void filter(const float* X, const float* K, float* Y, int images, int size)",
    sizes=Sizes([(1, 1), (2, 1), (1, 127), (3, 128), (2, 129), (5, 33), (4, 300)]),
    inputs=inputs,
    reference=reference,
    launch=lambda images, size: Launch(grid=-(-size // BLOCK), block=BLOCK),
    causes=(conjugated, by_parts),
    budget=Budget(at=(IMAGES, SIZE), bytes_loaded=8 * SIZE * (IMAGES + 1), bytes_stored=8 * SIZE * IMAGES),
)
