"""A tile of 32 x 64 halves for ldmatrix, without bank conflicts. Whole numbers, so that every sum is exact."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes


def inputs(random, n):
    return {name: random.whole((n, 32, 64), 30).astype(np.float16) for name in "ab"}


def reference(a, b):
    return {"c": a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)}


def chunks(x, order):
    """x with the chunks of 8 columns of row r taken from order(r, chunk)."""
    r, chunk = np.indices((32, 8))
    return x.reshape(-1, 32, 8, 8)[:, r, order(r, chunk)].reshape(x.shape)


def same(failure, a, b):
    want = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)
    return np.array_equal(failure.got.reshape(want.shape), want)


def plain_and_swizzled(failure):
    a, b = failure.inputs["a"], failure.inputs["b"]
    turned = [chunks(x, lambda r, c: c ^ r % 8) for x in (a, b)]
    if not (same(failure, *turned) or same(failure, turned[0], b) or same(failure, a, turned[1])):
        return None
    return Cause(
        "plain-and-swizzled",
        {},
        {
            "en": "{size}: the chunks of a row arrive in another order: chunk c of row r is written to one place and "
            "read from another. Use the same place, c ^ r % 8, on both sides",
            "zh": "{size}：行内各块的次序变了：第 r 行的第 c 块，写入和读取的位置不同。两边都要用同一个位置 c ^ r % 8",
        },
        "matmul-tensor#v1",
    )


def k_left_out(failure):
    a, b = failure.inputs["a"].astype(np.float64), failure.inputs["b"].astype(np.float64)
    if not same(failure, 4 * a[:, :, :16], b[:, :, :16]):
        return None
    return Cause(
        "k-left-out",
        {},
        {
            "en": "{size}: each sum is four times that of the first 16 products. Do the chunks that lanes name move on "
            "by two in each step along k?",
            "zh": "{size}：每个和都是前 16 个乘积之和的四倍。沿 k 每走一步，lane 给出的块号是否都向前移两块？",
        },
        "matmul-tensor#v1",
    )


def b_order(failure):
    a, b = failure.inputs["a"].astype(np.float64), failure.inputs["b"].astype(np.float64)
    parts = b.reshape(-1, 2, 2, 8, 4, 2, 8)  # pairs of eight rows; steps along k of two chunks
    exchanged = parts.transpose(0, 1, 5, 3, 4, 2, 6).reshape(b.shape)
    if not same(failure, a, exchanged):
        return None
    return Cause(
        "b-order",
        {},
        {
            "en": "{size}: the second and the third matrix of a load of b are exchanged. Its lanes 8 to 15 must name "
            "the same eight rows as lanes 0 to 7, eight columns further; a wants the next eight rows there",
            "zh": "{size}：读 b 时第二个与第三个矩阵互换了。lane 8 到 15 应给出与 lane 0 到 7 相同的八行、再向右八列；"
            "读 a 时，这里才是下面的八行",
        },
        "matmul-tensor#v1",
    )


def d_rows(failure):
    want = failure.want.reshape(-1, 2, 2, 8, 32)
    if not np.array_equal(failure.got.reshape(want.shape), want[:, :, ::-1]):
        return None
    return Cause(
        "d-rows",
        {},
        {
            "en": "{size}: rows of c are exchanged by eights. d[0] and d[1] belong to row lane / 4, d[2] and d[3] to "
            "row lane / 4 + 8",
            "zh": "{size}：c 的行每八行互换了。d[0]、d[1] 属于第 lane / 4 行，d[2]、d[3] 属于第 lane / 4 + 8 行",
        },
        "matmul-tensor#v0",
    )


exercise = Exercise(
    kernel="void product(const __half* a, const __half* b, float* c)",
    sizes=Sizes([1, 2, 7]),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=n, block=64),
    causes=(plain_and_swizzled, k_left_out, b_order, d_rows),
    budget=Budget(at=16, bank_conflicts=0, bytes_loaded=16 * 2 * 32 * 64 * 2),
)
