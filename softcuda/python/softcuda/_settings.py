"""The names of the settings in the environment; driver/settings.cpp knows the same, and what values they may have."""

from __future__ import annotations

import difflib
import os

PREFIX = "SOFTCUDA_"
NAMES = (
    "SOFTCUDA_BUILD",
    "SOFTCUDA_DEVICE",
    "SOFTCUDA_DEVICES",
    "SOFTCUDA_INSPECT",
    "SOFTCUDA_LIBRARY",
    "SOFTCUDA_MEMORY",
    "SOFTCUDA_OPTIMISE",
    "SOFTCUDA_PYTHON",
    "SOFTCUDA_QUIET",
    "SOFTCUDA_SEED",
    "SOFTCUDA_SIMD",
    "SOFTCUDA_THREADS",
    "SOFTCUDA_TIMEOUT",
    "SOFTCUDA_TOOLKIT",
    "SOFTCUDA_TRACE",
    "SOFTCUDA_TRITON",
)


def mistake() -> str:
    """What is wrong with the names, and with what this package reads itself; empty: nothing."""
    for name in os.environ:
        if name.startswith(PREFIX) and name not in NAMES:
            near = difflib.get_close_matches(
                name.removeprefix(PREFIX), [known.removeprefix(PREFIX) for known in NAMES], 1
            )
            hint = f"; did you mean {PREFIX}{near[0]}?" if near else ""
            return f"{name} is no setting of softcuda's{hint}"
    if (wanted := os.environ.get("SOFTCUDA", "").lower()) not in ("", "auto", "force", "1", "0", "never"):
        return f"SOFTCUDA={wanted} is not one of force, 0, auto"
    if (quiet := os.environ.get("SOFTCUDA_QUIET", "")) not in ("", "0", "1"):
        return f"SOFTCUDA_QUIET={quiet} is not 0 or 1"
    return ""
