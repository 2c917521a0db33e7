"""The interactive figures' formulas, held against softcuda's counters and its driver; and what pages make of them."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpbook.blocks import explore
from warpbook.book import BookError
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source.pages import Page

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
HARDWARE = Path(__file__).parents[1] / "softcuda" / "counters" / "h200.json"


def launched(folder: Path, program: str, arguments: object) -> tuple[list[dict], object]:
    """What softcuda counted for each launch of `program`, and what it left in the file that it is given."""
    (folder / "program.py").write_text(program, "utf-8")
    (folder / "arguments.json").write_text(json.dumps(arguments), "utf-8")
    command = [sys.executable, "-m", "softcuda", "profile", "--json", "counted.json", "program.py"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=os.environ | {"SOFTCUDA_QUIET": "1"}, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = folder / "told.json"
    return json.loads((folder / "counted.json").read_text()), json.loads(told.read_text()) if told.exists() else None


def unlike(cases: list, ours: list, theirs: list) -> list:
    """The first few cases where two lists differ."""
    assert len(cases) == len(ours) == len(theirs)
    return [(case, a, b) for case, a, b in zip(cases, ours, theirs, strict=True) if a != b][:5]


# -- sectors -----------------------------------------------------------------------------------------------------

ACCESSES = """
import json
import pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule

source = "".join(f'''
extern "C" __global__ void load_{size}(const {kind}* a, {kind}* b, int stride, int offset, int lanes) {{
    int lane = threadIdx.x;
    if (lane < lanes) b[lane] = a[lane * stride + offset];
}}
extern "C" __global__ void store_{size}({kind}* a, const {kind}* b, int stride, int offset, int lanes) {{
    int lane = threadIdx.x;
    if (lane < lanes) a[lane * stride + offset] = b[lane];
}}''' for size, kind in ((1, "unsigned char"), (2, "short"), (4, "float"), (8, "double"), (16, "float4")))
module = SourceModule(source, no_extern_c=True)
a, b = cuda.mem_alloc(32 * 64 * 16 + 65 * 16), cuda.mem_alloc(32 * 16)
import numpy as np
for size, stride, offset, lanes in json.load(open("arguments.json")):
    for what in ("load", "store"):
        numbers = [np.int32(number) for number in (stride, offset, lanes)]
        module.get_function(f"{what}_{size}")(a, b, *numbers, block=(32, 1, 1), grid=(1, 1))
"""
COUNT_SECTORS = """
const {addresses} = await import(`${folder}/sectors.js`), {sectors} = await import(`${folder}/memory.js`);
answer(job.map(([size, stride, offset, lanes]) => sectors(addresses({size, stride, offset, lanes}), size).length));
"""


def test_sectors_are_those_that_softcuda_counts(tmp_path):
    strides, offsets = [*range(18), 24, 31, 32, 33, 48, 63, 64], (0, 1, 5, 64)
    cases = [
        [size, stride, random.Random(stride).choice(offsets), lanes]
        for size, stride, lanes in itertools.product((1, 2, 4, 8, 16), strides, (1, 13, 31, 32))
    ]
    launches, _ = launched(tmp_path, ACCESSES, cases)
    ours = explore.ask(COUNT_SECTORS, cases)
    for launch, what in zip(launches, itertools.cycle(("ld", "st"))):
        assert launch["metrics"][GLOBAL.format("requests", what)] == 1
    for first, what in enumerate(("ld", "st")):
        counted = [launch["metrics"][GLOBAL.format("sectors", what)] for launch in launches[first::2]]
        assert not unlike(cases, ours, counted)
    assert set(ours) == set(range(1, 33))  # every number of sectors that a warp can ask for


# -- banks -------------------------------------------------------------------------------------------------------

EXPRESSIONS = [
    "x", "x * 2", "x * 3", "x * 4", "x * 5", "x * 8", "x * 16", "x * 31", "x * 32", "x * 33", "x * 34", "x * 32 + y",
    "x * 33 + y", "x * 36 + y", "y * 33 + x", "x * 32 + (x ^ y)", "x*32+((x+y)&31)", "y", "0", "x / 2", "x / 4",
    "x / 8", "x / 16", "x % 2", "x % 4 * 32", "x & 1", "(x & 1) * 32 + x / 2", "x ^ 1", "x ^ 2", "x ^ 16", "31 - x",
    "t", "lane * 2", "warp * 32 + lane", "lane / 2 * 33", "(x >> 3) + (x & 7) * 32", "x << 2 | y", "x * x",
    "x * x % 37", "x * 7 % 32 * 32", "lane % 16 * 2 + lane / 16", "(lane & 24) * 4 + lane % 8", "~x & 31", "x * 0x21",
    "x ^ (y << 2)", "16 * y + x", "lane ^ lane >> 1", "x + y * 32 & 63", "(x | 1) - 1", "x - -y",
    "threadIdx.y * 33 + threadIdx.x", "lane % 8 * 4 + lane / 8 * 32", "lane / 2 * 2", "(lane & ~2) * 17",
    "(lane & ~1) * 9", "lane % 16 * 8", "lane / 16 * 3 + lane % 4", "lane / 4 * 33 + lane % 2",
    # Some of these are negative, and only computed:
    "-7 / 2 + x", "(x - 16) % 5", "(x - 16) / 3", "(x - 16) >> 1", "-x << 3", "1 | 2 ^ 3 & x",
    "2 + 3 * x - 4 % (y + 3)", "x - y - 1", "100 / (x + 1) / 2", "~(x * y) ^ -1", "x << 2 + 1", "1 + x >> 1 & 6",
    "-(-x)", "+x", "2147483647 - x",
]  # fmt: skip
INDICES = """
import json
import numpy as np
import pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule

