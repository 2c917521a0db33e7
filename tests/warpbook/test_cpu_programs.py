"""Programs that measure the CPU: recorded and judged without a GPU, and shown beside every device's numbers."""

from __future__ import annotations

import json

import pytest

from warpbook.book import CPU, PRIMARY, SOFTCUDA
from warpbook.records import claims, recorder, records, values
from warpbook.run.run import run_program

PROGRAM = """
import warpbench as wb

wb.measure_cpu()
wb.value("slow.time", 4.0, "s")
wb.value("fast.time", 2.0, "s")
print("slow    4.00 s")
"""
CLAIMS = """
[a.faster]
en = "fast against slow"
zh = "快与慢之比"
ratio = ["slow.time", "fast.time"]
predicted = 2
at_least = 1.5
"""
SOFT = {"name": "Fake GPU (softcuda)", "softcuda": True}
GPU = {"name": "NVIDIA H200", "softcuda": False}


@pytest.fixture
def measured(small, write):
    """A book with one program, which measures the CPU and is recorded."""
    from warpbook.book import here

    (small.root / "snippets").mkdir(exist_ok=True)
    (small.root / "snippets" / "warpbench.py").symlink_to(here().snippets / "warpbench.py")
    write("snippets/x/a.py", PROGRAM)
    write("snippets/x/claims.toml", CLAIMS)
    assert recorder.record(small, ["x"], device=SOFT) == 0
    return small


def test_its_machine_is_the_cpu(measured) -> None:
    record = records.read(measured, SOFTCUDA, "x")
    machine = record["machines"][record["programs"]["x/a.py"]["machine"]]
    assert machine["name"].endswith(("core", "cores"))
    assert records.device_name(record) == "", "no device but the CPU has run anything"


def test_no_gpu_is_asked_for_it(measured) -> None:
    assert records.pending(measured, PRIMARY, "x") == []
    assert recorder.record(measured, ["x"], device=GPU) == 0
    assert not records.path_of(measured, PRIMARY, "x").exists()


def test_a_page_shows_its_values_and_names_the_cpu(measured) -> None:
    shown = values.render("slow.time / fast.time", "x", "en", values.Values(measured))
    assert "2.00×" in shown
    assert "core" in shown
    assert f"records/{SOFTCUDA}/x.json" in shown
    assert "data-others" not in shown, "every device would show the same"


def test_its_claims_are_judged_once_and_as_the_cpus(measured) -> None:
    (measured.records / PRIMARY).mkdir()
    (measured.records / PRIMARY / "x.json").write_text(json.dumps(records.empty()))
    [one] = claims.everything(measured, [PRIMARY, SOFTCUDA])
    assert (one.device, one.measured, one.holds, one.prediction) == (CPU, 2.0, True, "close")


def test_a_gate_is_judged_on_the_machine_that_runs_the_program(measured, write) -> None:
    program = measured.snippets / "x" / "a.py"
    run = run_program(measured, program)
    assert claims.live_cpu(measured, program, run.values) == []
    run.values["fast.time"]["value"] = 3.0
    [line] = claims.live_cpu(measured, program, run.values, "a slow CPU")
    assert line == "snippets/x/claims.toml: [a.faster] says at least 1.5×; a slow CPU measured 1.33× now"


def test_other_programs_are_still_asked_of_a_gpu(measured, write) -> None:
    write("snippets/x/b.py", "print('no measure_cpu here')\n")
    assert records.pending(measured, PRIMARY, "x") == ["x/b.py"]
