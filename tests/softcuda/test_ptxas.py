"""The stand-ins for Triton's two ptxas: what ptxas accepted stays PTX, with its figures and Python sources."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import zlib

import pytest

from softcuda import __version__, _ptxas, _toolkit

pytestmark = pytest.mark.skipif(_toolkit.nvidia() is None, reason=f"no NVIDIA compiler packages: {_toolkit.INSTALL}")
STAND_IN = _toolkit.stand_in() / "ptxas"

# As Triton leaves it: LLVM counts the lines of inline assembly on from that of the source.
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .loc 1 7 0
    ld.param.b64 %rd1, [out];
    .loc 1 8 9
    // begin inline asm
    .loc 1 9 1
    mov.u32 %r1, 5;
    .loc 1 10 1
    st.global.b32 [%rd1], %r1;
    // end inline asm
    .loc 1 9 5
    ret;
}
.file 1 "FOLDER/kernel.py"
"""


@pytest.fixture
def ptxas(tmp_path):
    """Run the stand-in as Triton does; `toolkit` has its ptxas."""
    (tmp_path / "kernel.py").write_text("import triton\n")
    (tmp_path / "kernel.ptx").write_text(KERNEL.replace("FOLDER", str(tmp_path)))

    def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        paths = {"SOFTCUDA_PYTHON": sys.executable, "SOFTCUDA_TOOLKIT": str(_toolkit.nvidia())}
        return subprocess.run([STAND_IN, *options], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, **paths, **environment})  # fmt: skip

    run.folder = tmp_path
    return run


def test_the_output_is_the_ptx_with_figures_and_sources(ptxas):
    done = ptxas("-lineinfo", "-v", "--gpu-name=sm_80", "kernel.ptx", "-o", "kernel.ptx.o")
    assert done.returncode == 0, done.stderr
    assert "ptxas info" in done.stderr, "asked for with -v"
    image = (ptxas.folder / "kernel.ptx.o").read_text()
    assert ".visible .entry kernel" in image
    assert "// softcuda: kernel=kernel registers=" in image
    [note] = [line for line in image.splitlines() if line.startswith("// softcuda: source=")]
    name, packed = note.removeprefix("// softcuda: source=").split(" text=")
    assert name == str(ptxas.folder / "kernel.py")
    assert zlib.decompress(base64.b64decode(packed)) == b"import triton\n"


def test_lines_of_inline_assembly_are_left_out(ptxas):
    ptxas("--gpu-name=sm_80", "kernel.ptx", "-o", "kernel.ptx.o")
    places = [line.strip() for line in (ptxas.folder / "kernel.ptx.o").read_text().splitlines() if ".loc" in line]
    assert places == [".loc 1 7 0", ".loc 1 8 9", ".loc 1 9 5"]


def test_a_source_that_is_gone_has_no_note(ptxas):
    (ptxas.folder / "kernel.py").unlink()
    assert ptxas("--gpu-name=sm_80", "kernel.ptx", "-o", "kernel.ptx.o").returncode == 0
    assert "source=" not in (ptxas.folder / "kernel.ptx.o").read_text()


def test_what_ptxas_rejects_is_rejected_with_the_python_line(ptxas):
    source = ptxas.folder / "kernel.ptx"
    source.write_text(source.read_text().replace("mov.u32", "frobnicate.b32"))
    done = ptxas("--gpu-name=sm_80", "kernel.ptx", "-o", "kernel.ptx.o")
    assert done.returncode != 0
    assert "Not a name of any known instruction: 'frobnicate'" in done.stderr
    assert f"softcuda: this comes from {ptxas.folder}/kernel.py, line 9" in done.stderr
    assert not (ptxas.folder / "kernel.ptx.o").exists()


def test_its_identity_differs_from_ptxas(ptxas):
    """Triton keys its cache with it: what is kept for a GPU is machine code."""
    lines = ptxas("--version").stdout.splitlines()
    assert any("release" in line for line in lines)
    assert lines[-1].startswith(f"softcuda {__version__}, PTX in place of cubins")


def test_messages_of_both_tools_are_understood():
    messages = (
        "ptxas-blackwell info    : Compiling entry function 'kernel' for 'sm_90a'\n"
        "ptxas-blackwell info    : Function properties for kernel\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas-blackwell info    : Used 24 registers, used 1 barriers, 512 bytes smem\n"
    )
    image = _ptxas.annotate(".visible .entry kernel()\n", messages)
    assert "kernel=kernel registers=24 shared=512 spill_stores=0 spill_loads=0 stack=0 barriers=1 constant=0" in image


def test_without_triton_its_own_tool_is_one_line(tmp_path):
    done = subprocess.run([STAND_IN.with_name("ptxas-blackwell"), "--version"], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "SOFTCUDA_PYTHON": sys.executable})  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "softcuda: ptxas-blackwell belongs to Triton, which is not installed: pip install 'softcuda[triton]'\n"
    )