arguments = json.load(open("arguments.json"))
kinds = {4: "float", 8: "float2", 16: "float4"}
source = "".join(f'''
extern "C" __global__ void k{n}_{size}(int width, int warp, int what, int* index, {kind}* values) {{
    extern __shared__ float4 raw[];
    {kind}* s = ({kind}*)raw;
    int lane = threadIdx.x, t = warp * 32 + lane, x = t % width, y = t / width;
    int i = {expression.replace("threadIdx.x", "x").replace("threadIdx.y", "y")};
    if (what == 0) values[lane] = s[i];
    if (what == 1) s[i] = values[lane];
    index[lane] = i;
}}''' for n, expression in enumerate(arguments["expressions"]) for size, kind in kinds.items())
module = SourceModule(source, no_extern_c=True, options=["-w"])
index, values, told = cuda.mem_alloc(128), cuda.mem_alloc(512), []
for n, size, width, warp, what, nbytes in arguments["launches"]:
    found = np.full(32, -1, np.int32)
    cuda.memcpy_htod(index, found)
    kernel = module.get_function(f"k{n}_{size}")
    kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, nbytes)
    numbers = [np.int32(number) for number in (width, warp, what)]
    kernel(*numbers, index, values, block=(32, 1, 1), grid=(1, 1), shared=nbytes)
    cuda.memcpy_dtoh(found, index)
    told.append(found.tolist())
