"""CUDA C++ from the compiler that softcuda comes with, for each generation of devices, and forms from all the others.

`make sweep` asks every compiler from 12.9 to 13.5, and keeps the forms of instructions that it met in forms.txt.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from softcuda import _toolkit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import execute  # noqa: E402
from compilers import INSTALLED, Compiler  # noqa: E402
from seen_forms import forms_of, module_of, read_forms  # noqa: E402
from sweep import CORPUS, cases, run  # noqa: E402

compiled = [
    pytest.mark.skipif(_toolkit.nvidia() is None, reason=f"no NVIDIA compiler packages: {_toolkit.INSTALL}"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="nvcc needs g++: apt-get install g++"),
]


def load(path: Path, ptx: str, device: str = "rtx5090") -> dict[str, object]:
    """What softcuda says to a module."""
    (path / "module.ptx").write_text(ptx)
    (path / "none.cu").write_text("")
    job = json.dumps({"ptx": str(path / "module.ptx"), "source": str(path / "none.cu")})
    settings = os.environ | {"SOFTCUDA_DEVICE": device, "SOFTCUDA_QUIET": "1", "SOFTCUDA_MEMORY": "256M"}
    done = subprocess.run(
        [sys.executable, HERE / "execute.py"], input=job, capture_output=True, text=True, env=settings, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_form_that_a_compiler_emitted_loads(tmp_path) -> None:
    forms = sorted(read_forms())
    assert len(forms) > 2000
    text, refused = module_of(forms), []
    while not (answer := load(tmp_path, text))["loaded"]:
        refused.append(answer["refused"])
        line = int(re.search(r"line (\d+)\W*$|PTX line (\d+):", str(answer["refused"])).expand(r"\1\2"))
        lines = text.split("\n")
        lines[line - 1] = ""
        text = "\n".join(lines)
        assert len(refused) < 20, "\n".join(refused)
    assert not refused, "\n".join(refused)


def test_a_form_that_is_unknown_is_noticed(tmp_path) -> None:
    answer = load(tmp_path, module_of(["add.s32 %b32, %b32, 1", "add.sideways.s32 %b32, %b32, 1"]))
    assert not answer["loaded"]
    assert "add.sideways.s32" in answer["refused"]


@pytest.mark.parametrize(
    ("target", "devices"),
    [
        ("sm_75", {"t4", "rtx4090", "h200", "b200", "rtx5090"}),
        ("sm_90", {"h200", "b200", "rtx5090"}),
        ("sm_90a", {"h200"}),
        ("sm_100a", {"b200"}),
        ("sm_100f", {"b200"}),
        ("sm_103f", set()),
        ("sm_110", {"rtx5090"}),
    ],
)
def test_ptx_loads_where_hardware_would_take_it(tmp_path, target: str, devices: set[str]) -> None:
    answers = {device: load(tmp_path, module_of([], target), device) for device in _toolkit.profiles()}
    assert {device for device, answer in answers.items() if answer["loaded"]} == devices
    assert all("this device" in answer["refused"] for answer in answers.values() if not answer["loaded"])


def test_forms_are_read_from_ptx() -> None:
    text = """
        .global .align 4 .b8 table[8] = {1, 2, 3};
        .extern .shared .align 16 .b8 dynamic[];
        .visible .entry k(.param .u64 k_param_0)
        {
            .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; // comment: add.s32 a, b;
            ld.param.u64 %rd1, [k_param_0];
        $L_1: { .reg.f16 low, high; mov.b32 {low, high}, %r1; }
            @%p1 bra $L_1;
            @!%p2 add.s32 %r2, %r3, -17;
            lop3.b32 %r1, %r2, %r3, %r4, 0x6a;
            mov.u32 %r5, %tid.x;
            st.shared.v2.b32 [dynamic+8], {%r1, 7};
            mov.u64 %rd2, table;
        }"""
    assert sorted(forms_of(text)) == [
        "add.s32 %b32, %b32, 1",
        "bra LABEL",
        "ld.param.u64 %b64, [PARAM]",
        "lop3.b32 %b32, %b32, %b32, %b32, 0x6a",
        "mov.b32 {%f16, %f16}, %b32",
        "mov.u32 %b32, %tid.x",
        "mov.u64 %b64, GLOBAL",
        "st.shared.v2.b32 [SHARED+16], {%b32, 1}",
    ]


def test_tests_are_read_from_the_source() -> None:
    found = execute.tests((HERE / "launches.cu").read_text())
    assert found["cluster_registers"]["cluster"] == 2 and found["cluster_registers"]["since"] == 90
    assert len(found["structures"]["args"]) == 32
    for source in CORPUS:
        text = source.read_text()
        assert set(re.findall(r"^TEST\w*\((\w+)", text, re.MULTILINE)) == set(execute.tests(text)), source.name


@pytest.mark.parametrize("architecture", ["75", "89", "90", "100", "120"])
class TestCorpus:
    pytestmark = compiled

    def test_loads_and_computes_what_it_should(self, architecture: str) -> None:
        found = list(cases([Compiler(INSTALLED)], [architecture], [""], CORPUS))
        run(found)
        assert not [case.problem for case in found if case.problem]
        for case in found:
            assert set(case.right) == set(execute.tests(case.source.read_text())), case
