"""Triton's tests run on softcuda whatever the machine has, with a cache of compiled kernels that the next run finds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SETTINGS = {
    "SOFTCUDA": "force",
    "SOFTCUDA_QUIET": "1",
    "TRITON_CACHE_DIR": str(ROOT / ".cache" / "triton" / "kernels"),
    "TRITON_DEFAULT_FP_FUSION": "1",  # what Triton does, and warns of where it is not said
}
os.environ |= SETTINGS
sys.path.insert(0, str(HERE))


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOFTCUDA_")}
    library = {name: os.environ[name] for name in ("SOFTCUDA_LIBRARY",) if name in os.environ}
    return kept | library | SETTINGS | changes


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """run("Python source", "command of softcuda", ..., NAME="value") runs it as program.py in a folder of its own."""

    def run(source: str, *command: str, **changes: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(source)
        words = ["-m", "softcuda", *command] if command else []
        return subprocess.run([sys.executable, *words, "program.py"], cwd=tmp_path, capture_output=True, text=True,
                              env=environment(**changes), timeout=200)  # fmt: skip

    run.folder = tmp_path
    return run
