"""The last step of the GitHub Action (action.yml): `softcuda check` on the command that a workflow gives.

The inputs come as environment variables, INPUT_COMMAND and so on; no shell sees them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path

from softcuda import _check, _sarif


def words_of(command: str) -> list[str]:
    """What `softcuda check` runs: `python -m pytest tests`, `pytest tests` and `-m pytest tests` are the same.

    ValueError: the command is none.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"the input `command` cannot be split into words ({error}): {command}") from None
    if words and re.fullmatch(r"python(3(\.\d+)?)?", words[0]):
        words = words[1:]
    if not words:
        raise ValueError("the input `command` names no program: write, for example, python -m pytest tests")
    if re.fullmatch(r"\w+", words[0]) and not Path(words[0]).exists() and importlib.util.find_spec(words[0]):
        words = ["-m", *words]
    return words


def options_of(sarif: str, strict: str) -> list[str]:
    """ValueError: an input has a value that it cannot have."""
    if strict not in ("true", "false", ""):
        raise ValueError(f"the input `strict` is true or false, not {strict}")
    if "\n" in sarif:
        raise ValueError("the input `sarif` is the name of a file, and has several lines")
    return ["--github", *(["--sarif", sarif] if sarif else []), *(["--strict"] if strict == "true" else [])]


def main() -> int:
    """The status of `softcuda check`; 1, with an annotation, if an input is wrong."""
    sarif = os.environ.get("INPUT_SARIF", "").strip()
    try:
        options = options_of(sarif, os.environ.get("INPUT_STRICT", ""))
        words = words_of(os.environ.get("INPUT_COMMAND", ""))
    except ValueError as error:
        print(_sarif.format_annotation("error", "softcuda action", str(error)))
        return 1
    if output := os.environ.get("GITHUB_OUTPUT"):
        with open(output, "a", encoding="utf-8") as file:
            file.write(f"sarif={sarif}\n")
    return _check.main([*options, *words])


if __name__ == "__main__":
    sys.exit(main())
