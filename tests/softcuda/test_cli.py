"""The softcuda command."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys

import native
import pytest

from softcuda import __version__, _cli, _toolkit

COMMANDS = ["run", "profile", "check", "trace", "info", "install-pycuda"]


@pytest.fixture
def softcuda(tmp_path):
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = native.clean_environment()
        return subprocess.run(
            [sys.executable, "-m", "softcuda", *arguments],
            cwd=tmp_path, capture_output=True, text=True, env={**clean, **environment},
        )  # fmt: skip

    run.folder = tmp_path
    return run


def test_version(softcuda):
    assert softcuda("--version").stdout == f"softcuda {__version__}\n"


def test_run_is_python_with_softcuda_forced(softcuda):
    (softcuda.folder / "beside.py").write_text("value = 7\n")
    (softcuda.folder / "program.py").write_text(
        "import os, sys, beside\n"
        "print(__name__, sys.argv, os.environ['SOFTCUDA'], beside.value)\n"
        "sys.exit(5)\n"
    )  # fmt: skip
    done = softcuda("run", "program.py", "--flag", "-m", "x")
    assert done.stdout == "__main__ ['program.py', '--flag', '-m', 'x'] force 7\n"
    assert done.returncode == 5


def test_run_with_a_seed(softcuda):
    (softcuda.folder / "program.py").write_text("import os, sys\nprint(sys.argv, os.environ['SOFTCUDA_SEED'])\n")
    assert softcuda("run", "--seed", "7", "program.py", "--seed").stdout == "['program.py', '--seed'] 7\n"
    assert "softcuda: --seed -1 is not a whole number" in softcuda("run", "--seed", "-1", "program.py").stderr


def test_run_module(softcuda):
    (softcuda.folder / "tool.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert softcuda("run", "-m", "tool", "--version").stdout == "__main__ ['--version']\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], f"softcuda: there is no command chek, only {', '.join(COMMANDS)}; did you mean check?"),
        (["frobnicate"], f"softcuda: there is no command frobnicate, only {', '.join(COMMANDS)}"),
        (["info", "x"], "softcuda: info takes no arguments, and here is x"),
        (
            ["check", "--seeds", "x.py"],
            "softcuda: check has no option --seeds; softcuda check --help shows those it has",
        ),
        (
            ["run", "--seed", "9" * 20, "x.py"],
            f"softcuda: --seed {'9' * 20} is not a whole number below 2**64 (0: no shuffling)",
        ),
        (
            ["trace", "--kernel", "k", "--steps", "1" + "0" * 12, "x.py"],
            "softcuda: trace --steps 1000000000000 is too large: at most 100,000,000",
        ),
        (
            ["trace", "--kernel", "k", "--block", "4294967296", "x.py"],
            "softcuda: trace --block 4294967296 is too large: at most 2,147,483,647",
        ),
        (["run"], "softcuda: run what? softcuda run program.py, or softcuda run -m module"),
        (["run", "nothing.py"], "softcuda: no program nothing.py"),
        (
            ["run", "kernel.cu"],
            "softcuda: kernel.cu is no Python program; a kernel is started from one, with pycuda.compiler.SourceModule "
            "(CUDA C++) or pycuda.driver.module_from_file (PTX)",
        ),
        (
            ["run", "a.out"],
            "softcuda: a.out is a compiled program; what nvcc links brings machine code for GPUs and the CUDA runtime, "
            "which softcuda cannot run: start its kernels from Python, with pycuda.compiler.SourceModule",
        ),
        (["run", "data.bin"], "softcuda: data.bin is no Python program"),
    ],
)
def test_mistakes_are_one_line(softcuda, arguments, message):
    (softcuda.folder / "kernel.cu").write_text("__global__ void kernel() {}\n")
    (softcuda.folder / "a.out").write_bytes(b"\x7fELF\2\1\1\0")
    (softcuda.folder / "data.bin").write_bytes(b"\1\0\0\0")
    done = softcuda(*arguments)
    assert done.returncode == 1
    assert done.stderr == message + "\n"


@pytest.mark.parametrize("command", ["run", "profile", "check", "trace"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SOFTCUDA_SIMD", "foo", "SOFTCUDA_SIMD=foo is not one of "),
        ("SOFTCUDA_SMID", "avx2", "SOFTCUDA_SMID is no setting of softcuda's; did you mean SOFTCUDA_SIMD?"),
        ("SOFTCUDA_QUIET", "maybe", "SOFTCUDA_QUIET=maybe is not 0 or 1"),
        ("SOFTCUDA", "foo", "SOFTCUDA=foo is not one of force, 0, auto"),
        ("SOFTCUDA_MEMORY", "much", "SOFTCUDA_MEMORY=much is not a size such as 2G or 512M"),
    ],
)
def test_a_wrong_setting_is_one_line_and_no_program_runs(softcuda, command, name, value, message):
    (softcuda.folder / "program.py").write_text("print('runs')\n")
    option = ["--kernel", "k"] if command == "trace" else []
    done = softcuda(command, *option, "program.py", **{name: value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"softcuda: {message}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_command_has_help(softcuda, command, option):
    done = softcuda(command, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: softcuda {command}")
    for word in re.findall(r"(?<!\w)-\S+", done.stdout.splitlines()[0]):
        assert f"\n  {word.strip('[]')} " in done.stdout, "what the first line names is explained"


def test_help_names_all_commands(softcuda):
    done = softcuda("--help")
    assert done.returncode == 0
    assert all(f"softcuda {command}" in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", ["profile", "check", "trace"])
def test_what_always_runs_on_the_cpu_says_no_more(softcuda, command):
    (softcuda.folder / "program.py").write_text("import pycuda.driver\n")
    option = ["--kernel", "k"] if command == "trace" else []
    done = softcuda(command, *option, "program.py")
    assert done.stderr.startswith(f'softcuda {command}: always on the CPU, as "NVIDIA H200 (softcuda)"\n')
    assert "SOFTCUDA=force" not in done.stderr


def test_a_library_with_kernels_of_its_own_gets_a_sentence_and_goes_on(softcuda):
    for library in ("torch", "cupy"):
        (softcuda.folder / f"{library}.py").write_text(f"print('{library}, on the CPU')\n")
    (softcuda.folder / "program.py").write_text(
        "import torch, cupy\ntry: import jax\nexcept ImportError: print('no JAX')\n"
    )
    done = softcuda("run", "program.py", SOFTCUDA_QUIET="1")
    assert done.stdout == "torch, on the CPU\ncupy, on the CPU\nno JAX\n"
    assert [line.split(" brings ")[0] for line in done.stderr.splitlines()] == ["softcuda: PyTorch", "softcuda: CuPy"]
    assert "it sees no CUDA device here" in done.stderr


def test_without_pycuda_the_last_line_says_how_to_get_it(softcuda):
    (softcuda.folder / "program.py").write_text(
        "import importlib.abc, sys\n"
        "class Without(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pycuda', 'another'): raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "__import__(sys.argv[1])\n"
    )
    done = softcuda("run", "program.py", "pycuda.driver")
    assert done.returncode == 1 and "ModuleNotFoundError: No module named 'pycuda'" in done.stderr
    assert done.stderr.endswith(f"softcuda: PyCUDA is not installed for {sys.executable}: softcuda install-pycuda\n")
    assert "install-pycuda" not in softcuda("run", "program.py", "another").stderr


RUNTIME = """
import ctypes, glob, sysconfig
folder = sysconfig.get_path("purelib") + "/nvidia/cu13/lib/"
runtime = ctypes.CDLL(glob.glob(folder + "libcudart.so.*")[0])
count = ctypes.c_int(-1)
print(runtime.cudaGetDeviceCount(ctypes.byref(count)), runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 4))
"""


def test_the_cuda_runtime_is_refused_and_not_crashed(softcuda):
    (softcuda.folder / "program.py").write_text(RUNTIME)
    done = softcuda("run", "program.py", SOFTCUDA_QUIET="1")
    assert done.stdout == "801 801\n"  # cudaErrorNotSupported
    assert done.returncode == 0


def test_info_tells_what_would_be_used_and_why(softcuda):
    done = softcuda("info", SOFTCUDA="force", SOFTCUDA_DEVICE="t4")
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    rows = {key.strip(): value.strip() for key, value in rows.items()}
    assert rows["would use"] == "softcuda: SOFTCUDA=force"
    assert rows["softcuda"].startswith(__version__)
    assert {"nvcc", "NVIDIA's nvcc", "host compiler", "PyCUDA", "Numba", "NVRTC", "profiles"} <= rows.keys()


@pytest.fixture
def toolkit(tmp_path):
    """toolkit(nvidia_cuda_nvcc="13.0.88", …): NVIDIA's packages as pip leaves them, with an nvcc that always fails."""

    def make(**versions: str) -> str:
        nvcc = tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text("#!/bin/sh\nexit 1\n")
        nvcc.chmod(0o755)
        for package, version in versions.items():
            (tmp_path / "site" / f"{package}-{version}.dist-info").mkdir()
        return str(nvcc.parents[1])

    return make