json.dump(told, open("told.json", "w"))
"""
COUNT_BANKS = """
const {indices} = await import(`${folder}/banks.js`), {wavefronts} = await import(`${folder}/memory.js`);
answer(job.map(([index, size, width, warp]) => {
  const found = indices({index, width, warp});
  if (Math.min(...found) < 0) return {found};
  const passes = wavefronts(found.map((i) => i * size), size);
  return {found, wavefronts: passes.wavefronts, conflicts: passes.wavefronts - passes.ideal};
}));
"""


def test_indices_are_the_compiler_s_and_wavefronts_are_those_that_softcuda_counts(tmp_path):
    places = [(4, 0), (8, 3), (16, 1), (32, 0), (32, 5), (64, 1), (128, 3)]
    cases = [[n, size, *place] for n, size, place in itertools.product(range(len(EXPRESSIONS)), (4, 8, 16), places)]
    ours = explore.ask(COUNT_BANKS, [[EXPRESSIONS[n], size, width, warp] for n, size, width, warp in cases])
    launches = []
    for (n, size, width, warp), found in zip(cases, ours, strict=True):
        nbytes = (max(found["found"]) + 1) * size
        fits = min(found["found"]) >= 0 and nbytes <= 227 * 1024
        for what in (0, 1) if fits else (2,):
            launches.append([n, size, width, warp, what, nbytes if fits else 0])
    counted, told = launched(tmp_path, INDICES, {"expressions": EXPRESSIONS, "launches": launches})
    expected = {tuple(case): found for case, found in zip(cases, ours, strict=True)}
    wanted = [expected[tuple(launch[:4])] for launch in launches]
    assert not unlike(launches, [found["found"] for found in wanted], told)
    for what, name in enumerate(("ld", "st")):
        mine = [i for i, launch in enumerate(launches) if launch[4] == what]
        metrics = [counted[i]["metrics"] for i in mine]
        assert all(one[f"softcuda__requests_shared_op_{name}.sum"] == 1 for one in metrics)
        for own, theirs in (
            ("wavefronts", f"softcuda__wavefronts_shared_op_{name}.sum"),
            ("conflicts", SHARED.format(name)),
        ):
            assert not unlike([launches[i] for i in mine], [wanted[i][own] for i in mine], [m[theirs] for m in metrics])
    assert {1, 2, 3, 4, 8, 16, 32} < {found.get("wavefronts") for found in wanted}


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("x *", "Something is missing at place 4."),
        ("", "Something is missing at place 1."),
        ("(x + 1", "The parenthesis at place 1 is not closed."),
        ("x + 1)", "“)” at place 6 is one too many."),
        ("x 2", "“2” at place 3 is one too many."),
        ("z", "There is no “z” (place 1); there are x, y, t, lane and warp."),
        ("blockIdx.x", "There is no “blockIdx.x” (place 1); there are x, y, t, lane and warp."),
        ("x; alert(1)", "“;” at place 2 is nothing an index can have."),
        ("x = 1", "“=” at place 3 is nothing an index can have."),
        ("010", "“010” at place 1 is nothing an index can have."),
        ("3x", "“3x” at place 1 is nothing an index can have."),
        ("x / (y - y)", "Division by zero at place 3."),
        ("1 << 32 + x", "A shift by 32 bits at place 3."),
        ("x - 1", "Lane 0 has the index -1; it must not be negative."),
        ("x * 1000000", "Lane 1 has the index 1000000: no shared memory is that large."),
        ("4294967296", "4294967296 does not fit into an int (place 1)."),
        ("constructor", "There is no “constructor” (place 1); there are x, y, t, lane and warp."),
        ("(" * 80, "Too many parentheses at place 66."),
    ],
)
def test_an_index_that_is_none_is_told_in_one_line(index, said, small):
    with pytest.raises(BookError) as raised:
        explore.figure(small, f"banks index='{index}'", "en", "")
    assert str(raised.value) == f"explore:banks index='{index}': {said}"


# -- occupancy ---------------------------------------------------------------------------------------------------

ASKER = """
import ctypes, json
import pycuda.autoinit, pycuda.driver as cuda
lib, told = ctypes.CDLL(None), []
optin = cuda.Device(0).get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
for registers, cases in json.load(open("arguments.json")):
    ptx = f'''// softcuda: kernel=k registers={registers} shared=0 spill_stores=0 spill_loads=0 stack=0
.version 8.0
.target sm_75
.address_size 64
.visible .entry k() {{ ret; }}
'''
    module, function, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert lib.cuModuleLoadData(ctypes.byref(module), ptx.encode()) == 0
    assert lib.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
    assert lib.cuFuncSetAttribute(function, 8, optin) == 0
    for threads, shared in cases:
        ask = lib.cuOccupancyMaxActiveBlocksPerMultiprocessor
        assert ask(ctypes.byref(blocks), function, threads, ctypes.c_size_t(shared)) == 0
        told.append(blocks.value)
    lib.cuModuleUnload(module)
