"""CUDA C++ from the compiler that softcuda comes with, for each generation of devices, and forms from all the others.

`make sweep` asks every compiler from 12.9 to 13.5, reads the headers of each, and keeps the forms of instructions that
it met in forms.txt.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from softcuda import _toolkit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import execute  # noqa: E402
from compilers import INSTALLED, Compiler  # noqa: E402
from header_forms import answers, header_forms, on_purpose, preprocessed, read_refused, refusals  # noqa: E402
from seen_forms import forms_of, module_of, read_forms  # noqa: E402
from sweep import CORPUS, cases, run  # noqa: E402

compiled = [
    pytest.mark.skipif(_toolkit.nvidia() is None, reason=f"no NVIDIA compiler packages: {_toolkit.INSTALL}"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="nvcc needs g++: apt-get install g++"),
]


def test_every_form_that_a_compiler_emitted_loads() -> None:
    forms = sorted(read_forms())
    assert len(forms) > 5000
    assert refusals(forms) == {}


def test_a_form_that_is_unknown_is_noticed() -> None:
    [(form, why)] = refusals(["add.s32 %b32, %b32, 1", "add.sideways.s32 %b32, %b32, 1"]).items()
    assert form == "add.sideways.s32 %b32, %b32, 1"
    assert "add.sideways.s32" in why


@pytest.mark.parametrize(
    ("target", "devices"),
    [
        ("sm_75", {"t4", "a100", "rtx4090", "h200", "b200", "rtx5090"}),
        ("sm_80", {"a100", "rtx4090", "h200", "b200", "rtx5090"}),
        ("sm_86", {"rtx4090", "h200", "b200", "rtx5090"}),
        ("sm_90", {"h200", "b200", "rtx5090"}),
        ("sm_90a", {"h200"}),
        ("sm_100a", {"b200"}),
        ("sm_100f", {"b200"}),
        ("sm_103f", set()),
        ("sm_110", {"rtx5090"}),
    ],
)
def test_ptx_loads_where_hardware_would_take_it(target: str, devices: set[str]) -> None:
    said = {device: answers([module_of([], target)], device)[0] for device in _toolkit.profiles()}
    assert {device for device, answer in said.items() if answer["loaded"]} == devices
    assert all("this device" in answer["refused"] for answer in said.values() if not answer["loaded"])


def test_forms_are_read_from_ptx() -> None:
    text = """
        .global .align 4 .b8 table[8] = {1, 2, 3};
        .extern .shared .align 16 .b8 dynamic[];
        .visible .entry k(.param .u64 k_param_0)
        {
            .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; // comment: add.s32 a, b;
            ld.param.u64 %rd1, [k_param_0];
        $L_1: .loc 1 7 3, function_name $L_info, inlined_at 1 9 3
            { .reg.f16 low, high; mov.b32 {low, high}, %r1; }
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


def test_forms_are_read_from_headers() -> None:
    text = """
        # 1 "header.h"
        asm volatile("fence.sc.cta;" ::: "memory");
        asm("{ add.f16x2 %0,%1," "%2;\\n}" : "=r"(x[0]) : "r"(f(a, "(")), "n"(3));
        asm(R"P( .reg .b128 _d;
            mov.b128 _d, {%1, %2}; atom.exch.b128 _d, [%0], _d; )P" :: "l"(p), "l"(q.x), "l"(q.y));
        asm("mov.b32 %0, %%laneid;" : "=r"(lane)); asm("pause"); asm("rep; nop" : "=a"(x));"""
    assert sorted(header_forms(text)) == [
        "add.f16x2 %b32, %b32, 1",
        "atom.exch.b128 %b128, [%b64], %b128",
        "fence.sc.cta",
        "mov.b128 %b128, {%b64, %b64}",
        "mov.b32 %b32, %laneid",
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
        assert {form for case in found for form in forms_of(case.ptx.read_text())} - read_forms() == set()


class TestTargets:
    pytestmark = compiled

    def test_clusters_take_over_clusters(self) -> None:
        found = list(cases([Compiler(INSTALLED)], ["100a"], [""], [HERE / "launch_control.cu"]))
        run(found)
        assert [case.problem or case.right for case in found] == [["stolen_blocks", "stolen_clusters"]]


@pytest.mark.parametrize("architecture", ["75", "120a"])
class TestHeaders:
    pytestmark = compiled

    def test_what_softcuda_refuses_of_their_assembly_is_listed(self, architecture: str) -> None:
        forms, patterns = header_forms(preprocessed(Compiler(INSTALLED), architecture)), read_refused()
        listed = {form for form in forms if on_purpose(form, patterns)}
        assert forms - listed - read_forms() == set()
        assert set(refusals(sorted(listed))) == listed
