"""Compile an answer with Triton: PTX for softcuda in each variant that its launches need, or what Triton objects to.

Triton runs in a process of its own (triton_child.py), which ends when there is PTX. The reader's Python is there and
nowhere else: what launches kernels and compares their results reads the PTX alone.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpjudge import compiler
from warpjudge.compiler import Variant
from warpjudge.exercise import TRITON_NUMBERS, TRITON_TENSORS, Exercise, ExerciseError, Launch, Programs, Random, Size

NAME = "answer.py"  # what Triton calls the answer
PACKAGES = ".cache/torch/packages"  # where `make setup-torch` puts Triton, beside snippets/
TAG = 1  # raised when what is kept changes
CAPABILITY = 90
CPU_SECONDS = 60
MEMORY = 8 << 30
ALIGNED = 16  # bytes, and elements: a number that is a multiple of it is compiled as one
LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+))?")


def packages() -> Path:
    """Where `make setup-torch` puts Triton."""
    return Path(os.environ.get("WARPBENCH_PACKAGES") or Path(__file__).resolve().parents[2] / PACKAGES)


def folder_of_triton() -> str | None:
    """What to append to Python's path so that it finds Triton: nothing, or a folder; None where there is none."""
    spec = importlib.util.find_spec("triton")
    if spec and spec.origin:  # not snippets/triton, a folder of that name
        return ""
    folder = packages()
    return str(folder) if (folder / "triton" / "__init__.py").is_file() else None


def is_there() -> bool:
    return folder_of_triton() is not None


@dataclass
class Compiled:
    """Variants by their key, or why there are none."""

    variants: dict[str, Variant] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)  # {"cause", "line", "what"}
    timed_out: bool = False
    name: str = NAME

    def variant(self, exercise: Exercise, given: dict[str, Any], launch: Launch) -> Variant:
        found = self.variants.get(key_of(exercise, given, launch))
        if found is None:
            raise ExerciseError(f"{exercise.name}: whole numbers of inputs() must follow from the size alone")
        return found

    def lines_that(self, instruction: str) -> list[int]:
        """Lines of the answer with an instruction that begins so, "st.global" say."""
        found: list[int] = []
        for one in self.variants.values():
            files = {number for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', one.ptx, re.MULTILINE)
                     if os.path.basename(name) == NAME}  # fmt: skip
            line = 0
            for text in one.ptx.splitlines():
                text = text.strip()
                if at := LOCATION.match(text):
                    inner = int(at[2]) if at[1] in files else 0
                    line = inner or (int(at[4]) if at[3] in files else line)
                elif re.match(rf"(@!?%\w+\s+)?{re.escape(instruction)}", text) and line and line not in found:
                    found.append(line)
        return found


def kinds_of(exercise: Exercise, given: dict[str, Any]) -> dict[str, str]:
    """How Triton specialises each whole number: "1", "16" for a multiple of 16, or nothing."""
    found = {}
    for one in exercise.parameters:
        if not one.pointer and one.kind != "float":
            value = int(given[one.name])
            found[one.name] = "1" if value == 1 else str(ALIGNED) if value % ALIGNED == 0 else ""
    return found


def request(exercise: Exercise, given: dict[str, Any], launch: Launch) -> dict[str, Any]:
    """What is to be compiled for this launch."""
    if not isinstance(launch, Programs):
        raise ExerciseError(f"{exercise.name}: launch() must give Programs(…): its answer is a Triton kernel")
    if launch.constants.keys() != set(exercise.constants):
        raise ExerciseError(f"{exercise.name}: launch() gives {sorted(launch.constants)}, not {exercise.constants}")
    options = {"num_warps": launch.num_warps, "num_stages": launch.num_stages}
    return {"numbers": kinds_of(exercise, given), "constants": launch.constants, "options": options}


def key_of(exercise: Exercise, given: dict[str, Any], launch: Launch) -> str:
    return json.dumps(request(exercise, given, launch), sort_keys=True)


