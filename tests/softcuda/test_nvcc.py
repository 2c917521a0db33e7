"""The compiler stand-in: NVIDIA's nvcc, whose cubins are PTX that ptxas has accepted."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from softcuda import __version__, _toolkit

pytestmark = [
    pytest.mark.skipif(_toolkit.nvidia() is None, reason=f"no NVIDIA compiler packages: {_toolkit.INSTALL}"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="nvcc needs g++: apt-get install g++"),
]

NVCC = _toolkit.stand_in() / "nvcc"


@pytest.fixture
def nvcc(tmp_path):
    """Compile `source` as PyCUDA does: kernel.cu in a folder of its own, which is the current one."""

    def run(*options: str, source: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        if source is not None:
            (tmp_path / "kernel.cu").write_text(source)
        toolkit = {"SOFTCUDA_PYTHON": sys.executable, "SOFTCUDA_TOOLKIT": str(_toolkit.nvidia())}
        return subprocess.run(
            [NVCC, *options], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **toolkit, **environment}
        )

    run.folder = tmp_path
    return run


HALVE = """extern "C" {
#line 7 "snippets/halve.cu"
__global__ void halve(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1] / 2;
}
}
"""


WRAPPED = """__device__ float half_of(float x)
{
    return x / 2;
}
__global__ void halve(float *x)
{
    x[threadIdx.x] = half_of(x[threadIdx.x ^ 1]);
}"""


def test_lines_are_those_of_the_string_that_sourcemodule_was_given(nvcc):
    done = nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source='extern "C" {\n%s\n}\n' % WRAPPED)  # noqa: UP031
    assert done.returncode == 0, done.stderr
    ptx = (nvcc.folder / "kernel.cubin").read_text()
    places = re.findall(r"^\t\.loc\t1 (\d+)", ptx, re.MULTILINE)
    assert set(places) == {"3", "5", "7", "8"}, "as numbered above, also in what was inlined"
    assert set(re.findall(r"inlined_at 1 (\d+)", ptx)) == {"7"}
    packed = re.search(r"// softcuda: source=kernel.cu text=(\S+)", ptx)
    assert packed and zlib.decompress(base64.b64decode(packed[1])).decode() == WRAPPED + "\n"


def test_other_sources_keep_their_lines(nvcc):
    """An author's own `extern "C" {`, or lines that were named: what is in the file counts."""
    source = 'extern "C" {\n#line 40\n__global__ void k(int *a) { a[0] = 1; }\n}\n'
    assert nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source=source).returncode == 0
    assert "\t.loc\t1 40 " in (nvcc.folder / "kernel.cubin").read_text()
    (nvcc.folder / "mine.cu").write_text('extern "C" {\n__global__ void k(int *a) { a[0] = 1; }\n}\n')
    assert nvcc("--cubin", "-arch", "sm_90", "mine.cu").returncode == 0
    assert "\t.loc\t1 2 " in (nvcc.folder / "mine.cubin").read_text()


