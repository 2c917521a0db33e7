"""What the tests of the driver and of whole programs share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import native
import pytest


@pytest.fixture
def program(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """program("Python source", NAME="value") runs it in a process of its own."""

    def run(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(source)
        clean = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1"} | environment
        return subprocess.run([sys.executable, path], capture_output=True, text=True, env=clean, timeout=120)

    return run
