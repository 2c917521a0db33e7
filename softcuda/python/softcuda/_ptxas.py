"""The stand-in for Triton's ptxas: Triton's own does the whole work; only what it leaves behind differs.

Where a cubin is asked for, the output file holds the PTX that ptxas has just accepted, with the notes that _nvcc.py
describes, and the Python sources of the kernel: softcuda's driver executes PTX.  Triton keeps that file as it keeps
cubins, so a kernel goes through ptxas once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib

from softcuda import __version__, _nvcc

INLINE = re.compile(r"^[ \t]*// begin inline asm.*?^[ \t]*// end inline asm", re.MULTILINE | re.DOTALL)
LOCATION = re.compile(r"^[ \t]*\.loc[ \t][^\n]*\n", re.MULTILINE)
FILE = re.compile(r'^[ \t]*\.file[ \t]+\d+[ \t]+"([^"\n]*)"', re.MULTILINE)


def find_tool(name: str) -> str:
    """Triton's own `name`; without Triton, that of NVIDIA's Python packages."""
    folders = [os.environ.get("SOFTCUDA_TRITON", "")]
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "triton")
    folders = [os.path.join(folder, "backends", "nvidia", "bin") for folder in (*folders, beside) if folder]
    folders.append(os.path.join(os.environ.get("SOFTCUDA_TOOLKIT", ""), "bin"))
    for folder in folders:
        if os.access(path := os.path.join(folder, name), os.X_OK):
            return path
    _nvcc.fail(f"{name} belongs to Triton, which is not installed: pip install 'softcuda[triton]'")
    return ""


def identity(answer: str) -> str:
    """ptxas's own answer and a line of ours: Triton keys its cache with it, and these outputs are no cubins."""
    revision = 0
    for path in (__file__, _nvcc.__file__):
        with open(path, "rb") as own:
            revision = zlib.crc32(own.read(), revision)
    return f"{answer.rstrip()}\nsoftcuda {__version__}, PTX in place of cubins ({revision:08x})\n"


def drop_inline_lines(ptx: str) -> str:
    """Without the .loc inside inline assembly: LLVM counts its lines on from the line of the Python source."""
    return INLINE.sub(lambda match: LOCATION.sub("", match[0]), ptx)


def source_notes(ptx: str) -> list[str]:
    """The Python sources that the lines belong to, as far as they are there."""
    notes = []
    for path in dict.fromkeys(FILE.findall(ptx)):
        if not path.endswith(".py") or re.search(r"\s", path):  # a note is words
            continue
        try:
            with open(path, "rb") as source:
                notes.append(_nvcc.packed_note(path, source.read()))
        except OSError:
            continue
    return notes


def annotate(ptx: str, messages: str) -> str:
    """The PTX with what ptxas found out about its kernels (`messages`: from -v), and with their sources."""
    notes, _ = _nvcc.split_ptxas_info(messages)
    constant = f" constant={_nvcc.constant_bytes(ptx)}"
    known = [note + constant for note in notes.values()] + source_notes(ptx)
    return drop_inline_lines(ptx).rstrip("\0\n") + "\n\n" + "\n".join(known) + "\n"


def named_files(arguments: list[str]) -> tuple[str, str]:
    """The PTX file and the output file that a command line names; empty: none."""
    source = output = ""
    following = iter(arguments)
    for argument in following:
        if argument in ("-o", "--output-file"):
            output = next(following, "")
        elif argument.endswith(".ptx"):
            source = argument
    return source, output


def main() -> None:
    """`main NAME ARGUMENTS...`, as bin/ptxas and bin/ptxas-blackwell call it."""
    name, *arguments = sys.argv[1:]
    tool = find_tool(name)
    source, output = named_files(arguments)
    asked = {"--version", "-V"} & set(arguments)
    if not asked and not (source and output):
        os.execv(tool, [tool, *arguments])
    figures = [] if asked or {"-v", "--verbose"} & set(arguments) else ["-v"]
    done = subprocess.run([tool, *figures, *arguments], capture_output=True, text=True, errors="replace")
    if asked:
        sys.stdout.write(identity(done.stdout))
        return
    with open(source, errors="replace") as file:
        ptx = file.read()
    sys.stdout.write(done.stdout)
    messages = _nvcc.split_ptxas_info(done.stderr)[1] if figures else done.stderr
    sys.stderr.write(_nvcc.name_source(messages, ptx))
    if done.returncode:
        sys.exit(done.returncode)
    _nvcc.write(output, annotate(ptx, done.stderr))
