"""One step of the intelligent driver model for the cars of one lane."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BLOCK = 256


def inputs(random, n):
    """Positions grow from car to car; some cars stand, some are about to run into the next one."""
    gap = 1 + np.abs(random.floats(n).astype(np.float64)) * 20
    gap[1::5] = 1.5
    x = np.cumsum(gap + 5).astype(np.float32)
    v = np.minimum(25, np.abs(random.floats(n)) * 10).astype(np.float32)
    v[2::7] = 0
    v[1::5] = 15
    return {"x": x, "v": v, "dt": np.float32(0.1), "n": n}


def step(x, v, dt, n, mistake=""):
    x, v, dt = x.astype(np.float64), v.astype(np.float64), float(dt)
    ahead = np.arange(n) + 1
    free = ahead == n
    ahead = np.minimum(ahead, n - 1)
    gap = np.where(free, 1e9, x[ahead] - x - (0 if mistake == "no-length" else 5))
    if mistake == "gap-sign":
        gap = np.where(free, 1e9, x - x[ahead] - 5)
    if mistake == "behind":
        gap, ahead = np.concatenate([[1e9], x[1:] - x[:-1] - 5]), np.maximum(np.arange(n) - 1, 0)
        free = np.arange(n) == 0
    closing = np.where(free, 0, v - v[ahead])
    if mistake == "approach-sign":
        closing = -closing
    wanted = 2 + np.maximum(0, 1.2 * v + v * closing / np.sqrt(12.0))
    accel = 1.5 * (1 - (v / 20) ** 4 - (0 if mistake == "free" else np.where(free, 0, wanted / gap)) ** 2)
    accel = accel if mistake == "no-limit" else np.maximum(-8, accel)
    after = v + accel * dt
    after = after if mistake == "reverses" else np.maximum(0, after)
    return {"x_next": x + (v if mistake == "old-speed" else after) * dt, "v_next": after}


def reference(x, v, dt, n):
    return step(x, v, dt, n)


def scale(x, v, dt, n):
    v = v.astype(np.float64)
    speed = v + 8 * float(dt) + 1.5 * (1 + (v / 20) ** 4) * float(dt)
    return {"x_next": np.abs(x) + speed * float(dt), "v_next": speed}


SAYS = {
    "gap-sign": (
        "the gap has the wrong sign. The car ahead has the larger x: x[i + 1] - x[i] - 5",
        "间距的符号反了。前车的 x 更大：x[i + 1] - x[i] - 5",
    ),
    "behind": ("it follows the car behind, i - 1. The car ahead is i + 1", "跟的是后面的车 i - 1；前车是 i + 1"),
    "no-length": (
        "the gap lacks the 5 m of the car ahead. Bumper to bumper, it is x[i + 1] - x[i] - 5",
        "间距没有减去前车的 5 m 车长。保险杠到保险杠的距离是 x[i + 1] - x[i] - 5",
    ),
    "approach-sign": (
        "the speed difference has the wrong sign: closing in, v[i] - v[i + 1] > 0, must lengthen the wanted gap",
        "速度差的符号反了：正在接近时 v[i] - v[i + 1] > 0，期望间距应当变大",
    ),
    "free": ("no car reacts to the car ahead", "没有一辆车理会前车"),
    "no-limit": ("it brakes harder than 8 m/s². Limit the deceleration", "刹车超过了 8 m/s²，要限制减速度"),
    "reverses": ("the new speed is negative. Cars stop at 0", "新速度成了负数，车速到 0 就该停住"),
    "old-speed": ("x moves with the old speed. Use the new one", "位置用了旧速度，应当用新速度"),
}


def which(failure):
    """The mistake that explains every element of the output."""
    for mistake, (en, zh) in SAYS.items():
        with np.errstate(all="ignore"):
            would = step(**failure.inputs, mistake=mistake)[failure.name]
        if (np.abs(failure.got - would) <= 4 * failure.bound).all():
            i = int(np.argmax(failure.wrong))
            values = {"i": i, "what": failure.name, "got": f"{failure.got[i]:.6g}", "want": f"{failure.want[i]:.6g}"}
            say = {
                "en": "{size}: {what}[{i}] is {got}, expected {want}: " + en,
                "zh": "{size}：{what}[{i}] 是 {got}，应为 {want}：" + zh,
            }
            return Cause(mistake, values, say, "driving-llm#rollouts")
    return None


exercise = Exercise(
    kernel="void idm_step(float* x_next, float* v_next, const float* x, const float* v, float dt, int n)",
    sizes=sizes(BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=24,
    scale=scale,
    causes=(which,),
    budget=Budget(at=1 << 12, sectors_per_load=5.0, sectors_per_store=4.0),
)
