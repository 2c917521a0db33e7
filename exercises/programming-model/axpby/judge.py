"""y = a * x + b * y. Where b is 0, y holds nothing but NaN: as in BLAS, it need not be set."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256
AT = 3 << 11  # here b is 0, so that y costs no load


def inputs(random, n):
    b = (0.0, 1.0, -0.5)[n % 3]
    y = random.floats(n) if b else np.full(n, np.nan, np.float32)
    return {"a": np.float32(1.75), "x": random.floats(n), "b": np.float32(b), "y": y, "n": n}


def parts(a, x, b, y):
    """a * x and b * y in float64; the second is 0 where y must not be read."""
    return np.float64(a) * x.astype(np.float64), np.float64(b) * y.astype(np.float64) if b else np.zeros(y.size)


def reference(a, x, b, y, n):
    return {"y": sum(parts(a, x, b, y))}


def scale(a, x, b, y, n):
    return {"y": sum(abs(part) for part in parts(a, x, b, y))}


def unset_read(failure):
    """NaN where b is 0: y was read, or never written."""
    if failure.inputs["b"] or not np.isnan(failure.got[failure.wrong]).all():
        return None
    return Cause(
        "unset-read",
        {"i": int(np.argmax(failure.wrong))},
        {
            "en": "{size}, b = 0: y[{i}] is nan, as before the launch. Where b is 0 the result is a * x[i]: "
            "y[i] must be written, and must not be read, because 0 * NaN is NaN",
            "zh": "{size}，b = 0：y[{i}] 是 nan，与启动前一样。b 为 0 时结果是 a * x[i]："
            "y[i] 要写，但不能读，因为 0 * NaN 还是 NaN",
        },
        "programming-model#verify",
    )


def factor_on_both(failure):
    """One of the factors was applied to the whole sum."""
    a, b, x, y = (failure.inputs[name] for name in ("a", "b", "x", "y"))
    if not b or b == 1:
        return None
    for name, got in (("a", a * (x + b * y)), ("b", b * (a * x + y))):
        if np.allclose(failure.got, got, rtol=1e-5, atol=1e-6):
            return Cause(
                "factor-on-both",
                {"name": name},
                {
                    "en": "{size}: {name} multiplies the whole sum, but it belongs to one term: a * x[i] + b * y[i]",
                    "zh": "{size}：{name} 乘到了整个和上，而它只属于其中一项：a * x[i] + b * y[i]",
                },
            )
    return None


exercise = Exercise(
    kernel="void axpby(float a, const float* x, float b, float* y, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    scale=scale,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=3,
    causes=(unset_read, factor_on_both),
    budget=Budget(at=AT, bytes_loaded=4 * AT, bytes_stored=4 * AT),
)
