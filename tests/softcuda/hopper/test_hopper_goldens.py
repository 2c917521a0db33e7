"""NumPy references against what an H200 computed: wgmma, descriptors, tensor maps, copies, barriers, counters.

`python tests/softcuda/hopper/record.py tests/softcuda/hopper/golden` renews the archives on a machine with a GPU of
compute capability 9.0, and `counters.py --read tests/softcuda/hopper/counters_h200.json` the counters.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import native
import numpy as np
import pytest

from hopper import arithmetic, barriers, counters, encoding, families, products, tensors
from hopper.cases import Case, Kept, read_archive, sample_of
from hopper.copies import box_bytes, copied_bytes
from hopper.maps import ADDRESS, CRASHED, NOT_CALLED, RESULT, TensorMap

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"


@cache
def golden(family: str) -> tuple[dict[str, Any], dict[str, Kept]]:
    return read_archive(GOLDEN / f"{family}.npz")


@cache
def cases(family: str) -> dict[str, Any]:
    return {case.name: case for case in families()[family]()}


def test_what_is_recorded_is_compared() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(families())


@pytest.mark.parametrize("family", sorted(families()))
def test_the_archives_hold_these_cases(family: str) -> None:
    header, kept = golden(family)
    assert header["device"] == "NVIDIA H200" and header["capability"] == [9, 0] and header["driver"] and header["date"]
    made = cases(family)
    changed = [name for name, result in kept.items() if name not in made or made[name].digest != result.case]
    assert not changed, f"record {family} anew: {len(changed)} cases have changed: {changed[:5]}"
    assert set(made) == set(kept) | set(header["refused"])


def test_the_archives_are_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.iterdir()) < 1.5e6


# --- wgmma


def product_groups() -> list[str]:
    return sorted({".".join(name.split()[1].split(".")[1:]) for name in cases("products")})


@pytest.mark.parametrize("kinds", product_groups())
def test_wgmma_is_explained_to_the_bit(kinds: str) -> None:
    wrong = []
    for name, case in cases("products").items():
        if name.split()[1].endswith(f".{kinds}"):
            form, shots = case.about
            result = b"".join(arithmetic.registers(form, products.make_shot(form, *shot)) for shot in shots)
            if difference := golden("products")[1][name].difference(result):
                wrong.append(f"{name}: {difference}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("kind", "places"), [("f16", 24), ("bf16", 24), ("tf32", 26), ("e4m3", 12), ("e5m2", 14)])
def test_other_accumulators_would_show(kind: str, places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded values tell one place more or less, so that the reference is not right by accident."""
    form = products.Form("f32", kind, kind, 8, True)
    shots = products.shots_of(form)
    monkeypatch.setattr(arithmetic, "places", lambda _: places)
    result = b"".join(arithmetic.registers(form, products.make_shot(form, *shot)) for shot in shots)
    assert "words differ" in golden("products")[1][form.name].difference(result)


@pytest.mark.parametrize("name", cases("layouts"))
def test_descriptors_read_where_the_reference_says(name: str) -> None:
    places = b"".join(arithmetic.addresses(layout).astype("<u4").tobytes() for layout in cases("layouts")[name].about)
    assert golden("layouts")[1][name].difference(places) == ""


# --- tensor maps


@pytest.mark.parametrize("name", cases("maps"))
def test_tensor_maps_are_encoded_or_refused_as_by_the_driver(name: str) -> None:
    stored = golden("maps")[1][name].stored
    wrong = []
    for i, call in enumerate(cases("maps")[name].calls):
        answer = stored[RESULT * i : RESULT * (i + 1)]
        code = int.from_bytes(answer[:4], "little")
        if code in (CRASHED, NOT_CALLED):  # the driver itself fails
            assert call.name == "rank -1"
            continue
        why = encoding.refused(call.map, call.address)
        address = call.address
        if call.replaced is not None:
            address = call.replaced
            why = why or encoding.refused_address(address)
        if bool(code) != bool(why):
            wrong.append(f"{call.name}: error {code}, the reference says {why or 'legal'}")
        elif not code and encoding.encode(call.map, address).tobytes() != answer[4:]:
            wrong.append(f"{call.name}: other bits")
        assert code in (0, 1), call.name  # CUDA_ERROR_INVALID_VALUE is the only error
    assert not wrong, "\n".join(wrong)


