"""What the fuzzers have found worth keeping, once more on the ordinary build: nothing crashes, nothing hangs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import native
import pytest

from softcuda import _toolkit

HERE = Path(__file__).parent


@pytest.mark.parametrize("target", ["load", "launch"])
def test_ptx(tmp_path: Path, target: str) -> None:
    """Texts that are parsed, laid out and, if they have kernels, launched."""
    sources = [HERE / f"{target}.cpp", HERE / "replay.cpp"]
    program = native.program(tmp_path / target, sources, using=native.objects("ptx/*.cpp", "machine/*.cpp"))
    replay(program, target)


@pytest.mark.parametrize("target", ["link", "driver"])
def test_driver(tmp_path: Path, target: str) -> None:
    """Images for cuModuleLoad and cuLink; sequences of calls with handles that are valid, stale, null and garbage."""
    toolkit, library = _toolkit.nvidia(), _toolkit.library()
    assert toolkit and library
    sources = [HERE / f"{target}.cpp", HERE / "replay.cpp"]
    program = native.program(
        tmp_path / target, sources, f"-I{toolkit / 'include'}", f"-Wl,-rpath,{library.parent}", using=[library]
    )
    replay(program, target)


def replay(program: Path, target: str) -> None:
    inputs = sorted((HERE / "corpus" / target).iterdir())
    assert inputs
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SOFTCUDA_")}
    done = subprocess.run([program, *inputs], capture_output=True, text=True, timeout=250, env=clean)
    assert done.returncode == 0, f"exit code {done.returncode} after\n{done.stderr[-1000:]}"
