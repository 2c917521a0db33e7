"""However a program ends, the commands that watch it report what they have, and leave nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import native
import pytest

# Two launches that have ended; then comes what the test wants.
PROGRAM = """
import os, signal, sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

module = SourceModule('''
__global__ void add(int *a) { a[threadIdx.x] += 1; }
__global__ void spin(volatile int *a) { while (a[0]) a[1] += 1; }
''')
a = cuda.to_device(np.ones(32, np.int32))
for _ in range(2):
    module.get_function("add")(a, block=(32, 1, 1))
pycuda.autoinit.context.synchronize()
print("ran", flush=True)
"""
AGAIN = "module.get_function('add')(a, block=(32, 1, 1))\n"
COMMANDS = {
    "profile": ["profile", "--json", "out.json"],
    "check": ["check", "--json", "out.json"],
    "trace": ["trace", "--kernel", "add", "-o", "out.json"],
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run("profile", "more source") runs PROGRAM and more under the command."""

    def one(command: str, more: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(PROGRAM + more)
        settings = native.clean_environment() | {"SOFTCUDA_QUIET": "1", "TMPDIR": str(tmp_path)} | environment
        done = subprocess.run(
            [sys.executable, "-m", "softcuda", *COMMANDS[command], "program.py"],
            cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert list(tmp_path.glob("softcuda-*")) == [], "a temporary folder is left behind"
        return done

    return one


def kernels(tmp_path: Path) -> list[str]:
    return [launch["kernel"] for launch in json.loads((tmp_path / "out.json").read_text())]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("ending", "status", "why"),
    [
        ("os._exit(0)", 0, "os._exit or exec"),
        ("os._exit(3)", 3, "os._exit or exec"),
        ("os.execv(sys.executable, [sys.executable, '-c', 'print(1); raise SystemExit(4)'])", 4, "os._exit or exec"),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV, "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "SIGKILL"),
        ("os.abort()", -signal.SIGABRT, "SIGABRT"),
    ],
    ids=["exit0", "exit3", "exec", "segfault", "kill", "abort"],
)
def test_status_and_one_line(run: Run, tmp_path: Path, command: str, ending: str, status: int, why: str) -> None:
    done = run(command, ending)
    assert done.returncode == status, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("softcuda: the program")]
    assert len(lines) == 1 and f"the program did not end by itself ({why}): " in lines[0]
    report = json.loads((tmp_path / "out.json").read_text())
    if command == "profile":
        assert kernels(tmp_path) == ["add", "add"] and not any(launch["partial"] for launch in report)
    elif command == "check":
        assert report["partial"] is True


def test_a_program_that_ends_by_itself_gets_no_line(run: Run, tmp_path: Path) -> None:
    done = run("profile")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    assert kernels(tmp_path) == ["add", "add"]


def test_a_fork_changes_nothing(run: Run, tmp_path: Path) -> None:
    done = run("profile", "if os.fork() == 0: os._exit(5)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n5\n", "")
    assert kernels(tmp_path) == ["add", "add"]


