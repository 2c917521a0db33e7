"""Judge a CUDA or Triton kernel: right or wrong, why, at which line, and within its budget of counters.

docs/developers/exercises.md describes exercises and verdicts.  The judge needs NumPy, PyCUDA and softcuda, so that it
also works in a notebook away from the book.
"""

from warpjudge.exercise import (
    Budget,
    Cause,
    Exercise,
    ExerciseError,
    Failure,
    Launch,
    Programs,
    Random,
    Sizes,
    load,
    sizes,
    sizes_2d,
)
from warpjudge.judge import Judge

__all__ = [
    "Budget",
    "Cause",
    "Exercise",
    "ExerciseError",
    "Failure",
    "Judge",
    "Launch",
    "Programs",
    "Random",
    "Sizes",
    "load",
    "sizes",
    "sizes_2d",
]
