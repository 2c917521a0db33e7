"""How Triton's tests run: on softcuda whatever the machine has, with a cache of kernels that the next run finds."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETTINGS = {
    "SOFTCUDA": "force",
    "SOFTCUDA_QUIET": "1",
    "TRITON_CACHE_DIR": str(HERE.parents[1] / ".cache" / "triton" / "kernels"),
    "TRITON_DEFAULT_FP_FUSION": "1",  # what Triton does, and warns of where it is not said
}


def environment(**changes: str) -> dict[str, str]:
    """For a program: without softcuda's settings of this process, but for the build that is tested."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOFTCUDA_")}
    library = {name: os.environ[name] for name in ("SOFTCUDA_LIBRARY",) if name in os.environ}
    return kept | library | SETTINGS | changes
