"""wgmma is asynchronous: when its operands are read, when its sums appear, who waits for whom; and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import native
import numpy as np
import pycuda.driver as cuda
import pytest
from hopper import arithmetic
from hopper.cases import kernel
from hopper.driver import DriverError, Module, launch
from hopper.products import CORE, Form, Shot, descriptor, make_shot, place_rows, registers_of_sums

FORM = Form("f32", "f16", "f16", 8, False)
SHOT = make_shot(FORM, "close", 1)
A_BYTES = 64 * 32
IMAGE = np.concatenate([place_rows(SHOT.a), place_rows(SHOT.b)])
B = f"add.u32 %x, %m, {A_BYTES};"  # where B begins
ZERO_B = f"{B} shl.b32 %y, %t, 2; add.u32 %x, %x, %y; setp.lt.u32 %q, %t, 64; @%q st.shared.b32 [%x], 0;"
FENCE, COMMIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"
PRODUCT = FORM.instruction


def wait(left: int) -> str:
    return f"wgmma.wait_group.sync.aligned {left};"


def store(row: int = 0, register: str = "%d") -> str:
    at = "mad.wide.u32 %w1, %t, 4, %out;"
    return at + " ".join(f"st.global.b32 [%w1+{512 * (i + 4 * row)}], {register}{i};" for i in range(4))


def program(body: str) -> str:
    """A and B lie in shared memory, C in %d0 to %d3; %e0 to %e3 are 1.0."""
    load = " ".join(
        f"ld.global.b32 %x, [%w+{512 * i}]; st.shared.b32 [%y+{512 * i}], %x;" for i in range(len(IMAGE) // 512)
    )
    return kernel(
        f"""
