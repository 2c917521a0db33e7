"""The names of the settings in the environment; driver/settings.cpp knows the same, and what values they may have."""

from __future__ import annotations

import difflib
import os

NAMES = (
    "SOFTCUDA_BUILD",
    "SOFTCUDA_DEVICE",
    "SOFTCUDA_DEVICES",
    "SOFTCUDA_INSPECT",
    "SOFTCUDA_LIBRARY",
    "SOFTCUDA_MEMORY",
    "SOFTCUDA_PYTHON",
    "SOFTCUDA_QUIET",
    "SOFTCUDA_SEED",
    "SOFTCUDA_SIMD",
    "SOFTCUDA_THREADS",
    "SOFTCUDA_TIMEOUT",
    "SOFTCUDA_TOOLKIT",
    "SOFTCUDA_TRACE",
)


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """ "; did you mean …?" if one of `known` is near."""
    near = difflib.get_close_matches(word, known, 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def mistake() -> str:
    """What is wrong with the names, and with what this package reads itself; empty: nothing."""
    for name in os.environ:
        if name.startswith("SOFTCUDA_") and name not in NAMES:
            return f"{name} is no setting of softcuda's{did_you_mean(name, NAMES)}"
    if (wanted := os.environ.get("SOFTCUDA", "").lower()) not in ("", "auto", "force", "1", "0", "never"):
        return f"SOFTCUDA={wanted} is not one of force, 0, auto"
    if (quiet := os.environ.get("SOFTCUDA_QUIET", "")) not in ("", "0", "1"):
        return f"SOFTCUDA_QUIET={quiet} is not 0 or 1"
    return ""