def replacements() -> dict[str, Any]:
    return {name: case for name, case in cases("clusters").items() if name.startswith("replace ")}


def test_tensormap_replace_changes_the_field_that_it_names() -> None:
    wrong = []
    for name, case in replacements().items():
        _, base, field, rest, values = case.about
        stored = golden("clusters")[1][name].stored
        for i, value in enumerate(values):
            want = encoding.replaced(base, ADDRESS, field, rest, value)
            got = np.frombuffer(stored[128 * i : 128 * (i + 1)], "<u4")
            if (got != want).any():
                at = np.flatnonzero(got != want)
                wrong.append(f"{name} {value:#x}: " + ", ".join(f"word {j} {got[j]:#x}, want {want[j]:#x}" for j in at))
    assert not wrong, "\n".join(wrong)


# --- barriers


@pytest.mark.parametrize("name", [name for name in cases("clusters") if name.startswith("mbarrier")])
def test_barriers_count_arrivals_and_bytes(name: str) -> None:
    _, count, steps = cases("clusters")[name].about
    assert golden("clusters")[1][name].difference(barriers.sequence_result(count, steps)[0]) == ""


# --- copies

ILLEGAL, MISALIGNED, ACCESS = "an illegal instruction", "misaligned address", "an illegal memory access"
# Their barriers expect fewer bytes than come. In one box of each the phase ended before the last bytes had come: the
# result holds 0xCD, which was there before, in place of some of the box's last bytes.
READ_TOO_EARLY = {"load interleave 16 u16 rank 5 swizzle 1 8/8", "load interleave 16 u8 rank 4 swizzle 2 48/16"}