def plan(exercise: Exercise, sizes: list[Size]) -> list[str]:
    """The variants that launches at these sizes need, the most general first: it is what errors are best found in."""
    wanted: dict[str, None] = {}
    for size in sizes:
        given = exercise.inputs(Random(1), *size)
        wanted[key_of(exercise, given, exercise.launch(*size))] = None
    return sorted(wanted, key=lambda key: (list(json.loads(key)["numbers"].values()).count("1"), key))


class Compilation:
    """Triton at work on one answer, in `folder`; what was compiled before comes from `cache`."""

    def __init__(
        self, source: str, exercise: Exercise, sizes: list[Size], folder: Path, cache: Path | None, seconds: float
    ) -> None:
        home = folder_of_triton()
        assert home is not None
        self.exercise, self.folder, self.seconds = exercise, folder, seconds
        self.keys = plan(exercise, sizes)
        job = {
            "kernel": exercise.name,
            "parameters": [[one.name, self.type_of(one)] for one in exercise.parameters],
            "arguments": exercise.kernel.partition("(")[2].rpartition(")")[0],
            "variants": self.keys,
            "capability": CAPABILITY,
        }
        identity = f"{TAG} {home} {own_code()} {json.dumps(job)} {source}"
        self.kept = cache / f"{hashlib.sha256(identity.encode()).hexdigest()[:40]}.json" if cache else None
        self.process: subprocess.Popen[bytes] | None = None
        self.found = self._cached()
        if self.found is not None:
            return
        folder = self.folder = folder / "compile"  # all that the answer's process may write to
        folder.mkdir()
        (folder / NAME).write_text(source, "utf-8")
        (folder / "triton.json").write_text(json.dumps(job), "utf-8")
        paths = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH"), home])]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOFTCUDA", "TRITON"))}
        environment |= {"PYTHONPATH": os.pathsep.join(paths), "HOME": str(folder), "TMPDIR": str(folder)}
        environment |= {"TRITON_CACHE_DIR": str(folder / "triton"), "TRITON_DEFAULT_FP_FUSION": "1"}
        with open(folder / "triton.txt", "wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "warpjudge.triton_child"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                preexec_fn=_limits,
            )

    @staticmethod
    def type_of(one: Any) -> str:
        return f"*{TRITON_TENSORS[one.kind]}" if one.pointer else TRITON_NUMBERS[one.kind]

    def _cached(self) -> Compiled | None:
        try:
            return self._read(self.kept) if self.kept else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _read(self, path: Path) -> Compiled:
        found = json.loads(path.read_text("utf-8"))
        if found.get("errors"):
            return Compiled(errors=[dict(one) for one in found["errors"]])
        return Compiled({key: self._variant(key, found["variants"][key]) for key in self.keys})

    def _variant(self, key: str, one: dict[str, Any]) -> Variant:
        numbers = json.loads(key)["numbers"]
        names = tuple(each.name for each in self.exercise.parameters if numbers.get(each.name) != "1")
        entry = compiler.ENTRY.search(one["ptx"])
        if not entry:
            raise ValueError("no kernel")
        hidden = len(re.findall(r"\.param\b", entry[2])) - len(names)
        return Variant(one["ptx"], entry[1], names, int(one["shared"]), int(one["scratch"]), hidden)

    def wait(self) -> Compiled:
        if self.found is not None or self.process is None:
            return self.found or Compiled()
        try:
            self.process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return Compiled(timed_out=True)
        path = self.folder / "compiled.json"
        if not path.exists():
            said = (self.folder / "triton.txt").read_text("utf-8", "replace").strip().splitlines()
            if self.process.returncode < 0 or "MemoryError" in (said or [""])[-1]:
                return Compiled(timed_out=True)
            return Compiled(errors=[{"cause": "compiler", "line": 0, "what": (said or ["no message"])[-1]}])
        done = self._read(path)
        if self.kept and done.variants:
            compiler.keep(self.kept, path.read_text("utf-8"))
        return done


@functools.cache
def own_code() -> str:
    """Changes when the child does."""
    return hashlib.sha256(Path(__file__).with_name("triton_child.py").read_bytes()).hexdigest()[:12]


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