def rows_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines())


def test_info_warns_of_packages_of_several_releases(softcuda, toolkit):
    mixed = toolkit(nvidia_cuda_nvcc="13.0.88", nvidia_cuda_cccl="13.0.85", nvidia_cuda_runtime="13.2.51")
    rows = rows_of(softcuda("info", SOFTCUDA="force", SOFTCUDA_TOOLKIT=mixed))
    assert rows["mixed packages"].startswith(f"nvidia-cuda-runtime 13.2.51 beside nvcc 13.0.88 in {mixed}: ")
    assert "; pip install nvidia-cuda-runtime==13.0.88 (" in rows["mixed packages"]


def test_a_compilation_that_fails_names_packages_of_several_releases(softcuda, toolkit):
    mixed = toolkit(nvidia_cuda_nvcc="13.0.88", nvidia_cuda_runtime="13.2.51")
    (softcuda.folder / "kernel.cu").write_text("#include <cooperative_groups.h>\n")
    (softcuda.folder / "program.py").write_text(
        "import subprocess\nprint(subprocess.run(['nvcc', '-cubin', 'kernel.cu']).returncode)\n"
    )
    done = softcuda("run", "program.py", SOFTCUDA_QUIET="1", SOFTCUDA_TOOLKIT=mixed)
    assert done.stdout == "1\n"
    assert done.stderr.startswith("softcuda: mixed packages: nvidia-cuda-runtime 13.2.51 beside nvcc 13.0.88 in ")