def test_cubin_is_ptx_with_the_snippets_own_lines_and_ptxas_figures(nvcc):
    done = nvcc("--cubin", "-arch", "sm_90", f"-I{nvcc.folder}", "kernel.cu", source=HALVE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # PyCUDA warns of any output
    ptx = (nvcc.folder / "kernel.cubin").read_text()
    assert ".target sm_90" in ptx
    assert "\0" not in ptx
    assert '.file\t1 "snippets/halve.cu"' in ptx
    assert "\t.loc\t1 12 5" in ptx
    note = next(line for line in ptx.splitlines() if line.startswith("// softcuda: kernel="))
    figures = dict(word.split("=") for word in note.removeprefix("// softcuda: ").split())
    assert figures["kernel"] == "halve"
    assert figures["shared"] == "256"
    assert figures["barriers"] == "1"
    assert figures["constant"] == "0"
    assert int(figures["registers"]) > 0
    assert figures["spill_stores"] == figures["spill_loads"] == "0"
    assert sorted(path.name for path in nvcc.folder.iterdir()) == ["kernel.cu", "kernel.cubin"]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (["-cubin", "kernel.cu", "-o", "a.bin", "-arch=sm_90"], "a.bin"),
        (["-o=a.bin", "-arch=sm_75", "--cubin", "kernel.cu"], "a.bin"),
        (["kernel.cu", "--cubin", "-arch", "sm_90", "-odir", "out"], "out/kernel.cubin"),
        (["--fatbin", "-arch", "sm_90", "kernel.cu"], "kernel.fatbin"),
        (["--ptx", "-arch", "sm_90", "kernel.cu"], "kernel.ptx"),
        (["--cubin", "-G", "-g", "-arch", "sm_90", "kernel.cu"], "kernel.cubin"),
        (["--cubin", "-use_fast_math", "-maxrregcount", "32", "-Xptxas", "-O2", "-arch", "sm_90", "kernel.cu"],
         "kernel.cubin"),
    ],
)  # fmt: skip
def test_options_in_any_order(nvcc, options, output):
    (nvcc.folder / "out").mkdir()
    done = nvcc(*options, source=HALVE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert ".visible .entry halve" in (nvcc.folder / output).read_text()


def test_of_several_architectures_the_newest_is_taken(nvcc):
    pair = ["-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]
    assert nvcc("--fatbin", *pair, "kernel.cu", source=HALVE).returncode == 0
    ptx = (nvcc.folder / "kernel.fatbin").read_text()
    assert ".target sm_90" in ptx
    assert ptx.count("// softcuda: kernel=") == 1


def test_constant_memory_is_counted(nvcc):
    source = "__constant__ float c[100]; __constant__ double d; __global__ void k(double *x) { *x = c[4] + d; }"
    assert nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source=source).returncode == 0
    assert " constant=408" in (nvcc.folder / "kernel.cubin").read_text()


def test_keep_leaves_the_ptx(nvcc):
    assert nvcc("--cubin", "--keep", "-arch", "sm_90", "kernel.cu", source=HALVE).returncode == 0
    assert (nvcc.folder / "kernel.ptx").read_text() == (nvcc.folder / "kernel.cubin").read_text()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("__shared__ float s[20480]; s[threadIdx.x] = *x; __syncthreads(); *x = s[threadIdx.x ^ 1];",
         "uses too much shared data (0x14000 bytes, 0xc000 max)"),
        ('asm("frobnicate.b32 %0, %1;" : "=f"(*x) : "f"(*x));', "softcuda: this comes from snippets/k.cu, line 40"),
        ("*x = nowhere(*x);", "Unresolved extern function"),
        ("*x = y;", 'snippets/k.cu(40): error: identifier "y" is undefined'),
    ],
)  # fmt: skip
def test_what_nvcc_rejects_is_rejected_here(nvcc, body, message):
    kernel = (
        f'extern __device__ float nowhere(float);\n#line 40 "snippets/k.cu"\n__global__ void k(float *x) {{ {body} }}'
    )
    done = nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source=kernel)
    assert done.returncode != 0
    assert message in done.stderr
    assert str(nvcc.folder) not in done.stderr
    assert "softcuda-" not in done.stderr
    assert not (nvcc.folder / "kernel.cubin").exists()


def test_a_warning_reaches_the_reader_and_the_figures_do_not(nvcc):
    done = nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source="__global__ void k() { int unused; }")
    assert done.returncode == 0
    assert "was declared but never referenced" in done.stderr
    assert "ptxas info" not in done.stderr
    asked = nvcc("--cubin", "-arch", "sm_90", "-Xptxas", "-v", "kernel.cu", source="__global__ void k() {}")
    assert "ptxas info" in asked.stderr


def test_headers_that_lean_on_cccl(nvcc):
    source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cooperative_groups.h>\n" + HALVE
    done = nvcc("--cubin", "-arch", "sm_90", "kernel.cu", source=source)
    assert (done.returncode, done.stderr) == (0, "")


CALLER = "extern __device__ float f(float);\n__global__ void k(float *x) { *x = f(*x); }\n"
CALLEE = "__device__ float f(float x) { return x + 1; }\n"


@pytest.fixture
def sources(nvcc):
    (nvcc.folder / "caller.cu").write_text(CALLER)
    (nvcc.folder / "callee.cu").write_text(CALLEE)
    return ["caller.cu", "callee.cu"]


