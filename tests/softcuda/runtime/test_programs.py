"""Programs in plain CUDA C++: compiled by `softcuda nvcc`, or by the commands that start them.

Compiled programs stay in the user's cache, so that a second run of these tests compiles nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import native
import pytest

HERE = Path(__file__).parent


def command(*words: str | Path, cwd: Path = HERE, **environment: str) -> subprocess.CompletedProcess[str]:
    """`softcuda WORDS...`, without the line that names the device."""
    clean = native.clean_environment() | {"SOFTCUDA_QUIET": "1"} | environment
    called = [sys.executable, "-m", "softcuda", *words]
    return subprocess.run(called, cwd=cwd, env=clean, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("name", ["memory", "streams", "kernels", "together"])
def test_program_checks_itself(name):
    done = command("run", f"{name}.cu")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize("device", ["t4", "b200"])
def test_it_is_compiled_for_the_device_that_softcuda_plays(device):
    done = command("run", "kernels.cu", SOFTCUDA_DEVICE=device)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_two_devices():
    done = command("run", "devices.cu", SOFTCUDA_DEVICES="2", SOFTCUDA_MEMORY="256M")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_arguments_output_and_exit_status_are_the_programs_own():
    done = command("run", "hello.cu")
    assert done.stdout == "".join(f"hello 7 from thread {thread}\n" for thread in range(3))
    assert done.returncode == 3
    assert done.stderr == ""


def test_a_program_that_does_not_wait_for_its_last_kernel_gets_a_line_on_what_is_lost():
    done = command("run", "hello.cu", "no waiting", SOFTCUDA_QUIET="")
    assert (done.returncode, done.stdout) == (0, "")
    assert "without cudaDeviceSynchronize()" in done.stderr


def test_errors_are_reported_as_the_runtime_does():
    done = command("run", "errors.cu", SOFTCUDA_QUIET="")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert "illegal address: kernel write(int*), block (0,0,0), thread (0,0,0)" in done.stderr
    assert "errors.cu:7" in done.stderr


def test_what_is_refused_says_so_once_and_by_name():
    done = command("run", "refused.cu", SOFTCUDA_QUIET="")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert done.stderr.splitlines()[1:] == [
        "softcuda: cudaGraphCreate: not supported (graphs and stream capture)",
        "softcuda: cudaStreamBeginCapture: not supported (graphs and stream capture)",
        "softcuda: cudaCreateTextureObject: not supported (textures and surfaces)",
    ]


# --- softcuda nvcc


def test_nvcc_makes_a_program_that_also_starts_by_itself(tmp_path):
    done = command("nvcc", "-arch=sm_80", "-O2", HERE / "hello.cu", "-o", "hello", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    alone = subprocess.run([tmp_path / "hello"], capture_output=True, text=True, env=native.clean_environment())
    assert (alone.returncode, alone.stdout.count("hello 7")) == (3, 3)
    assert command("run", "hello", cwd=tmp_path).returncode == 3
    assert "warp instructions" in command("profile", "./hello", cwd=tmp_path).stdout


def test_a_default_stream_of_each_thread(tmp_path):
    options = ["--default-stream", "per-thread", "-o", "streams"]
    done = command("nvcc", HERE / "streams.cu", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = command("run", "./streams", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_separate_compilation(tmp_path):
    for name in ("separate_main", "separate_other"):
        assert command("nvcc", "-dc", HERE / f"{name}.cu", cwd=tmp_path).returncode == 0
    done = command("nvcc", "separate_main.o", "separate_other.o", "-o", "separate", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = command("run", "separate", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


# --- profile, check, trace


def test_profile(tmp_path):
    file = tmp_path / "profile.json"
    done = command("profile", "--json", file, "hello.cu")
    assert done.returncode == 3
    [launch] = json.loads(file.read_text())
    assert (launch["name"], launch["grid"], launch["block"], launch["partial"]) == (
        "hello(int)",
        [1, 1, 1],
        [3, 1, 1],
        False,
    )
    assert launch["metrics"]["launch__registers_per_thread"] > 8  # ptxas' own count
    assert {line["line"] for line in launch["lines"]} == {3}


RACE = """
__global__ void race(int* out) {
    __shared__ int last;
    last = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) *out = last;
}
int main() {
    int* out;
    cudaMalloc(&out, 4);
    race<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}
