"""The import hook leaves a real driver in charge, and takes over when there is none.

Drivers are tiny libraries made here: every cu* function that PyCUDA's extension module imports, answering one code.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import native
import pytest

from softcuda import _toolkit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("pycuda") is None, reason="PyCUDA is not installed"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="makes its drivers with gcc: apt-get install gcc"),
]

PROGRAM = """
import os, pycuda.driver as driver
driver.init()
print(driver.Device(0).name(), "|", os.environ["PATH"])
"""


def driver_symbols() -> set[str]:
    """The cu* functions that PyCUDA's extension module leaves undefined."""
    (extension,) = Path(importlib.util.find_spec("pycuda").origin).parent.glob("_driver*.so")
    listing = subprocess.run(["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True)
    return set(re.findall(r" (cu[A-Z]\w*)", listing.stdout))


@pytest.fixture(scope="session")
def make_driver(tmp_path_factory):
    """make_driver("Name", devices=1, init=0) -> the folder of a libcuda.so.1."""

    def make(name: str, devices: int = 1, init: int = 0) -> Path:
        bodies = {
            "cuInit": 'int cuInit(unsigned flags) { const char *log = getenv("CUINIT_LOG"); if (log) {'
            ' FILE *f = fopen(log, "a"); fprintf(f, "%d\\n", getpid()); fclose(f); }'
            f" return {init}; }}",
            "cuGetErrorName": 'int cuGetErrorName(int code, const char **s) { *s = "CUDA_ERROR_NO_DEVICE"; return 0; }',
            "cuGetErrorString": 'int cuGetErrorString(int code, const char **s) { *s = "no device"; return 0; }',
            "cuDeviceGetCount": f"int cuDeviceGetCount(int *n) {{ *n = {devices}; return 0; }}",
            "cuDeviceGet": "int cuDeviceGet(int *d, int n) { *d = n; return 0; }",
            "cuDeviceGetName": f'int cuDeviceGetName(char *s, int n, int d) {{ strncpy(s, "{name}", n); return 0; }}',
            "cuDriverGetVersion": "int cuDriverGetVersion(int *v) { *v = 13000; return 0; }",
        }
        others = [f"int {symbol}() {{ return 3; }}" for symbol in sorted(driver_symbols() - set(bodies))]
        includes = [f"#include <{header}.h>" for header in ("stdio", "stdlib", "string", "unistd")]
        folder = tmp_path_factory.mktemp("driver")
        (folder / "driver.c").write_text("\n".join([*includes, *bodies.values(), *others]))
        command = ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"]
        subprocess.run(command, cwd=folder, check=True)
        return folder

    return make


@pytest.fixture(scope="session")
def soft(make_driver):
    """A library in softcuda's place that says who it is."""
    return make_driver("soft") / "libcuda.so.1"


@pytest.fixture
def run(soft):
    """Run a program with `soft` as softcuda's library and the given environment."""

    def run(program: str = PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = native.clean_environment()
        clean.pop("LD_LIBRARY_PATH", None)
        clean["PATH"] = os.pathsep.join(
            entry for entry in clean["PATH"].split(os.pathsep) if entry != str(_toolkit.stand_in())
        )
        environment = {"SOFTCUDA_LIBRARY": str(soft), **environment}
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env={**clean, **environment}
        )

    return run


@pytest.fixture(scope="session")
def real(make_driver):
    return str(make_driver("real"))


@pytest.fixture(scope="session")
def no_device(make_driver):
    """A driver library on a machine without a device: softcuda's answer to every search, whatever this machine has."""
    return str(make_driver("idle", init=100))


def test_without_a_device_softcuda_is_loaded_and_says_so_in_one_line(run, no_device):
    done = run(LD_LIBRARY_PATH=no_device)
    assert done.returncode == 0, done.stderr
    name, path = done.stdout.split(" | ")
    assert name == "soft"
    assert path.split(os.pathsep)[0] == str(_toolkit.stand_in())
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("softcuda: no CUDA device (the NVIDIA driver's cuInit answered CUDA_ERROR_NO_DEVICE)")
    assert 'running on the CPU as "NVIDIA H200 (softcuda)"' in done.stderr


def test_a_driver_that_counts_no_device_is_no_device(run, make_driver):
    done = run(LD_LIBRARY_PATH=str(make_driver("empty", devices=0)))
    assert done.stdout.startswith("soft |")
    assert "the NVIDIA driver has no device" in done.stderr


def test_quiet(run, no_device):
    done = run(LD_LIBRARY_PATH=no_device, SOFTCUDA_QUIET="1")
    assert done.stdout.startswith("soft |")
    assert done.stderr == ""


def test_a_real_driver_is_never_shadowed(run, real):
    done = run(LD_LIBRARY_PATH=real)
    assert done.stdout.startswith("real |")
    assert done.stderr == ""
    assert str(_toolkit.stand_in()) not in done.stdout


def test_with_a_real_driver_a_child_of_a_softcuda_program_gets_its_nvcc_back(run, real):
    stand_in = str(_toolkit.stand_in())
    done = run(LD_LIBRARY_PATH=real, PATH=stand_in + os.pathsep + os.environ["PATH"])
    assert done.stdout.startswith("real |")
    assert stand_in not in done.stdout


@pytest.mark.skipif(_toolkit.nvidia() is None, reason="no NVIDIA compiler packages")
def test_with_a_real_driver_and_no_nvcc_the_packages_nvcc_comes_last_on_path(run, real, tmp_path):
    done = run(LD_LIBRARY_PATH=real, PATH=str(tmp_path))
    assert done.stdout.strip().endswith(f"{tmp_path}:{_toolkit.nvidia() / 'bin'}")


def test_force_takes_softcuda_over_a_real_driver(run, real):
    done = run(LD_LIBRARY_PATH=real, SOFTCUDA="force")
    assert done.stdout.startswith("soft |")
    assert done.stderr.startswith("softcuda: as asked (SOFTCUDA=force)")


def test_never_leaves_even_a_driver_without_device_alone(run, no_device):
    done = run(LD_LIBRARY_PATH=no_device, SOFTCUDA="0")
    assert done.returncode != 0
    assert "softcuda:" not in done.stderr
    assert "cuInit failed" in done.stderr


def test_softcuda_wins_over_a_useless_driver_that_is_already_loaded(run, no_device):
    loaded = "import ctypes; ctypes.CDLL('libcuda.so.1')\n"
    done = run(loaded + PROGRAM, LD_LIBRARY_PATH=no_device)
    assert done.stdout.startswith("soft |"), done.stderr


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SOFTCUDA": "maybe"}, "softcuda: SOFTCUDA=maybe is not one of force, 0, auto"),
        ({"SOFTCUDA_DEVICE": "h2000"}, "SOFTCUDA_DEVICE=h2000 is not one of a100, b200, h200, rtx4090, rtx5090, t4"),
        ({"SOFTCUDA_LIBRARY": "/nowhere/libcuda.so.1"}, "softcuda: cannot load its library: /nowhere/libcuda.so.1"),
    ],
)
def test_mistakes_end_the_import_with_one_clear_line(run, no_device, environment, message):
    done = run(LD_LIBRARY_PATH=no_device, **environment)
    assert done.returncode != 0
    assert message in done.stderr.splitlines()[-1]


