"""Compile an answer with nvcc: PTX for softcuda, or what nvcc objects to, at the reader's lines."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpjudge import soft
from warpjudge.exercise import Exercise, Launch

NAME = "answer.cu"  # what nvcc calls the answer
CPU_SECONDS = 30
MEMORY = 4 << 30
MOST_BYTES = 64 << 10  # of an answer
KEPT = 64  # compiled answers
TAG = 3  # raised when what is kept changes
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
ERROR = re.compile(rf"^{re.escape(NAME)}\((\d+)\): (?:fatal )?error(?: *#[\w-]+)?\s*:? ?(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Variant:
    """A kernel as it is launched. CUDA C++ has one; Triton compiles one for each kind of arguments."""

    ptx: str
    entry: str  # its name in the PTX
    names: tuple[str, ...]  # of the parameters that are handed on
    shared: int = 0  # bytes, dynamic
    scratch: int = 0  # bytes of global memory for each program
    hidden: int = 0  # pointers that Triton adds behind the parameters


@dataclass
class Compiled:
    """PTX, or why there is none."""

    ptx: str = ""
    errors: list[tuple[int, str]] = field(default_factory=list)  # (line, or 0, and nvcc's words)
    timed_out: bool = False
    name: str = NAME

    def variant(self, exercise: Exercise, given: dict[str, Any], launch: Launch) -> Variant:
        """The kernel that a launch with these arguments is of."""
        names = tuple(one.name for one in exercise.parameters)
        return Variant(self.ptx, self.kernel(exercise.name) or "", names, launch.shared)

    def entries(self) -> dict[str, list[str]]:
        """By mangled name of a kernel: the PTX types of its parameters."""
        return {
            name: re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", body) for name, body in ENTRY.findall(self.ptx)
        }

    def kernel(self, name: str) -> str | None:
        """The mangled name of the kernel `name`."""
        wanted = (name, f"_Z{len(name)}{name}")
        found = [one for one in self.entries() if one == name or one.startswith(wanted[1])]
        return found[0] if found else None

    def local_files(self) -> list[str]:
        """Files with code in the answer that neither are the answer nor belong to CUDA or to the host's compiler."""
        _toolkit = soft.part("_toolkit")
        toolkit = str(_toolkit.nvidia()) + "/"
        names = set(re.findall(r'^\s*\.file\s+\d+\s+"([^"]*)"', self.ptx, re.MULTILINE))
        return sorted(
            name
            for name in names
            if name != NAME and not os.path.realpath(name).startswith((os.path.realpath(toolkit), *SYSTEM))
        )

    def lines_that(self, instruction: str) -> list[int]:
        """Lines of the answer with an instruction that begins so, "st.global" say."""
        files = {number for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', self.ptx, re.MULTILINE)
                 if os.path.basename(name) == NAME}  # fmt: skip
        line, found = 0, []
        for text in self.ptx.splitlines():
            text = text.strip()
            if text.startswith(".loc"):
                _, file, number, *_ = text.split()
                line = int(number) if file in files else line
            elif re.match(rf"(@!?%\w+\s+)?{re.escape(instruction)}", text) and line and line not in found:
                found.append(line)
        return found


