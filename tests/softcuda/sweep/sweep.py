"""The corpus (*.cu here) through NVIDIA's compilers and softcuda: does every module load, and every check hold?

    python tests/softcuda/sweep/sweep.py                        13.0, as installed, for every architecture it knows
    python tests/softcuda/sweep/sweep.py --compilers all        12.9 (NVRTC) and 13.0 to 13.5, fetched into .cache/sweep
    python tests/softcuda/sweep/sweep.py --variants G,fast      other options: see VARIANTS in compilers.py
    python tests/softcuda/sweep/sweep.py --forms                add what was met to forms.txt

`make sweep` runs it for all compilers, and for all options of 13.0; header_forms.py before it reads the headers' own
assembly.  PTX is kept in .cache/sweep by what it was made of, so that a sweep that was cut off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from compilers import ARCHITECTURES, INSTALLED, RELEASES, VARIANTS, CompileError, Compiler
from execute import tests
from seen_forms import FORMS, forms_of, read_forms, write_forms

HERE = Path(__file__).resolve().parent
CORPUS = sorted(HERE.glob("*.cu"))


@dataclass
class Case:
    """One file as one compiler compiles it for one architecture, and what became of it."""

    compiler: Compiler
    architecture: str
    variant: str
    source: Path
    ptx: Path | None = None
    rejected: str = ""  # the compiler's words
    refused: str = ""  # softcuda's
    right: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.source.name}, {self.compiler.release}, sm_{self.architecture}{self.variant and ' -'}{self.variant}"
        )

    def compile(self) -> None:
        try:
            self.ptx = self.compiler.ptx(self.source, self.architecture, self.variant)
        except CompileError as error:
            self.rejected = str(error)

    @property
    def device(self) -> str:
        """The profile that runs it, as it runs what is for older devices; none runs sm_121, so only its forms count."""
        number = int(re.sub(r"\D", "", self.architecture))
        newest = {75: "t4", 89: "rtx4090", 90: "h200", 100: "b200", 120: "rtx5090"}
        return next((newest[n] for n in sorted(newest) if number <= n), "")

    @property
    def problem(self) -> str:
        """One line, or empty."""
        if self.rejected:
            return f"{self}: the compiler: {self.rejected.strip().splitlines()[0]}"
        if self.refused:
            return f"{self}: {self.refused}"
        return "; ".join(f"{self}: {name}: {why}" for name, why in self.wrong.items())


def cases(
    compilers: Iterable[Compiler], architectures: list[str], variants: list[str], files: list[Path]
) -> Iterator[Case]:
    for compiler in compilers:
        known = compiler.architectures()
        for architecture in architectures:
            if architecture not in known:
                continue
            for variant in variants:
                if variant == "O0" and compiler.nvrtc:
                    continue
                for source in files:
                    yield Case(compiler, architecture, variant, source)


def execute(device: str, group: list[Case]) -> None:
    """Run the modules of a device in one process; what kills the process is told of the case it died on."""
    left = list(group)
    while left:
        jobs = "\n".join(json.dumps({"ptx": str(case.ptx), "source": str(case.source)}) for case in left)
        settings = {"SOFTCUDA_DEVICE": device, "SOFTCUDA_QUIET": "1", "SOFTCUDA_MEMORY": "1G", "SOFTCUDA_TIMEOUT": "60"}
        command = [sys.executable, HERE / "execute.py"]
        done = subprocess.run(command, input=jobs, capture_output=True, text=True, env=os.environ | settings)
        answers = done.stdout.splitlines()
        for case, answer in zip(left, answers, strict=False):
            for key, value in json.loads(answer).items():
                setattr(case, key, value)
        if len(answers) < len(left):
            left[len(answers)].wrong["process"] = f"ended with {done.returncode}: {done.stderr[-500:]}"
        left = left[len(answers) + 1 :]


def run(all_cases: list[Case], jobs: int = 2) -> None:
    """Compile, `jobs` at a time, then execute, a process a device."""
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(Case.compile, all_cases))
        groups: dict[str, list[Case]] = {}
        for case in all_cases:
            if case.ptx and case.device:
                groups.setdefault(case.device, []).append(case)
        list(pool.map(lambda item: execute(*item), groups.items()))


def table(all_cases: list[Case]) -> str:
    rows: dict[str, list[Case]] = {}
    for case in all_cases:
        rows.setdefault(f"{case.compiler.version:24} sm_{case.architecture:5} {case.variant:9}", []).append(case)
    lines = [f"{'compiler':24} {'target':8} {'options':9} files loaded  tests  right"]
    for head, group in rows.items():
        loaded = [case for case in group if case.right or case.wrong]
        total = sum(len(tests(case.source.read_text())) for case in loaded)
        right = sum(len(case.right) for case in loaded)
        lines.append(f"{head} {len(group):5} {len(loaded):6} {total:6} {right:6}")
    return "\n".join(lines)


def listed(text: str, known: Iterable[str]) -> list[str]:
    if text == "all":
        return list(known)
    if unknown := set(text.split(",")) - set(known):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is none of {', '.join(known)}")
    return text.split(",")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", type=lambda text: listed(text, RELEASES), default=[INSTALLED])
    parser.add_argument("--architectures", type=lambda text: listed(text, ARCHITECTURES), default=list(ARCHITECTURES))
    parser.add_argument("--variants", type=lambda text: listed(text, VARIANTS), default=[""])
    parser.add_argument("--files", nargs="*", type=Path, default=CORPUS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--forms", action="store_true", help=f"add the forms that were met to {FORMS.name}")
    given = parser.parse_args()
    files = [HERE / path.name for path in given.files]
    found = list(cases(map(Compiler, given.compilers), given.architectures, given.variants, files))
    run(found, given.jobs)
    print(table(found))
    problems = [case.problem for case in found if case.problem]
    print(*problems, sep="\n")
    if given.forms:
        met = {form for case in found if case.ptx for form in forms_of(case.ptx.read_text())}
        write_forms(read_forms() | met)
        print(f"{FORMS.name}: {len(read_forms())} forms")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