# --- libraries that cannot use softcuda ------------------------------------------------------------------------------


@pytest.fixture
def libraries(tmp_path):
    """A folder with a torch and a cupy that only say so."""
    for name in ("torch", "cupy"):
        (tmp_path / f"{name}.py").write_text(f"print('{name}')\n")
    return str(tmp_path)


IMPORTS = "import torch, cupy, torch\ntry: import jax\nexcept ImportError: pass\n"


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="has an NVIDIA driver")
def test_libraries_with_kernels_of_their_own_get_a_sentence(run, no_device, libraries):
    done = run(IMPORTS, LD_LIBRARY_PATH=no_device, PYTHONPATH=libraries)
    assert done.stdout == "torch\ncupy\n"
    assert done.stderr.splitlines() == [
        f"softcuda: {name} brings machine code for GPUs and the CUDA runtime, which softcuda cannot run: "
        "it sees no CUDA device here"
        for name in ("PyTorch", "CuPy")
    ]


def test_libraries_get_no_sentence_beside_a_real_driver(run, real, libraries):
    assert run(IMPORTS, LD_LIBRARY_PATH=real, PYTHONPATH=libraries).stderr == ""


@pytest.mark.parametrize("setting", ["SOFTCUDA_QUIET=1", "SOFTCUDA=0"])
def test_libraries_get_no_sentence_where_none_is_wanted(run, no_device, libraries, setting):
    name, value = setting.split("=")
    assert run(IMPORTS, LD_LIBRARY_PATH=no_device, PYTHONPATH=libraries, **{name: value}).stderr == ""


# --- Triton, of which there is only its version here (tests/triton has the real one) ---------------------------------


@pytest.fixture
def triton(tmp_path):
    """triton("3.9.0"): a folder with that version."""

    def make(version: str) -> str:
        (tmp_path / "triton.py").write_text(f"__version__ = {version!r}\n")
        return str(tmp_path)

    return make


TRITON_VARIABLES = "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_LIBCUDA_PATH"
SHOW_VARIABLES = f"import os\nprint([os.environ.get(name) for name in {TRITON_VARIABLES}])\n"