def broken_rule(case: Case) -> str:
    """How the copies of this case should be refused, as the boxes are copied one after the other; empty if legal."""
    verb, made, boxes, _ = case.about
    if encoding.refused(made, ADDRESS):
        return "the tensor map is refused"
    room = -(-case.shared // 128) * 128
    for box in boxes:
        if verb != "load" and min(box.at) < 0:
            return ILLEGAL
        if tensors.correspondence(made, box)[0].max() >= room:
            return ACCESS
    return ""


@pytest.mark.parametrize("name", golden("copies")[0]["refused"])
def test_refused_copies_break_a_rule(name: str) -> None:
    why = broken_rule(cases("copies")[name])
    assert why and why in golden("copies")[0]["refused"][name]


def load_results(case: Case) -> Iterator[bytes]:
    """What the case may have shown: whether a phase ended is open where more bytes came than the barrier expected."""
    _, made, boxes, size = case.about
    rows = [tensors.load_result(made, [box], case.tensor(), size) for box in boxes]
    if copied_bytes(made) == boxes[0].expect:
        yield b"".join(rows)
        return
    assert copied_bytes(made) > boxes[0].expect and made.interleave
    for ended in product((1, 0), repeat=len(rows)):
        yield b"".join(row[:size] + bytes([e]) + row[size + 1 :] for row, e in zip(rows, ended, strict=True))


@pytest.mark.parametrize("name", golden("copies")[1])
def test_tensor_loads_are_explained(name: str) -> None:
    case, kept = cases("copies")[name], golden("copies")[1][name]
    assert case.about[0] == "load" and broken_rule(case) == ""
    differences = [kept.difference(result) for result in load_results(case)]
    if name in READ_TOO_EARLY:
        assert not kept.whole and all(differences)
        words, poison = np.frombuffer(kept.stored, "<u4"), 0xCDCDCDCD
        expected = np.frombuffer(sample_of(next(load_results(case))), "<u4")
        assert ((words == expected) | (words == poison) | (words < 2)).all()
    else:
        assert "" in differences, differences[0]


def stores() -> list[str]:
    return [name for name in golden("stores")[1] if name.startswith("store ")]


def test_tensor_stores_are_explained() -> None:
    wrong = []
    for name in stores():
        _, made, boxes, _ = cases("stores")[name].about
        source = cases("stores")[name].given()[64 * len(boxes) :]
        result = tensors.stored(made, boxes, cases("stores")[name].tensor(), source)
        if difference := golden("stores")[1][name].difference(result):
            wrong.append(f"{name}: {difference}")
    assert len(stores()) > 100 and not wrong, "\n".join(wrong)


# How an H200 answers kernels that break a rule.  No fault where a bulk copy's size is no multiple of 16: it copies
# the whole multiples, so that a barrier that expects every byte waits for ever.
ANSWERS = {
    ILLEGAL: ["a map of", "3d of", "1d of", "2d of", "tile of", "im2col of"],
    MISALIGNED: ["to shared", "swizzled, to", "bulk from + 8", "bulk to + 8", "store from"],
    ACCESS: ["a tensor where nothing is", "bulk beyond", "wgmma reads at 65536", "wgmma reads at 2"],
}


def test_broken_rules_are_answered_by_three_faults() -> None:
    header, kept = golden("faults")
    for name, why in header["refused"].items():
        [expected] = [a for a, names in ANSWERS.items() if name.removeprefix("fault: ").startswith(tuple(names))]
        assert expected in why, name
    ran = {name: kept[name].stored for name in kept if "bulk" in name}
    ended = {name.removeprefix("fault: bulk "): result[-8] for name, result in ran.items()}
    assert ended == {
        "of 8 bytes": 0,
        "of 24 bytes": 0,
        "of 0 bytes": 1,
        "with more bytes than expected": 1,
        "with fewer bytes than expected": 0,
    }
    copied = np.frombuffer(ran["fault: bulk of 24 bytes"][:-8], np.uint8)
    assert (copied[:16] != 0xCD).any() and (copied[16:] == 0xCD).all()


# --- softcuda

# Where softcuda refuses, or waits longer, what the hardware leaves open: bulk copies whose size is no multiple of 16,
# and barriers that expect another number of bytes than come, whose copies here never land.
OPEN = {
    "faults": {"of 8 bytes", "of 24 bytes", "with more bytes than expected", "with fewer bytes than expected"},
    "copies": READ_TOO_EARLY,
}


@pytest.mark.parametrize(
    ("family", "level"),
    [
        *((family, "") for family in ("maps", "clusters", "faults")),
        *product(("copies", "stores"), native.levels()),
    ],
)
def test_softcuda_answers_as_the_hardware_does(family: str, level: str) -> None:
    """Tensor maps, tensor copies, bulk copies, mbarriers, clusters: values, and which error where it refuses."""
    pytest.importorskip("pycuda", reason="the cases run through PyCUDA")
    settings = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1"}
    settings |= {"SOFTCUDA_SIMD": level} if level else {}
    command = [sys.executable, HERE / "answers.py", family]
    done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=native.patience(120))
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads(done.stdout)[family]
    wrong = {name: why for name, why in answers.items() if why}
    assert {name.removeprefix("fault: bulk ") for name in wrong} == OPEN.get(family, set()), wrong
    header, kept = golden(family)
    assert set(answers) == {name for name in {*kept, *header["refused"]} if "wgmma" not in name}


# --- counters

READ = json.loads((HERE / "counters_h200.json").read_text())
LAUNCHES = {launch["kernel"]: launch["metrics"] for launch in READ["launches"]}


def metric(kernel: str, name: str) -> int:
    return LAUNCHES[kernel].get(f"{name}.sum", 0)


