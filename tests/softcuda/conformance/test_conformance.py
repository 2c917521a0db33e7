"""softcuda against the golden results of a GPU, form by form.

`python tests/softcuda/conformance/generate.py tests/softcuda/conformance/golden/h200.npz` renews the golden file on a
machine with a GPU of compute capability 9.0.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import native
import pytest

pytest.importorskip("pycuda", reason="the forms run through PyCUDA")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from compare import columns, report  # noqa: E402
from forms import FAMILIES, all_forms  # noqa: E402
from generate import read_golden  # noqa: E402

GOLDEN = HERE / "golden" / "h200.npz"

NO_RULE = "the hardware's result is not what the PTX ISA says, and follows no rule that was found"
# What softcuda refuses to load, by how the forms' names begin, and why.
REFUSED: dict[str, str] = {
    **{f"vshl.{d}.{a}.u32.sat": NO_RULE for d in ("u32", "s32") for a in ("u32", "s32")},
    "vadd.u32.s32.u32.sat .b0": NO_RULE,
    "vadd.u32.s32.u32.sat.max": NO_RULE,
    "fma.rn.oob": "what an out-of-bounds NaN is, the PTX ISA does not say: to be measured",
}


@pytest.fixture(scope="session", params=native.levels())
def softcuda_results(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], dict[str, bytes]]:
    """The header and the results of the generator itself, run on softcuda, at each SIMD level that can run."""
    out = tmp_path_factory.mktemp("conformance") / "softcuda.npz"
    command = [sys.executable, str(HERE / "generate.py"), str(out)]
    settings = os.environ | {"SOFTCUDA": "force", "SOFTCUDA_SIMD": request.param}
    done = subprocess.run(
        command, env=settings, capture_output=True, text=True, timeout=native.patience(250), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    header, results = read_golden(out)
    assert "(softcuda)" in header["device"], "the hardware would be compared with itself"
    return header, results


@pytest.fixture(scope="session")
def golden() -> tuple[dict[str, object], dict[str, bytes]]:
    assert GOLDEN.is_file(), f"{GOLDEN.name} is missing: run `python {HERE.name}/generate.py {GOLDEN}` on an H200"
    return read_golden(GOLDEN)


def test_the_table_of_refused_forms_is_up_to_date(softcuda_results) -> None:
    header, _ = softcuda_results
    stated = {form.name for form in all_forms() if form.name.startswith(tuple(REFUSED))}
    actual: dict[str, str] = header["refused"]
    assert set(actual) == stated, {name: actual.get(name, "runs now") for name in set(actual) ^ stated}
    unused = [prefix for prefix in REFUSED if not any(name.startswith(prefix) for name in stated)]
    assert not unused


def test_the_golden_results_are_of_these_forms(golden) -> None:
    header, _ = golden
    kept = {name: digest for name, digest, _ in header["forms"]}
    changed = [form.name for form in all_forms() if kept.get(form.name) != form.digest]
    assert not changed, f"renew the golden file: {len(changed)} forms are new or changed: {changed[:10]}"
    assert header["refused"] == {}, "a GPU runs every form of the table"
    assert "softcuda" not in header["device"]


@pytest.mark.parametrize("family", FAMILIES)
def test_softcuda_answers_as_the_hardware_does(family: str, softcuda_results, golden) -> None:
    mine, theirs = softcuda_results[1], golden[1]
    wrong = [
        report(form, mine[form.name], theirs[form.name])
        for form in FAMILIES[family]
        if form.name in mine and form.name in theirs
    ]
    wrong = [text for text in wrong if text]
    assert not wrong, f"{len(wrong)} of {len(FAMILIES[family])} forms differ\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", ["add.u32", "lg2.approx.f32", "fma.rn.bf16x2", "setp.lt.f64"])
def test_a_wrong_bit_is_reported_with_its_operands(name: str, golden) -> None:
    [form] = [form for form in all_forms() if form.name == name]
    right = golden[1][name]
    assert report(form, right, right) == ""
    spoilt = bytearray(right)
    lane, size = 9, len(right) // form.count
    spoilt[lane * size + size - 1] ^= 0x40
    text = report(form, bytes(spoilt), right)
    assert f"lane {lane} (" in text and "1 of" in text and len(columns(form, right)[0]) == form.count


def test_a_nan_where_a_number_is_due_is_wrong(golden) -> None:
    [form] = [form for form in all_forms() if form.name == "sin.approx.f32"]
    nan = (0x7FFFFFFF).to_bytes(4, "little") * form.count
    assert report(form, nan, golden[1][form.name])
