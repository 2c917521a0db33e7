# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""Random programs in which lanes part, exchange values and meet again, against a model that gives each lane its own turn.

A program is a tree of statements.  The model runs it for sets of lanes, as CUDA defines it: an `if` is two sets, a loop
keeps those that go on, and an exchange under a mask is among exactly that set.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import SourceModule

SEED = int(os.environ.get("FUZZ_SEED", "1"))
KERNELS = int(os.environ.get("FUZZ_KERNELS", "30"))
VARIABLES = 4
LANES = np.arange(32)


def bits(lanes: np.ndarray) -> int:
    return sum(1 << int(lane) for lane in LANES[lanes])


class Program:
    """`text` is the CUDA C; `run(values)` the model, on VARIABLES rows of 32 unsigned words."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        self.text, self.run = self.block(4)

    def variable(self) -> int:
        return self.random.randrange(VARIABLES)

    def block(self, depth: int, mask: str = "0xffffffffu"):
        parts = [self.statement(depth, mask) for _ in range(self.random.randint(1, 4))]

        def run(v: np.ndarray, lanes: np.ndarray) -> None:
            for _, step in parts:
                if lanes.any():
                    step(v, lanes)

        return "\n".join(text for text, _ in parts), run

    def condition(self):
        a, shift, modulus = self.variable(), self.random.randrange(8), self.random.choice([2, 3, 5])
        return f"(v{a} >> {shift}) % {modulus}u == 0", lambda v: (v[a] >> np.uint32(shift)) % np.uint32(modulus) == 0

    def statement(self, depth: int, mask: str):
        pick = self.random.random()
        if depth == 0 or pick < 0.5:
            return self.exchange(mask) if self.random.random() < 0.6 else self.assign()
        self.names += 1
        name = f"{self.names}"
        text, test = self.condition()
        if pick < 0.75:
            yes, run_yes = self.block(depth - 1, f"m{name}")
            no, run_no = self.block(depth - 1, f"({mask} & ~m{name})")

            def run_if(v: np.ndarray, lanes: np.ndarray) -> None:
                taken = test(v) & lanes
                run_yes(v, taken), run_no(v, lanes & ~taken)

            return (f"{{ bool c{name} = {text}; unsigned m{name} = __ballot_sync({mask}, c{name});\n"
                    f"if (c{name}) {{\n{yes}\n}} else {{\n{no}\n}} __syncwarp({mask}); }}"), run_if  # fmt: skip
        body, run_body = self.block(depth - 1, f"w{name}")
        most, a = self.random.randint(1, 5), self.variable()
        leave = self.random.random() < 0.5

        def run_loop(v: np.ndarray, lanes: np.ndarray) -> None:
            trips = v[a] % np.uint32(most)
            inside = lanes.copy()
            for i in range(most):
                inside = inside & (i < trips)
                if not inside.any():
                    return
                run_body(v, inside)
                if leave:
                    inside = inside & ~test(v)

        text = (f"{{ unsigned n{name} = v{a} % {most}u, w{name} = {mask}; bool go{name} = true;\n"
                f"for (unsigned i{name} = 0; ; i{name}++) {{\nw{name} = __ballot_sync(w{name}, go{name} && i{name} < n{name});\n"
                f"if (!(go{name} && i{name} < n{name})) break;\n{body}\n"
                + (f"go{name} = !({text});\n" if leave else "") + "} }")  # fmt: skip
        return text, run_loop

    def assign(self):
        a, b, c, k = self.variable(), self.variable(), self.variable(), self.random.getrandbits(32)

        def run(v: np.ndarray, lanes: np.ndarray) -> None:
            v[a] = np.where(lanes, v[b] * np.uint32(k) + (v[c] >> np.uint32(3)) + np.uint32(1), v[a])

        return f"v{a} = v{b} * {k}u + (v{c} >> 3) + 1u;", run

    def exchange(self, mask: str):
        a, b, k = self.variable(), self.variable(), self.random.randrange(1, 32)
        kind = self.random.choice(["xor", "down", "up", "idx", "ballot", "match", "add", "any", "active"])

        def run(v: np.ndarray, lanes: np.ndarray) -> None:
            members = bits(lanes)
            if kind in ("xor", "down", "up", "idx"):
                source = {"xor": LANES ^ k, "down": LANES + k, "up": LANES - k, "idx": np.full(32, k)}[kind]
                source = np.where((source < 0) | (source > 31), LANES, source)
                # What a lane outside the mask gives is undefined, so the program takes it only from members.
                new = np.where(lanes[source], v[b][source], v[b])
            elif kind == "ballot":
                new = bits(lanes & (v[b] & 1 == 1))
            elif kind == "match":
                low = v[b] & 3
                new = np.array([bits(lanes & (low == x)) for x in low], np.uint32)
            elif kind == "add":
                new = int(v[b][lanes].sum(dtype=np.uint64)) & 0xFFFFFFFF
            elif kind == "any":
                new = int((v[b][lanes] & 7 == 3).any())
            else:
                new = members
            v[a] = np.where(lanes, v[a] ^ np.asarray(new).astype(np.uint32), v[a])

        lane = {"xor": f"lane ^ {k}", "down": f"lane + {k}", "up": f"lane - {k}", "idx": f"{k}"}
        if kind in lane:
            call = f"__shfl_{kind}_sync({mask}, v{b}, {k})".replace("_idx", "")
            text = f"{{ unsigned t = {call}; int s = {lane[kind]}; if (s < 0 || s > 31) s = lane; v{a} ^= {mask} >> s & 1 ? t : v{b}; }}"
        elif kind == "ballot":
            text = f"v{a} ^= __ballot_sync({mask}, v{b} & 1);"
        elif kind == "match":
            text = f"v{a} ^= __match_any_sync({mask}, v{b} & 3);"
        elif kind == "add":
            text = f"v{a} ^= __reduce_add_sync({mask}, v{b});"
        elif kind == "any":
            text = f"v{a} ^= __any_sync({mask}, (v{b} & 7) == 3);"
        else:
            text = f"v{a} ^= {mask};"
        return text, run


@pytest.mark.parametrize("options", [[], ["-G"]], ids=["optimised", "debug"])
def test_lanes_part_exchange_and_meet(context: cuda.Context, options: list[str]) -> None:
    seed = SEED * 1000 + 100 * len(options)
    programs = [Program(seed + n) for n in range(KERNELS)]
    source = "".join(
        f'extern "C" __global__ void k{n}(unsigned *a)\n{{\nint lane = threadIdx.x & 31; unsigned *mine = a + (threadIdx.x & ~31) * {VARIABLES} + lane;\n'
        + "".join(f"unsigned v{k} = mine[32 * {k}];\n" for k in range(VARIABLES))
        + program.text + "\n" + "".join(f"mine[32 * {k}] = v{k};\n" for k in range(VARIABLES)) + "}\n"
        for n, program in enumerate(programs)
    )  # fmt: skip
    module = SourceModule(source, options=["-w", *options], no_extern_c=True)
    rng = np.random.default_rng(seed)
    for n, program in enumerate(programs):
        start = rng.integers(0, 1 << 32, (3, VARIABLES, 32), dtype=np.uint32)
        got, want = start.copy(), start.copy()
        module.get_function(f"k{n}")(cuda.InOut(got), block=(96, 1, 1))
        with np.errstate(over="ignore"):
            for warp in want:
                program.run(warp, np.ones(32, bool))
        assert (got == want).all(), (
            f"seed {seed + n}: differs in {np.argwhere(got != want)[:5].tolist()}\n{program.text}"
        )