class Compilation:
    """nvcc at work on one answer, in `folder`; the PTX of an answer that was compiled before comes from `cache`."""

    def __init__(
        self, source: str, folder: Path, cache: Path | None, seconds: float = 20, architecture: str = "sm_90"
    ) -> None:
        _toolkit = soft.part("_toolkit")
        self.folder, self.seconds = folder, seconds
        nvcc = _toolkit.stand_in() / "nvcc"
        options = ["--cubin", f"-arch={architecture}", "-lineinfo"]
        identity = f"{TAG} {options} {_toolkit.nvidia()} {nvcc.stat().st_mtime_ns} {source}"
        self.kept = cache / f"{hashlib.sha256(identity.encode()).hexdigest()[:40]}.ptx" if cache else None
        self.process: subprocess.Popen[str] | None = None
        self.found = self._cached()
        if self.found is None:
            (folder / NAME).write_text(source, "utf-8")
            environment = os.environ | {"SOFTCUDA_PYTHON": sys.executable, "TMPDIR": str(folder)}
            if toolkit := _toolkit.nvidia():
                environment["SOFTCUDA_TOOLKIT"] = str(toolkit)
            self.process = subprocess.Popen(
                [str(nvcc), *options, "-o", "answer.ptx", NAME],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                preexec_fn=_limits,
            )

    def _cached(self) -> Compiled | None:
        try:
            return Compiled(self.kept.read_text("utf-8")) if self.kept else None
        except (OSError, ValueError):
            return None

    def wait(self) -> Compiled:
        if self.found is not None or self.process is None:
            return self.found or Compiled()
        try:
            said, _ = self.process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return Compiled(timed_out=True)
        if self.process.returncode:
            errors = [(int(line), words.strip()) for line, words in ERROR.findall(said)]
            if not errors and ("memory" in said or "Killed" in said or self.process.returncode < 0):
                return Compiled(timed_out=True)
            rest = [
                line.strip() for line in said.splitlines() if "error" in line or "fatal" in line
            ] or said.splitlines()
            return Compiled(errors=errors or [(0, line) for line in rest[:1]] or [(0, "no message")])
        ptx = (self.folder / "answer.ptx").read_text("utf-8", "replace")
        done = Compiled(ptx)
        if self.kept:
            keep(self.kept, ptx)
        return done


def keep(path: Path, text: str) -> None:
    """Write what was compiled to `path`; of its kind, the oldest beyond KEPT go."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, "utf-8")
        os.replace(temporary, path)
        old = sorted(path.parent.glob(f"*{path.suffix}"), key=lambda one: one.stat().st_mtime)
        for one in old[:-KEPT]:
            one.unlink(missing_ok=True)
    except OSError:
        return  # a disk that is full or read-only keeps nothing


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


_WORDS = r"(?:include(?:_next)?|import|embed)\b"
INCLUDE = re.compile(rf"^[^\S\n]*(?:#|%:|\?\?=)\s*{_WORDS}(.*)$", re.MULTILINE)
ANYWHERE = re.compile(rf"(?:#|%:|\?\?=)(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*{_WORDS}(.*)")
# What may hold a quotation mark or the sign of a comment that is none: in 1'000 no character begins.
TOKEN = re.compile(
    r"""(?<![\w$])\d\w*(?:'\w+)+|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)")
SPLICE = re.compile(r"\\[^\S\n]*\n")  # some compilers take a line for continued although blanks follow its backslash
# Raw strings, such blanks, carriage returns, letters beyond ASCII: where strings and comments end, compilers know.
UNCLEAR = re.compile(r"""R"|\r|\\[^\S\n]+\n|[^\x00-\x7f][\w$]*'""")
SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/")
ALLOWED = re.compile(r"<[\w.+-]+(?:/[\w.+-]+)*>")


def forbidden_includes(source: str) -> list[tuple[int, str]]:
    """(line, what) of each #include that is not `<…>` with a plain name: local files, absolute paths, macros.

    Where it is not clear what is a string and what a comment, those in strings and comments count, too.
    """
    source = source.replace("\r\n", "\n")
    text, pattern = SPLICE.sub("", source), ANYWHERE
    if not (UNCLEAR.search(source) or UNCLEAR.search(text)):
        text = TOKEN.sub(lambda m: " " + "\n" * m[0].count("\n") if m[0][0] == "/" else m[0], text)
        pattern = INCLUDE
    found = []
    for match in pattern.finditer(text):
        what = COMMENT.sub(" ", match[1]).strip()
        if not ALLOWED.fullmatch(what) or ".." in what:
            found.append((text.count("\n", 0, match.start(1)) + 1, what or "?"))
    return found