def test_children_count_and_say_so_if_they_are_cut_off(run: Run, tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(PROGRAM + "os._exit(0)")
    done = run("profile", "import subprocess\nsubprocess.run([sys.executable, 'child.py'])\n")
    assert done.returncode == 0 and kernels(tmp_path) == ["add"] * 4
    assert "(one of its processes: os._exit, exec or a signal)" in done.stderr


def test_a_program_that_execs_itself_keeps_both_records(run: Run, tmp_path: Path) -> None:
    run("profile", "if 'again' not in sys.argv: os.execv(sys.executable, [sys.executable, 'program.py', 'again'])")
    assert kernels(tmp_path) == ["add"] * 4


def test_what_runs_when_the_process_is_killed_is_named(run: Run, tmp_path: Path) -> None:
    spin = "for _ in range(3): module.get_function('spin')(a, block=(32, 1, 1))\nimport time\ntime.sleep(1)\n"
    done = run("profile", spin + "os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -signal.SIGKILL
    assert "the profile has what ran until then, 1 launch cut short and 2 that never began" in done.stderr
    launches = json.loads((tmp_path / "out.json").read_text())
    assert [(launch["kernel"], launch["partial"]) for launch in launches] == [
        ("add", False), ("add", False), ("spin", True)
    ]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_temporary_folder_is_reported(run: Run, tmp_path: Path, command: str) -> None:
    """A limit on the size of files stands in for a full disk."""
    done = run(command, "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, -1))\n" + AGAIN)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith("softcuda: cannot record what kernels do, in ") and lines[0].endswith("File too large")
    assert lines[1].startswith("softcuda: the record of the program's kernels has a gap: ")
    assert (tmp_path / "out.json").is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_temporary_folder_at_all(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "sitecustomize.py").write_text("import tempfile\ntempfile._get_default_tempdir = lambda: '/nowhere'\n")
    done = run(command, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"softcuda: {command} cannot keep records in a temporary folder: ")
    assert done.stderr.count("\n") == 1


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_json_into_a_folder_is_refused_before_the_program_runs(tmp_path: Path, run: Run, command: str) -> None:
    (tmp_path / "out.json").mkdir()
    done = run(command)
    option = COMMANDS[command][-2]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"softcuda: {command} {option} needs the name of a file, and out.json is a folder\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line(tmp_path: Path, run: Run, command: str) -> None:
    (tmp_path / "out.json").symlink_to("/dev/full")
    done = run(command)
    assert done.returncode == 1
    assert done.stderr.endswith("softcuda: cannot write out.json: No space left on device\n")
    assert "Traceback" not in done.stderr and Path("/dev/full").is_char_device()


@pytest.mark.parametrize("arguments", [["profile", "program.py"], ["check", "program.py"], ["info"], ["--version"]])
def test_standard_output_that_is_full_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace('print("ran", flush=True)\n', ""))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "softcuda", *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE,
            env=native.clean_environment() | {"SOFTCUDA_QUIET": "1"}, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "softcuda: cannot write to standard output: No space left on device\n"


# --- threads that cannot be had ---------------------------------------------------------------------------------------

NO_THREADS = """
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>
extern "C" int threads_left = 1000;
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *data)
{
    if (threads_left-- <= 0)
        return EAGAIN;
    auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, how, work, data);
}
"""


@pytest.fixture(scope="module")
def no_threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "threads.cpp").write_text(NO_THREADS)
    library = folder / "threads.so"
    subprocess.run(["g++", "-shared", "-fPIC", folder / "threads.cpp", "-o", library, "-ldl"], check=True)
    return library


def test_an_engine_that_cannot_start_is_an_error_each_time(program, no_threads: Path) -> None:
    """And once threads can be had again, all goes on."""
    done = program(
        """
import ctypes
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
left = ctypes.c_int.in_dll(ctypes.CDLL(None), "threads_left")
kernel = SourceModule("__global__ void k(int *a) { a[blockIdx.x] = 7; }").get_function("k")
a = cuda.mem_alloc(64)
left.value = 0
for _ in range(2):
    try:
        kernel(a, block=(1, 1, 1), grid=(16, 1))
    except cuda.Error as error:
        print(error)
    pycuda.autoinit.context.synchronize()
left.value = 1  # for the engine, and none for the workers
kernel(a, block=(1, 1, 1), grid=(16, 1))
print(set(cuda.from_device(a, 16, np.int32)) == {7})
""",
        LD_PRELOAD=str(no_threads),
        SOFTCUDA_THREADS="4",
    )
    refused = "cuLaunchKernel failed: OS call failed or operation not supported on this OS\n"
    assert (done.returncode, done.stdout) == (0, refused * 2 + "True\n"), done.stderr


def test_an_engine_that_cannot_start_is_one_line(program, no_threads: Path) -> None:
    done = program(
        """
import ctypes
import pycuda.autoinit
import pycuda.driver as cuda
a = cuda.mem_alloc(64)
ctypes.c_int.in_dll(ctypes.CDLL(None), "threads_left").value = 0
try:
    cuda.memset_d8(a, 0, 64)
except cuda.Error as error:
    print(error)
""",
        LD_PRELOAD=str(no_threads),
        SOFTCUDA_QUIET="0",
    )
    said = [line for line in done.stderr.splitlines() if "thread" in line]
    assert said == ["softcuda: cannot start a thread for the device's work: Resource temporarily unavailable"]
    assert done.stdout.startswith("cuMemsetD8 failed: OS call failed")