json.dump(told, open("told.json", "w"))
"""
LIMITS = """
const {occupancy} = await import(`${folder}/limits.js`);
answer(job.map(([device, kernel]) => occupancy(device, kernel)));
"""


@pytest.mark.parametrize("device", explore.devices())
def test_occupancy_is_the_driver_s(tmp_path, monkeypatch, device):
    monkeypatch.setenv("SOFTCUDA_DEVICE", device)
    registers = (8, 16, 17, 24, 32, 33, 40, 48, 56, 63, 64, 65, 72, 80, 96, 128, 144, 168, 200, 255)
    threads = (1, 16, 31, *range(32, 1025, 32), 100, 1000)
    shared = (*range(0, 20_000, 333), *(kib * 1024 for kib in (1, 10, 16, 33, 48, 64, 99, 100, 227, 228)))
    cases = list(itertools.product(threads, shared))
    _, told = launched(tmp_path, ASKER, [[r, cases] for r in registers])
    every = [{"registers": r, "threads": t, "shared": s} for r in registers for t, s in cases]
    found = explore.ask(LIMITS, [[explore.devices()[device], kernel] for kernel in every])
    assert not unlike(every, [one["blocks"] for one in found], told)


def test_occupancy_limits_are_those_that_an_h200_was_read_to_have():
    launches = json.loads(HARDWARE.read_text())["launches"]
    kernels = [
        {
            "threads": launch["block"][0] * launch["block"][1] * launch["block"][2],
            "registers": launch["metrics"]["launch__registers_per_thread"],
            "shared": 0,
        }
        for launch in launches
    ]
    found = explore.ask(LIMITS, [[explore.devices()["h200"], kernel] for kernel in kernels])
    for name in ("warps", "registers", "blocks"):
        read = [launch["metrics"][f"launch__occupancy_limit_{name}"] for launch in launches]
        assert not unlike(kernels, [one["limits"][name] for one in found], read)
    assert len(launches) >= 60


# -- on a page ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", explore.FIGURES)
def test_a_figure_is_drawn_at_build(small, write, name, language):
    page = Page(small, write(f"docs/{language}/a/x.md", f"# X\n\n{{{{ explore:{name} }}}}\n"))
    made = parse(page, language, Values(small), "../..")
    assert not made.problems
    ((_, figure),) = made.directives
    assert figure.count("<svg") > 0
    assert "<fieldset" in figure and "disabled" in figure  # until a script answers
    assert "<noscript>" in figure
    assert 'src="../../assets/explore/explore.js"' in figure
    assert not re.search(r"<[^>]*\s(on\w+|style)=", figure)  # a content-security policy may forbid it


def test_a_page_chooses_how_a_figure_starts(small):
    plain, other = (explore.figure(small, f"sectors{options}", "en", "") for options in ("", " stride=2 lanes=16"))
    assert (
        "One request moves 4\u00a0sectors in 1\u00a0line: 128 bytes, of which 128 were asked for (100\u00a0%)." in plain
    )
    assert (
        "One request moves 4\u00a0sectors in 1\u00a0line: 128 bytes, of which 64 were asked for (50\u00a0%)." in other
    )
    assert plain.split('id="')[1].split('"')[0] != other.split('id="')[1].split('"')[0]


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("pie", 'nothing to explore is called "pie"; there are: sectors, banks, occupancy'),
        ("sectors 3", 'explore:sectors 3: "3" is not an option=value'),
        ("sectors stride=x", "explore:sectors stride=x: stride=x is not a number from 0 to 64"),
        ("sectors size=3", "explore:sectors size=3: size=3 is none of 1, 2, 4, 8, 16"),
        ("sectors rows=2", 'explore:sectors rows=2: no option "rows"; there are: size, stride, offset, lanes, follow'),
        ("occupancy device=k80", "explore:occupancy device=k80: device=k80 is none of h200, rtx5090, b200, a100, "
                                 "rtx4090, t4"),
        ("occupancy threads=100", "explore:occupancy threads=100: threads=100 is not a number from 16 to 1024 in steps "
                                  "of 16"),
        ('banks index="', 'explore:banks index=": a quotation mark is not closed'),
    ],
)  # fmt: skip
def test_what_cannot_be_explored_is_told_in_one_line(small, figure, said):
    with pytest.raises(BookError) as raised:
        explore.figure(small, figure, "en", "")
    assert str(raised.value) == said


def test_figures_say_the_same_in_both_languages():
    keys = """
    const told = {};
    const list = (value, path = "") => typeof value === "string"
      ? [path] : Object.entries(value).flatMap(([key, one]) => list(one, `${path}.${key}`));
    for (const name of job) {
      const {words} = await import(`${folder}/${name}.js`);
      told[name] = [list(words.en), list(words.zh)];
    }
    answer(told);
    """
    for english, chinese in explore.ask(keys, explore.FIGURES).values():
        assert english == chinese


def test_every_device_of_softcuda_is_there():
    devices = explore.devices()
    assert next(iter(devices)) == "h200"
    assert devices["h200"] == {
        "name": "H200 (9.0)", "major": 9, "threads": 2048, "blocks": 32, "registers": 65536, "shared": 233472,
        "optin": 232448, "reserved": 1024,
    }  # fmt: skip
    assert {"a100", "b200", "rtx5090", "rtx4090", "t4"} < set(devices)