.reg .b64 %desc_a, %desc_b, %one; .reg .b32 %d<4>, %e<4>;
mad.wide.u32 %w, %t, 4, %in; mad.lo.u32 %y, %t, 4, %m;
{load} setp.lt.u32 %q, %t, 64; @%q ld.global.b32 %x, [%w+{len(IMAGE) // 512 * 512}];
@%q st.shared.b32 [%y+{len(IMAGE) // 512 * 512}], %x;
{" ".join(f"ld.global.b32 %d{i}, [%w+{len(IMAGE) + 512 * i}]; mov.b32 %e{i}, 0f3F800000;" for i in range(4))}
shr.u32 %x, %m, 4; cvt.u64.u32 %one, %x;
add.u64 %desc_a, %one, {descriptor(0, CORE, 2 * CORE)}; add.u64 %desc_b, %one, {descriptor(A_BYTES, CORE, 2 * CORE)};
setp.eq.u32 %p, 0, 0; fence.proxy.async; bar.sync 0;
{body}"""
    )


def run(body: str, rows: int = 1, block: int = 128) -> list[np.ndarray]:
    """The four registers of each thread, as often as the body stores them."""
    given = cuda.to_device(np.concatenate([IMAGE, registers_of_sums(SHOT.c).view(np.uint8).reshape(-1)]))
    out = cuda.mem_alloc(rows * 2048)
    cuda.memset_d8(out, 0xCD, rows * 2048)
    launch(Module(program(body)).function("k"), int(out), int(given), np.zeros(128, np.uint8), 1, block, 4096)
    result = cuda.from_device(out, (rows, 4, 128), np.uint32)
    return list(result)


def product(shot: Shot = SHOT) -> np.ndarray:
    return registers_of_sums(arithmetic.product(FORM, shot))


BEFORE = registers_of_sums(SHOT.c)
ONES = Shot(SHOT.a, SHOT.b, np.full((64, 8), 0x3F800000, np.uint32))
WITHOUT_B = Shot(SHOT.a, np.zeros_like(SHOT.b), SHOT.c)


def test_the_sums_appear_at_the_wait(context: cuda.Context) -> None:
    early, late = run(f"{FENCE} {PRODUCT} {COMMIT} {store()} {wait(0)} {store(1)}", rows=2)
    np.testing.assert_array_equal(early, BEFORE)
    np.testing.assert_array_equal(late, product())


def test_what_is_overwritten_before_the_wait_is_not_multiplied(context: cuda.Context) -> None:
    (result,) = run(f"{FENCE} {PRODUCT} {COMMIT} bar.sync 0; {ZERO_B} bar.sync 0; {wait(0)} {store()}")
    np.testing.assert_array_equal(result, product(WITHOUT_B))


def test_the_newest_groups_stay_under_way(context: cuda.Context) -> None:
    second = PRODUCT.replace("%d", "%e").replace("%eesc", "%desc")
    body = (
        f"{FENCE} {PRODUCT} {COMMIT} {second} {COMMIT} {wait(1)} {store()} {store(1, '%e')} {wait(0)} {store(2, '%e')}"
    )
    first, early, late = run(body, rows=3)
    np.testing.assert_array_equal(first, product())
    assert (early == 0x3F800000).all()
    np.testing.assert_array_equal(late, product(ONES))


def test_what_is_not_committed_is_not_waited_for(context: cuda.Context) -> None:
    early, late = run(f"{FENCE} {PRODUCT} {wait(0)} {store()} {COMMIT} {wait(0)} {store(1)}", rows=2)
    np.testing.assert_array_equal(early, BEFORE)
    np.testing.assert_array_equal(late, product())


def test_products_of_one_accumulator_follow_each_other(context: cuda.Context) -> None:
    (result,) = run(f"{FENCE} {PRODUCT} {PRODUCT} {COMMIT} {PRODUCT} {COMMIT} {wait(0)} {store()}")
    want = SHOT
    for _ in range(3):
        want = Shot(SHOT.a, SHOT.b, arithmetic.product(FORM, want))
    np.testing.assert_array_equal(result, registers_of_sums(want.c))


def test_a_warp_waits_until_all_four_multiply(context: cuda.Context) -> None:
    """Warp 0 frees B for all of them behind its own wait, long before the others come to theirs."""
    slow = "mov.u32 %z, 0; setp.lt.u32 %q, %t, 32; @%q bra go; loop: add.u32 %z, %z, 1; setp.lt.u32 %q, %z, 20000;"
    body = f"{slow} @%q bra loop; go: {FENCE} {PRODUCT} {COMMIT} {wait(0)} setp.ge.u32 %q, %t, 32; @%q bra kept;"
    (result,) = run(f"{body} {B} shl.b32 %y, %t, 3; add.u32 %x, %x, %y; st.shared.b64 [%x], 0; kept: {store()}")
    np.testing.assert_array_equal(result, product())


def test_many_products_without_a_wait(context: cuda.Context) -> None:
    loop = f"mov.u32 %z, 0; {FENCE} again: {PRODUCT} {COMMIT} setp.ne.u32 %p, 1, 1; add.u32 %z, %z, 1;"
    (result,) = run(f"{loop} setp.lt.u32 %q, %z, 3000; @%q bra again; {wait(0)} {store()}")
    np.testing.assert_array_equal(result, product(Shot(SHOT.a, SHOT.b, SHOT.c, scale_d=0)))


def test_a_function_may_wait_for_its_caller(context: cuda.Context) -> None:
    """Registers of products under way lie in the caller's frame, and nothing shares their rows."""
    busy = " ".join(f"mul.lo.u32 %u, %t, {i}; add.u32 %v, %v, %u;" for i in range(3, 40))
    body = program(
        f"{FENCE} {PRODUCT} {COMMIT} mov.u32 %v, 0; {busy} call waits, (); {store()} st.shared.b32 [%m], %v;"
    )
    text = body.replace(".visible .entry", f".func waits() {{ {wait(0)} ret; }}\n.visible .entry", 1)
    given = cuda.to_device(np.concatenate([IMAGE, registers_of_sums(SHOT.c).view(np.uint8).reshape(-1)]))
    out = cuda.mem_alloc(2048)
    launch(Module(text).function("k"), int(out), int(given), np.zeros(128, np.uint8), 1, 128, 4096)
    np.testing.assert_array_equal(cuda.from_device(out, (4, 128), np.uint32), product())


def test_halves_of_the_two_kinds_convert_without_a_rounding(context: cuda.Context) -> None:
    """cvt.bf16.f16 is what ptxas makes cvt.rn.bf16.f16 of."""
    convert = "cvt.u16.u32 %h, %t; mul.lo.u16 %h, %h, 509;"
    for to, kind in (("bf16", "f16"), ("f16", "bf16")):
        both = f"cvt.{to}.{kind} %g, %h; cvt.rn.{to}.{kind} %k, %h; mov.b32 %d0, {{%g, %k}};"
        (result,) = run(f".reg .b16 %h, %g, %k; {convert} {both} {store()}")
        assert (result[0] >> 16 == result[0] & 0xFFFF).all() and len(np.unique(result[0])) > 20


# --- errors, each in a process of its own

FAILING = """
import sys
sys.path[:0] = {path!r}
import pycuda.autoinit
import pycuda.driver as cuda
from test_wgmma import run
try:
    run({body!r}, block={block})
    cuda.Context.synchronize()
except Exception as error:
    print("raised", error)
"""
HALF = "setp.lt.u32 %q, %t, 32;"
ERRORS = {
    "64 threads": (f"{FENCE} {PRODUCT} {COMMIT} {wait(0)}", 64, "128 threads of a warpgroup"),
    "another descriptor in a lane": (
        f"cvt.u64.u32 %one, %t; add.u64 %desc_b, %desc_b, %one; {FENCE} {PRODUCT} {COMMIT} {wait(0)}",
        128,
        "the descriptor of B is not the same in all lanes",
    ),
    "another scale-d in a lane": (
        f"setp.eq.u32 %p, %t, 5; {FENCE} {PRODUCT} {COMMIT} {wait(0)}",
        128,
        "scale-d is not the same in all lanes",
    ),
    "another descriptor in a warp": (
        f"shr.u32 %x, %t, 5; cvt.u64.u32 %one, %x; add.u64 %desc_b, %desc_b, %one;{FENCE} {PRODUCT} {COMMIT} {wait(0)}",
        128,
        "does not execute it with the same descriptors",
    ),
    "one warp more often": (
        f"{HALF} {FENCE} {PRODUCT} {COMMIT} {wait(0)} @!%q bra end; {PRODUCT} {COMMIT} end:",
        128,
        r"warp 0 has executed 2 wgmma.mma_async and warp \d of its warpgroup 1",
    ),
    "one warp waits alone": (
        f"{HALF} @!%q bra end; {FENCE} {PRODUCT} {COMMIT} {wait(0)} end:",
        128,
        "waiting for the other warps of its warpgroup",
    ),
    "beyond shared memory": (
        f"add.u64 %desc_b, %desc_b, 4096; {FENCE} {PRODUCT} {COMMIT} {wait(0)}",
        128,
        r"of B reaches byte \d+ of the block's shared memory, which has \d+",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_misuse_is_an_error_of_one_line(name: str) -> None:
    body, block, words = ERRORS[name]
    text = FAILING.format(path=[os.path.dirname(__file__), *sys.path], body=body, block=block)
    environment = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "0"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, timeout=60)
    assert "raised" in done.stdout, done.stdout + done.stderr
    (told,) = [line for line in done.stderr.splitlines() if re.search(words, line)]
    assert "wgmma." in told and "PTX line" in told


# --- what does not exist

WRONG = {
    "another M": PRODUCT.replace("m64", "m128"),
    "another K": PRODUCT.replace("k16", "k8"),
    "N of 4": PRODUCT.replace("n8k", "n4k"),
    "N of 264": PRODUCT.replace("n8k", "n264k"),
    "no shape": PRODUCT.replace(".m64n8k16", ""),
    "N of 40 for integers": Form("s32", "s8", "s8", 40, False).instruction,
    "sums of f16 for bf16": PRODUCT.replace("f16.f16 ", "bf16.bf16 ").replace(".f32.", ".f16."),
    "factors of two kinds": PRODUCT.replace("f16.f16 ", "f16.bf16 "),
    "too few registers": PRODUCT.replace(", %d3", ""),
    "no .sync": PRODUCT.replace(".sync", ""),
    ".satfinite of floats": PRODUCT.replace("f16.f16 ", "f16.f16.satfinite "),
    "a scale of 2": PRODUCT.replace("%p, 1", "%p, 2"),
    "a transposition of -1": PRODUCT.replace("0, 0;", "0, -1;"),
    "no transpositions": PRODUCT.replace(", 0, 0;", ";"),
    "an operand more": PRODUCT.replace(";", ", 0;"),
    "no scale-d": PRODUCT.replace("%p, ", ""),
    "bits by .xor": Form("s32", "b1", "b1", 8, False).instruction.replace(".and.", ".xor."),
    "a wait for no number": "wgmma.wait_group.sync.aligned %t;",
    "a fence with an operand": "wgmma.fence.sync.aligned 0;",
    "another operation": "wgmma.mma.sync.aligned;",
    "registers by 4": "setmaxnreg.inc.sync.aligned.u32 100;",
    "too few registers left": "setmaxnreg.dec.sync.aligned.u32 16;",
    "too many registers": "setmaxnreg.inc.sync.aligned.u32 264;",
    "registers neither more nor fewer": "setmaxnreg.sync.aligned.u32 64;",
}


def test_wgmma_is_of_sm_90a_alone(context: cuda.Context) -> None:
    text = program(f"{FENCE} {PRODUCT} {COMMIT} {wait(0)}")
    Module(text).unload()
    with pytest.raises(DriverError):
        Module(text.replace(".target sm_90a", ".target sm_90"))


@pytest.mark.parametrize("name", WRONG)
def test_malformed_products_are_refused_at_load(name: str, context: cuda.Context, capfd) -> None:
    assert WRONG[name] != PRODUCT
    with pytest.raises(DriverError):
        Module(program(WRONG[name]))
    told = capfd.readouterr().err
    assert not told or "wgmma" in told or "setmaxnreg" in told
