"""Files that the commands which inspect a program write: `--json FILE`, `-o FILE`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def take_file(command: str, arguments: list[str]) -> tuple[Path, list[str]]:
    """The file that `--json FILE ...` names, and the arguments after it; ends with one line if there is none."""
    if len(arguments) < 2:
        sys.exit(f"softcuda: {command} {arguments[0]} needs the name of a file")
    file = Path(arguments[1])
    if not file.absolute().parent.is_dir():
        sys.exit(f"softcuda: there is no folder {file.absolute().parent} to write {file.name} in")
    return file, arguments[2:]


def write(file: Path, text: str) -> None:
    """Whole or not at all."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_text(text)
    os.replace(new, file)


def write_json(file: Path, value: object) -> None:
    write(file, json.dumps(value, indent=1) + "\n")
