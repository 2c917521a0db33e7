"""Lanes of one warp that wait for one another: two that pass a number to and fro, then all 32 in a drawn order.

python its_handshake.py   every wait is bounded, so the program ends whatever the hardware does
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

PATIENCE = 1_000_000 if wb.is_gpu() else 10_000  # looks at a flag before a lane gives up
module = wb.module("execution-model/handshake.cu")
rng = np.random.default_rng()


# --8<-- [start:ping_pong]
def ping_pong(rounds: int) -> None:
    keys = rng.integers(0, 2**32, 2, dtype=np.uint32)
    result, gave_up = np.full(1, 0xFFFFFFFF, np.uint32), np.zeros(1, np.int32)
    module.get_function("ping_pong")(
        cuda.In(keys), cuda.InOut(result), cuda.InOut(gave_up), np.int32(rounds), np.int32(PATIENCE), block=(32, 1, 1)
    )
    ball = 1
    for _ in range(rounds):
        ball = ((ball * 3 + int(keys[0])) * 5 + int(keys[1])) % 2**32
    assert not gave_up[0], f"ping_pong: a lane gave up after {PATIENCE} looks"
    wb.check(result, np.uint32([ball]), what=f"ping_pong, {rounds} rounds")


# --8<-- [end:ping_pong]


# --8<-- [start:relay]
def relay() -> None:
    keys, place = rng.integers(0, 2**32, 32, dtype=np.uint32), rng.permutation(32).astype(np.int32)
    seen, gave_up = np.full(32, 0xFFFFFFFF, np.uint32), np.zeros(1, np.int32)
    module.get_function("relay")(
        cuda.In(place), cuda.In(keys), cuda.InOut(seen), cuda.InOut(gave_up), np.int32(PATIENCE), block=(32, 1, 1)
    )
    want, baton = np.empty(32, np.uint32), 1
    for lane in np.argsort(place):
        want[lane] = baton = (baton * 31 + int(keys[lane])) % 2**32
    assert not gave_up[0], f"relay: a lane gave up after {PATIENCE} looks"
    wb.check(seen, want, what="relay")


# --8<-- [end:relay]

if __name__ == "__main__":
    print(f"device: {wb.device()['name']}")
    for rounds in (1, 31, 1000):
        ping_pong(rounds)
        print(f"two lanes, {rounds} rounds: exact, nobody gave up")
    repeats = 100 if wb.is_gpu() else 5
    for _ in range(repeats):
        relay()
    print(f"32 lanes in drawn orders, {repeats} times: exact, nobody gave up")
