"""Triton's tests: `make test-triton`, which has Triton beside the packages of .venv."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import settings

os.environ |= settings.SETTINGS


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run("Python source", "command of softcuda", ..., NAME="value") runs it as program.py in a folder of its own."""

    def run(source: str, *command: str, **changes: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(source)
        words = ["-m", "softcuda", *command] if command else []
        return subprocess.run([sys.executable, *words, "program.py"], cwd=tmp_path, capture_output=True, text=True,
                              env=settings.environment(**changes), timeout=200)  # fmt: skip

    run.folder = tmp_path
    return run
