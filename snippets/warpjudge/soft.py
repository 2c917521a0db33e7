"""softcuda's modules; they are wanted late, since some of what imports this runs before anything slow is imported."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from warpjudge.exercise import ExerciseError


def part(name: str) -> Any:
    """The module softcuda.`name`."""
    try:
        return importlib.import_module(f"softcuda.{name}")
    except ImportError:
        raise ExerciseError("the judge needs softcuda, which is not installed; run `make setup`") from None


def records_in(folder: Path, marks: list[Any] | None = None) -> list[Any]:
    """softcuda's records of the processes that wrote into `folder`.

    `marks`: [[bytes, size], …]: what was written up to there was written at that size; each line then knows its `size`.
    """
    found = []
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_ctime):
        lines, written = [], 0
        for text in path.read_bytes().splitlines(keepends=True):
            written += len(text)
            try:
                line = json.loads(text)
            except ValueError:
                continue  # what was being written when the process was killed
            sizes = [size for end, size in marks or [] if written <= end]
            lines.append(line | ({"size": sizes[0]} if sizes and "kind" in line else {}))
        found.append(part("_child").Record(int(path.name.partition("-")[0]), lines))
    return found
