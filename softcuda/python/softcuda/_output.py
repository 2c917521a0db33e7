"""What the commands write: files (`--json FILE`, `-o FILE`) and standard output.  A failure gets one line."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path


def take_file(command: str, arguments: list[str]) -> tuple[Path, list[str]]:
    """The file that `--json FILE ...` names, and the arguments after it; ends with one line if it cannot be written."""
    if len(arguments) < 2:
        sys.exit(f"softcuda: {command} {arguments[0]} needs the name of a file")
    file = Path(arguments[1])
    if file.is_dir():
        sys.exit(f"softcuda: {command} {arguments[0]} needs the name of a file, and {file} is a folder")
    if not file.absolute().parent.is_dir():
        sys.exit(f"softcuda: there is no folder {file.absolute().parent} to write {file.name} in")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        sys.exit(f"softcuda: {file} cannot be written: permission denied")
    return file, arguments[2:]


def write(file: Path, text: str) -> bool:
    """Whole or not at all; false, and a line on stderr, if that fails."""
    new = None
    try:
        if file.absolute().is_relative_to("/dev") or (file.exists() and not file.is_file()):  # a device or a pipe
            with file.open("w") as out:
                out.write(text)
            return True
        target = file.resolve()
        new = target.with_name(f".{target.name}.{os.getpid()}")
        new.write_text(text)
        os.replace(new, target)
    except OSError as error:
        if new is not None:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
        print(f"softcuda: cannot write {file}: {error.strerror}", file=sys.stderr)
        return False
    return True


def write_json(file: Path, value: object) -> bool:
    return write(file, json.dumps(value, indent=1) + "\n")


def show(text: str) -> bool:
    """On standard output; false, and a line on stderr, if that fails."""
    try:
        print(text, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError):  # what is left in the buffer would be tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"softcuda: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return False
    return True
