from warpjudge import Budget, Exercise, Programs, sizes

BLOCK = 256


def inputs(random, n):
    return {"x": random.floats(n), "y": random.floats(n), "n": n}


def reference(x, y, n):
    return {"out": x.astype(float) + y}


exercise = Exercise(
    kernel="def add(x, y, out, n, BLOCK: tl.constexpr)",
    types="const float* x, const float* y, float* out, int n",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Programs(-(-n // BLOCK), BLOCK=BLOCK),
    roundings=1,
    budget=Budget(at=1 << 14, bytes_loaded=2 * 4 << 14, bytes_stored=4 << 14),
)