def test_triton_finds_the_stand_ins_and_the_library(run, no_device, soft):
    done = run("import pycuda.driver\n" + SHOW_VARIABLES, LD_LIBRARY_PATH=no_device)
    tools = _toolkit.stand_in() / "ptxas", _toolkit.stand_in() / "ptxas-blackwell"
    assert done.stdout == f"{[*map(str, tools), str(soft.parent)]}\n"


def test_with_a_real_driver_triton_gets_its_own_tools_back(run, real, triton, soft):
    """Beside a GPU nothing of softcuda's is left, also in a child of a program on softcuda."""
    inherited = dict(
        zip(TRITON_VARIABLES, [str(_toolkit.stand_in() / "ptxas"), "/mine", str(soft.parent)], strict=True)
    )
    done = run("import triton\n" + SHOW_VARIABLES, LD_LIBRARY_PATH=real, PYTHONPATH=triton("3.9.0"), **inherited)
    assert (done.stdout, done.stderr) == ("[None, '/mine', None]\n", "")


OLD = "Triton 3.7.1 is too old: softcuda runs Triton 3.8 and newer: pip install 'triton>=3.8'"


def test_a_triton_that_is_too_old_finds_no_device_and_one_line_says_why(run, no_device, triton):
    done = run("import triton\nprint('goes on')", LD_LIBRARY_PATH=no_device, PYTHONPATH=triton("3.7.1"))
    assert (done.stdout, done.stderr) == ("goes on\n", f"softcuda: {OLD}\n")


def test_where_softcuda_is_asked_for_a_triton_that_is_too_old_ends_the_import(run, no_device, triton):
    done = run("import triton", LD_LIBRARY_PATH=no_device, PYTHONPATH=triton("3.7.1"), SOFTCUDA="force")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == f"softcuda._select.SelectError: softcuda: {OLD}"


def test_a_triton_that_has_become_another_is_one_line(run, no_device, triton):
    done = run("import triton", LD_LIBRARY_PATH=no_device, PYTHONPATH=triton("9.0.0"))
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert "softcuda: cannot give Triton 9.0.0 its driver (" in last
    assert last.endswith("; softcuda was tried with Triton 3.8.0 and 3.9.0")


def test_looking_whether_triton_is_there_chooses_nothing(run, no_device, triton):
    done = run("import importlib.util; print(importlib.util.find_spec('triton').name)", LD_LIBRARY_PATH=no_device,
               PYTHONPATH=triton("3.9.0"))  # fmt: skip
    assert (done.stdout, done.stderr) == ("triton\n", "")


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_workers_use_it_and_do_not_repeat_the_line(run, no_device, tmp_path, method):
    module = tmp_path / "work.py"
    module.write_text(
        "def work(_):\n    import pycuda.driver as driver\n    driver.init()\n    return driver.Device(0).name()\n"
        "if __name__ == '__main__':\n    import multiprocessing, pycuda.driver\n"
        f"    with multiprocessing.get_context('{method}').Pool(2) as pool: print(pool.map(work, range(2)))\n"
    )
    program = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(module)!r}]))"
    done = run(program, LD_LIBRARY_PATH=no_device)
    assert done.stdout.strip() == "['soft', 'soft']", done.stderr
    assert done.stderr.count("softcuda:") == 1


def test_a_start_imports_nothing_of_softcuda_and_survives_its_absence(run):
    done = run("import sys; print([name for name in sys.modules if name.split('.')[0] == 'softcuda'])")
    assert done.stdout.strip() == "[]"
    finders = run("import sys; print([finder.__name__ for finder in sys.meta_path if isinstance(finder, type)])")
    assert "SoftcudaFinder" in finders.stdout


@pytest.mark.skipif(_toolkit.library() is None, reason="softcuda's library is not built")
def test_the_library_has_all_that_pycuda_imports():
    listing = subprocess.run(["nm", "-D", "--defined-only", _toolkit.library()], capture_output=True, text=True)
    exported = set(re.findall(r" T (\w+)", listing.stdout))
    assert driver_symbols() - exported == set()
    assert not [symbol for symbol in exported if not symbol.startswith(("cu", "softcuda_"))]


def test_the_probe_asks_in_a_process_of_its_own(run, real, tmp_path):
    """A process that called cuInit cannot fork one that uses CUDA: the hook must not have called it."""
    log = tmp_path / "init.log"
    done = run("import os, pycuda.driver; print(os.getpid())", LD_LIBRARY_PATH=real, CUINIT_LOG=str(log))
    (caller,) = log.read_text().split()
    assert caller != done.stdout.strip()