def test_an_object_is_ptx_with_figures(nvcc, sources):
    done = nvcc("-dc", "-arch=sm_90", *sources)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ptx = (nvcc.folder / "caller.o").read_text()
    assert ".extern .func  (.param .b32 func_retval0) _Z1ff" in ptx
    assert "// softcuda: kernel=_Z1kPf registers=" in ptx
    assert ".visible .func" in (nvcc.folder / "callee.o").read_text()


@pytest.mark.parametrize("option", ["--ptx", "--cubin"])
def test_a_relocatable_module_alone(nvcc, option):
    done = nvcc(option, "-rdc=true", "-lcudadevrt", "-arch", "sm_90", "kernel.cu", source=CALLER)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "_Z1ff" in (nvcc.folder / f"kernel.{option.strip('-')}").read_text()


def test_several_modules_in_one_file(nvcc, sources):
    assert nvcc("-dc", "-arch=sm_90", *sources).returncode == 0
    done = nvcc("-lib", "caller.o", "callee.o", "-o", "both.a")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = nvcc("-dlink", "-arch=sm_90", "both.a", "-lcudadevrt", "-o", "both.cubin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    image = (nvcc.folder / "both.cubin").read_text()
    assert image.startswith("// softcuda: library cudadevrt\n// softcuda: member caller.o\n")
    assert image.count("// softcuda: member ") == 2
    done = nvcc("--cubin", "-dlink", "-arch=sm_90", *sources, "-o", "linked.cubin")  # straight from the sources
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["caller.o"], "Undefined reference to '_Z1ff' in 'caller.o'"),
        (["caller.o", "callee.o", "callee.o"], "Multiple definition of '_Z1ff' in 'callee.o'"),
        (["nowhere.o"], "softcuda: cannot link nowhere.o: No such file or directory"),
        (["caller.cu", "callee.bin"], "softcuda: cannot link callee.bin: it is no object or library"),
    ],
)
def test_what_cannot_be_linked_is_said_in_nvlinks_words(nvcc, sources, inputs, message):
    assert nvcc("-dc", "-arch=sm_90", *sources).returncode == 0
    (nvcc.folder / "callee.bin").write_bytes(b"\x7fELF\0\1")
    done = nvcc("-dlink", "-arch=sm_90", *inputs, "-o", "linked.cubin")
    assert done.returncode != 0
    assert message in done.stderr
    assert "softcuda-" not in done.stderr
    assert not (nvcc.folder / "linked.cubin").exists()


def test_the_device_runtime_lies_where_pycuda_looks():
    """PyCUDA's add_stdlib takes nvcc's folder on PATH, and lib64 beside it."""
    assert (NVCC.parent / ".." / "lib64" / "libcudadevrt.a").is_file()


def test_no_host_compiler_is_one_line(nvcc):
    done = nvcc("--cubin", "kernel.cu", source=HALVE, PATH=str(nvcc.folder))
    assert done.returncode == 1
    assert done.stderr == "softcuda: nvcc needs a host C++ compiler and there is no g++ on PATH: apt-get install g++\n"


def test_its_identity_differs_from_nvccs_and_follows_the_version(nvcc):
    own = nvcc("--version").stdout
    real = subprocess.run([_toolkit.nvidia() / "bin" / "nvcc", "--version"], capture_output=True, text=True).stdout
    assert own != real
    assert own.startswith(real.rstrip())
    assert f"softcuda {__version__}" in own


def test_preprocess_is_nvccs_own(nvcc):
    arguments = ["--preprocess", "-arch", "sm_90", "kernel.cu", "--compiler-options", "-P"]
    done = nvcc(*arguments, source="#define N 3\n__global__ void k(int *x) { *x = N; }\n")
    real = subprocess.run(
        [_toolkit.nvidia() / "bin" / "nvcc", *arguments], cwd=nvcc.folder, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "*x = 3;" in done.stdout
    assert done.stdout == real.stdout


def test_stand_in_is_executable_where_it_is_installed():
    assert os.access(NVCC, os.X_OK)
    assert Path(NVCC).read_text().startswith("#!/bin/sh")