"""


def test_check(tmp_path):
    (tmp_path / "race.cu").write_text(RACE)
    done = command("check", "race.cu", cwd=tmp_path)
    assert done.returncode == 1
    assert "race.cu:4" in done.stdout
    assert "race(int*)" in done.stdout


def test_trace(tmp_path):
    file = tmp_path / "trace.json"
    done = command("trace", "--kernel", "transpose", "--block", "1,0", "-o", file, "kernels.cu")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    trace = json.loads(file.read_text())
    assert (trace["complete"], trace["traced"], trace["block"]) == (True, [1, 0, 0], [32, 8, 1])


# --- the cache of `softcuda run hello.cu`


def test_it_is_compiled_again_when_it_or_a_header_changes(tmp_path):
    def outcome() -> tuple[int, int]:
        done = command("run", "main.cu", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
        return done.returncode, len(list((tmp_path / "cache" / "softcuda" / "programs").glob("*")))

    (tmp_path / "answer.h").write_text("#define ANSWER 4\n")
    (tmp_path / "main.cu").write_text('#include "answer.h"\nint main() { return ANSWER; }\n')
    assert outcome() == (4, 1)
    [program] = (tmp_path / "cache").glob("softcuda/programs/*/main")
    made = program.stat().st_mtime_ns
    assert outcome() == (4, 1)
    assert program.stat().st_mtime_ns == made
    (tmp_path / "answer.h").write_text("#define ANSWER 5\n")
    assert outcome() == (5, 1)


# --- what cannot be run, in one line


def test_a_source_that_does_not_compile(tmp_path):
    (tmp_path / "wrong.cu").write_text("__global__ void k() { undeclared = 1; }\nint main() {}\n")
    for name in ("run", "profile"):
        done = command(name, "wrong.cu", cwd=tmp_path)
        assert done.returncode != 0
        assert 'identifier "undeclared" is undefined' in done.stderr + done.stdout
        assert done.stderr.splitlines()[-1] == "softcuda: wrong.cu does not compile: nvcc's message stands above"


def test_a_source_without_main(tmp_path):
    (tmp_path / "kernel.cu").write_text("__global__ void k() {}\n")
    done = command("run", "kernel.cu", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "softcuda: kernel.cu does not compile: it has no main(): start its kernels from one"
    )


def test_a_program_whose_kernels_are_machine_code(tmp_path):
    from softcuda import _toolkit

    real = _toolkit.nvidia() / "bin" / "nvcc"
    folders = [f"-L{_toolkit.library().parent}", f"-L{_toolkit.nvidia() / 'lib'}"]
    made = [real, "-gencode=arch=compute_90,code=sm_90", HERE / "hello.cu", *folders]
    for runtime, message in (
        (
            "shared",
            "softcuda: the program's kernels are machine code for a GPU and no PTX: compile it with softcuda nvcc",
        ),
        (
            "static",
            "softcuda: program is linked with NVIDIA's static CUDA runtime, which wants NVIDIA's driver: compile it "
            "with softcuda nvcc",
        ),
    ):
        subprocess.run([*made, f"--cudart={runtime}", "-o", tmp_path / "program"], check=True, capture_output=True)
        done = command("run", "program", cwd=tmp_path, SOFTCUDA_QUIET="")
        assert done.returncode == 1
        assert message in done.stderr.splitlines()


def test_compressed_ptx(tmp_path):
    from softcuda import _toolkit

    real = _toolkit.nvidia() / "bin" / "nvcc"
    folders = [f"-L{_toolkit.library().parent}", f"-L{_toolkit.nvidia() / 'lib'}"]
    options = ["-gencode=arch=compute_90,code=compute_90", "--compress-mode=size", "--cudart=shared"]
    made = [real, *options, HERE / "kernels.cu", *folders, "-o", tmp_path / "program"]
    subprocess.run(made, check=True, capture_output=True)
    done = command("run", "program", cwd=tmp_path, SOFTCUDA_QUIET="")
    assert done.returncode == 1
    assert (
        "softcuda: the program's kernels are compressed PTX: compile it with softcuda nvcc" in done.stderr.splitlines()
    )


def test_no_place_for_compiled_programs(tmp_path):
    (tmp_path / "cache").write_text("a file\n")
    done = command("run", "hello.cu", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 1
    assert done.stderr.startswith("softcuda: there is no place for compiled programs: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_library_of_machine_code_is_named(tmp_path):
    done = command("nvcc", HERE / "hello.cu", "-lcublas", "-o", "hello", cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "softcuda: libcublas is machine code for GPUs, which softcuda cannot run: leave out what needs it"
    )


def test_a_program_that_may_not_be_executed(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes()[:4096])
    done = command("run", "program", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "softcuda: program may not be executed: chmod +x program\n")