def test_the_counters_are_of_these_kernels() -> None:
    assert list(LAUNCHES) == [kernel.name for kernel in counters.kernels()]
    assert READ["read"]["device"] == "NVIDIA H200"


@pytest.mark.parametrize(
    "kernel", [k for k in counters.kernels() if k.name.startswith(("tile_load", "im2col"))], ids=lambda k: k.name
)
def test_loads_count_every_byte_of_the_box(kernel: counters.Counted) -> None:
    """Those outside of the tensor too, and of a multicast those that each block receives."""
    assert kernel.tensor_map is not None
    received = 2 if "multicast" in kernel.name else 1
    want = kernel.grid * box_bytes(kernel.tensor_map) * received
    for what, unit in (("bytes", 1), ("sectors", 32)):
        assert (
            metric(kernel.name, f"l1tex__m_xbar2l1tex_read_{what}_mem_global_op_tma_ld")
            == rounded(kernel, want) // unit
        )
    assert metric(kernel.name, "sm__sass_inst_executed_op_tma_ld") == kernel.grid


def rounded(kernel: counters.Counted, size: int) -> int:
    """Rows narrower than a sector take a sector each."""
    made: TensorMap | None = kernel.tensor_map
    assert made is not None
    row = (made.channels if made.im2col else made.box[0]) * made.element
    return size // row * max(row, 32)


@pytest.mark.parametrize(
    ("kernel", "sectors"),
    [("tile_store", 8192), ("tile_store_narrow", 2048), ("tile_store_half_outside", 4096), ("bulk_store", 8192)],
)
def test_stores_count_the_sectors_inside_the_tensor(kernel: str, sectors: int) -> None:
    assert metric(kernel, "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st") == sectors
    assert metric(kernel, "lts__t_sectors_srcunit_tex_op_write") == sectors


def test_softcuda_counts_copies_as_the_hardware_does(tmp_path: Path) -> None:
    pytest.importorskip("pycuda", reason="the kernels run through PyCUDA")
    command = [sys.executable, "-m", "softcuda", "profile", "--json", tmp_path / "counted.json"]
    command += [HERE / "counters.py", "--launch", *(kernel.name for kernel in counters.copies())]
    done = subprocess.run(command, capture_output=True, text=True, env=native.clean_environment(), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads((tmp_path / "counted.json").read_text())
    assert [launch["kernel"] for launch in counted] == [kernel.name for kernel in counters.copies()]
    wrong = [
        f"{launch['kernel']}: {name} {value}, want {LAUNCHES[launch['kernel']].get(name, 0)}"
        for launch in counted
        for name, value in launch["metrics"].items()
        if "_tma" in name and value != LAUNCHES[launch["kernel"]].get(name, 0)
    ]
    assert not wrong, "\n".join(wrong)


FORMS = {
    "wgmma_n64_shared": (64, True),
    "wgmma_n64_swizzle_128": (64, True),
    "wgmma_n64_registers": (64, False),
    "wgmma_n8_registers": (8, False),
    "wgmma_n256_swizzle_128": (256, True),
    "wgmma_n128_transposed": (128, False),
    "wgmma_n64_tf32": (64, True),
    "wgmma_n64_e4m3": (64, True),
    "wgmma_n64_s8": (64, True),
    "wgmma_n64_conflicts": (64, False),
}


@pytest.mark.parametrize("kernel", FORMS)
def test_wgmma_reads_each_operand_once(kernel: str) -> None:
    """32 bytes of each of B's n columns, and of A's 64 rows if in shared memory, in wavefronts of 128 bytes."""
    n, a_in_shared = FORMS[kernel]
    made = metric(kernel, "sm__inst_executed_pipe_tensor_op_gmma") // 4  # each of four warps executes it
    assert made > 0
    size = 32 * (n + 64 * a_in_shared) * made
    assert metric(kernel, "sm__sass_data_bytes_mem_shared_op_gmma") == size
    assert metric(kernel, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma") == size // 128
