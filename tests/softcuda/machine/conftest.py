"""Builds the machine without the driver (ptx_run) and compiles kernels.cu, once a session."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import native
import pytest

HERE = Path(__file__).parent


@dataclass
class Done:
    """What one launch left behind."""

    buffers: list[list[float]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    assertions: list[str] = field(default_factory=list)
    fault: str = ""


@pytest.fixture(scope="session")
def ptx_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("ptx_run") / "ptx_run"
    return native.program(target, [HERE / "ptx_run.cpp"], using=native.objects("ptx/*.cpp", "machine/*.cpp"))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kernels.cu as PTX; without the compiler the tests are skipped."""
    from softcuda import _toolkit

    toolkit = _toolkit.nvidia()
    if toolkit is None:
        pytest.skip(f"no NVIDIA compiler packages: {_toolkit.INSTALL}")
    target = tmp_path_factory.mktemp("kernels") / "kernels.ptx"
    include = toolkit / "include" / "cccl"
    options = ["-ptx", "-arch=sm_90", "-lineinfo", "-w", f"-I{include}", "-o", str(target)]
    subprocess.run([str(toolkit / "bin" / "nvcc"), *options, "kernels.cu"], cwd=HERE, check=True)
    return target


Run = Callable[..., Done]


@pytest.fixture
def run(ptx_run: Path, kernels: Path) -> Run:
    """run("kernel", "buf:i32:4:zero", "i32:5", grid=2, block=32): launch it; collect buffers, printf and the fault."""

    def run(
        kernel: str, *arguments: str, ptx: Path | None = None, options: tuple[str, ...] = (), **settings: object
    ) -> Done:
        shape = {name: settings.pop(name) for name in ("grid", "block", "shared") if name in settings}
        command = [str(ptx_run), str(ptx or kernels), kernel, *options, *arguments]
        for name, value in shape.items():
            command += [f"--{name}", str(value)]
        environment = {f"SOFTCUDA_{name.upper()}": str(value) for name, value in settings.items()}
        asked = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)
        assert asked.returncode in (0, 1), asked.stderr
        done = Done(assertions=asked.stderr.splitlines())
        for line in asked.stdout.splitlines():
            if line.startswith("buffer "):
                done.buffers.append([float(word) for word in line.split(":")[1].split()])
            elif line.startswith("fault: "):
                done.fault = line.split(": ", 2)[2]
            elif done.fault:
                done.fault += "\n" + line
            else:
                done.printed.append(line)
        return done

    return run