def test_info_says_nothing_of_packages_of_one_release(softcuda, toolkit):
    alike = toolkit(nvidia_cuda_nvcc="13.0.88", nvidia_cuda_cccl="13.0.85", nvidia_cuda_runtime="13.0.88")
    assert "mixed packages" not in rows_of(softcuda("info", SOFTCUDA="force", SOFTCUDA_TOOLKIT=alike))


def test_info_says_that_numba_needs_nvrtc(softcuda, monkeypatch):
    monkeypatch.setattr(_toolkit, "versions", dict)
    monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert _cli.nvrtc() == "not installed; Numba and cuda.core need it: pip install nvidia-cuda-nvrtc==13.0.88"
    monkeypatch.setattr(_toolkit, "versions", lambda: {"nvidia-cuda-nvrtc": "13.0.88"})
    assert _cli.nvrtc() == "13.0.88"


def test_info_says_how_to_install_nvcc():
    assert _cli.compiler_version(None).startswith("not installed: pip install nvidia-cuda-nvcc==13.0.88 ")


def test_info_does_without_a_toolkit_that_is_not_there(softcuda):
    done = softcuda("info", SOFTCUDA="force", SOFTCUDA_TOOLKIT="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")


def no_library(name: str) -> None:
    raise OSError(f"{name}: cannot open shared object file")


def test_info_names_a_mistake_and_fails(softcuda):
    done = softcuda("info", SOFTCUDA_DEVICE="none", SOFTCUDA="force")
    assert done.returncode == 1
    assert "SOFTCUDA_DEVICE=none is not one of a100, b200, h200, rtx4090, rtx5090, t4" in done.stdout
