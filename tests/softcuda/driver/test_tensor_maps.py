"""Tensor maps and tensor copies that are wrong: one line each, of the call or of the kernel.

What is right, and which error a wrong one gives, is held against an H200 in tests/softcuda/hopper.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import native
import pytest

TESTS = Path(__file__).parents[1]
BEGIN = f"import sys; sys.path.insert(0, {str(TESTS)!r})\nfrom dataclasses import replace\nfrom hopper.maps import *\n"

MAPS = {  # changes of a map of two dimensions, and what the line says
    "kind=99": "tensorDataType 99 is none that compute capability 9.0 has",
    "rank=6": "tensorRank is 6 and has to be 1 to 5",
    "dims=(0, 300)": "globalDim[0] is 0 and has to be 1 to 2^32",
    "strides=(2040,)": "globalStrides[0] is 2040 bytes, which is no multiple of 16",
    "strides=(1 << 40,)": "globalStrides[0] has to be less than 2^40 bytes",
    "box=(12, 32)": "boxDim[0] is 24 bytes, which is no multiple of 16",
    "box=(64, 257)": "boxDim[1] is 257 and has to be 1 to 256",
    "box=(64, 32), swizzle=2": "boxDim[0] is 128 bytes, more than the swizzle's 64",
    "box=(256, 256), dims=(1000, 1000), kind=8": "the box has 524288 bytes, more than a block's shared memory",
    "steps=(1, 9)": "elementStrides[1] is 9 and has to be 1 to 8",
    "kind=1, fill=1": "oobFill of NaN is for floats",
    "interleave=1": "tensorRank is 2 and has to be 3 to 5",
    "swizzle=9": "swizzle is none of NONE, 32B, 64B and 128B",
}
IM2COL = {
    "lower=(-129, 0)": "corner -129 of the pixel box has to be -128 to 127 with this rank",
    "upper=(-31, 0)": "no pixel is left between the corners of dimension 1",
    "channels=257": "channelsPerPixel is 257 and has to be 1 to 256",
    "pixels=0": "pixelsPerColumn is 0 and has to be 1 to 1024",
}


def test_each_mistake_has_a_line_of_its_own(program) -> None:
    calls = [("2d", change) for change in MAPS] + [("im2col 4d", change) for change in IM2COL]
    done = program(
        BEGIN
        + "import pycuda.driver\nlibrary().cuInit(0)\n"
        + "".join(f"print(replace(BASES[{base!r}], {change}).encode(ADDRESS)[0])\n" for base, change in calls)
        + "print(BASES['2d'].encode(ADDRESS + 8)[0])\nprint(library().cuTensorMapEncodeTiled(*[None] * 12))\n"
        "print(library().cuTensorMapEncodeIm2colWide(*[None] * 16))\n",
        SOFTCUDA_QUIET="0",
    )
    assert done.stdout.split() == ["1"] * (len(calls) + 2) + ["801"], done.stderr
    want = [f"cuTensorMapEncodeTiled: {line}" for line in MAPS.values()]
    want += [f"cuTensorMapEncodeIm2col: {line}" for line in IM2COL.values()]
    want += ["cuTensorMapEncodeTiled: globalAddress is no multiple of 16"]
    want += ["cuTensorMapEncodeTiled: a null pointer in place of the tensor map or boxDim"]
    want += ["cuTensorMapEncodeIm2colWide: not supported (tensor maps of Blackwell GPUs)"]
    lines = [line for line in done.stderr.splitlines() if "cuTensorMap" in line]
    assert lines == [f"softcuda: {line}" for line in want]


KERNELS = {  # name of the case of hopper.copies.fault_cases, and what the message says
    "a map of zeros": "the tensor map is none: boxDim[0] is 1 bytes, which is no multiple of 16",
    "a map of random bytes": "these 128 bytes are no tensor map",
    "a tensor where nothing is": "read of 64 bytes at 0x10000, by a tensor copy, in no allocation",
    "3d of a 2d tensor": "a copy of 3 dimensions with a tensor map of 2",
    "tile of an im2col map": "a copy of a tile with an im2col tensor map",
    "im2col of a tiled map": "an im2col copy with a tensor map of tiles",
    "to shared memory + 16": "in shared memory, which is no multiple of 128",
}


@pytest.fixture(scope="module")
def messages() -> dict[str, list[str]]:
    """By case: what stderr says."""
    source = BEGIN + (
        "import json\nimport pycuda.driver as cuda\nfrom hopper.copies import fault_cases\n"
        "from hopper.answers import run_case\ncuda.init()\n"
        f"wanted = json.loads({json.dumps(json.dumps(list(KERNELS)))})\n"
        "for case in fault_cases():\n"
        "    name = case.name.removeprefix('fault: ')\n"
        "    if name not in wanted: continue\n"
        "    context = cuda.Device(0).make_context()\n"
        "    print('case', name, file=sys.stderr, flush=True)\n"
        "    try: run_case(case)\n"
        "    except Exception: pass\n"
        "    context.pop(); context.detach()\n"
    )
    environment = native.clean_environment() | {"SOFTCUDA": "force"}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stderr.splitlines():
        if line.startswith("case "):
            lines = found[line.removeprefix("case ")] = []
        elif line.startswith("softcuda: ") and "kernel k" in line:
            lines.append(line)
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_a_wrong_copy_ends_the_kernel_with_a_line(messages: dict[str, list[str]], name: str) -> None:
    [line] = messages[name]
    assert KERNELS[name] in line and "block (0,0,0), thread (0,0,0)" in line and "cp.async.bulk.tensor" in line


def test_a_barrier_that_expects_too_much_says_what_is_due(program) -> None:
    done = program(
        BEGIN + "import pycuda.driver as cuda, pycuda.autoinit\n"
        "from hopper.copies import fault_cases\nfrom hopper.answers import run_case\n"
        "[case] = [case for case in fault_cases() if case.name.endswith('with fewer bytes than expected')]\n"
        "forever = case.source.replace('setp.lt.and.u32 %q, %tries, 200000, !%q', 'not.pred %q, %q')\n"
        "run_case(replace(case, source=forever))\n",
        SOFTCUDA_TIMEOUT="1",
        SOFTCUDA_QUIET="0",
    )
    assert "the launch timed out" in done.stderr
    assert "warp 0 waits at an mbarrier for 0 arrivals and 96 bytes, of which copies under way bring 64" in done.stderr


COPY = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1, %r2}], [%r3];"
REFUSED = [
    COPY.replace(".2d", ".6d"),
    COPY.replace(".2d", ""),
    COPY.replace("{%r1, %r2}", "{%r1}"),
    COPY.replace("{%r1, %r2}", "%r1"),
    COPY.replace(", {%r1, %r2}", ""),
    COPY.replace("{%r1, %r2}", "{%d0, %r2}"),
    COPY.replace(", [%r3]", ""),
    COPY.replace(", [%r3]", ", %r3"),
    COPY.replace(".tile", ".im2col"),
    COPY.replace(".tile", ".tile::gather4"),
    COPY.replace(".mbarrier::complete_tx::bytes", ""),
    COPY.replace(".mbarrier::complete_tx::bytes", ".bulk_group"),
    COPY.replace("::bytes", "::bytes.cta_group::2"),
    COPY.replace("::bytes", "::bytes.multicast::cluster").replace("[%r3]", "[%r3], %h"),
    COPY.replace("::bytes", "::bytes.L2::cache_hint"),
    COPY.replace("cp.async", "cp.reduce.async"),
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.exch.tile.bulk_group [%d0, {%r1}], [%r0];",
    "cp.async.bulk.prefetch.tensor.1d.global.tile [%d0, {%r1}];",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%d0], 5, %r1;",
    "tensormap.replace.tile.global_stride.global.b1024.b64 [%d0], 4, %d1;",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%d0], %r1, %r1;",
    "tensormap.replace.tile.box_dim.global.b1024.b64 [%d0], 1, %d1;",
    "tensormap.replace.tile.elemtype.global.b1024.b32 [%d0], 13;",
    "tensormap.replace.tile.elemtype.global.b1024.b32 [%d0], %r1;",
    "tensormap.replace.im2col.rank.global.b1024.b32 [%d0], 1;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d0], [%r0], 64;",
    "tensormap.steal.global [%d0];",
]


def test_forms_that_no_compiler_writes_are_refused_by_name(program) -> None:
    kernels = [
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        f".reg .b32 %r<4>; .reg .b64 %d<2>; .reg .b16 %h;\n{text}\nret; }}\n"
        for text in [COPY, *REFUSED]
    ]
    done = program(
        BEGIN + f"import pycuda.autoinit\nfrom hopper.driver import Module\n"
        f"for text in {kernels!r}:\n"
        "    try: Module(text); print('loads')\n"
        "    except Exception: print('refused')\n",
        SOFTCUDA_QUIET="0",
    )
    assert done.stdout.split() == ["loads", *["refused"] * len(REFUSED)], done.stderr
    lines = [line for line in done.stderr.splitlines() if "instruction '" in line]
    assert len(lines) == len(REFUSED)
    assert all("cp." in line or "tensormap." in line for line in lines)
