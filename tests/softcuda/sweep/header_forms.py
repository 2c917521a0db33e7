"""The forms of instructions in the inline assembly of CUDA's own headers: what a program can reach by calling them.

    python tests/softcuda/sweep/header_forms.py                     of 13.0, as installed: which does softcuda refuse?
    python tests/softcuda/sweep/header_forms.py --compilers all     of 13.0 to 13.5
    python tests/softcuda/sweep/header_forms.py --forms             add those that load to forms.txt

The corpus cannot call each of the thousands of overloads (cuda::ptx alone has 2,000), but inline assembly goes into PTX
as it is written: so the preprocessed headers are read, and each instruction becomes a form, its operands by constraint.
What softcuda refuses must be in refused.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import INSTALLED, RELEASES, Compiler
from seen_forms import FORMS, forms_of, module_of, read_forms, write_forms

HEADERS = """
    cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h cuda_fp4.h mma.h cuda_pipeline.h cuda_awbarrier.h
    cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h cooperative_groups/memcpy_async.h
    cuda/ptx cuda/atomic cuda/barrier cuda/pipeline cuda/latch cuda/semaphore cuda/annotated_ptr cuda/bit cuda/cmath
    cuda/functional cuda/numeric cuda/warp cuda/memory cuda/discard_memory cuda/work_stealing cuda/std/simd
    cuda/std/bit cuda/std/numeric cub/cub.cuh
"""
GENERATIONS = ("75", "80", "90a", "100a", "120a")  # the headers ask which of these it is

KINDS = {"r": "b32", "l": "b64", "h": "b16", "f": "f32", "d": "f64", "q": "b128"}
ASM = re.compile(r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
RAW_STRING = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)
HERE = Path(__file__).resolve().parent
REFUSED = HERE / "refused.txt"


def preprocessed(compiler: Compiler, architecture: str) -> str:
    """All HEADERS that this release has, as the compiler sees them for one architecture."""
    folders = [compiler.include, compiler.include / "cccl"]
    names = [name for name in HEADERS.split() if any((folder / name).is_file() for folder in folders)]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "headers.cu"
        source.write_text("".join(f"#include <{name}>\n" for name in names))
        nvcc = [compiler.folder / "bin" / "nvcc", "-E", f"-arch=compute_{architecture}", "-std=c++20", "-w"]
        command = [*nvcc, "-D_LIBCUDACXX_NO_HOST", *compiler.includes(), source]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pieces(text: str, start: int) -> tuple[str, list[str]]:
    """The text of the asm statement whose bracket opens before `start`, and the constraints of its operands."""
    parts: list[list[str]] = [[]]
    depth, at = 1, start
    while depth:
        if text[at] == '"':
            string = STRING.match(text, at)
            assert string, text[at : at + 80]
            if depth == 1:
                parts[-1].append(string.group(1))
            at = string.end()
            continue
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if text[at] == ":" and depth == 1:
            double = text[at + 1] == ":"  # `::`, no outputs
            parts += [[], []] if double else [[]]
            at += double
        at += 1
    assembly = "".join(parts[0]).encode().decode("unicode_escape")
    return assembly, [word for part in parts[1:3] for word in part]


def header_forms(text: str) -> set[str]:
    """All forms in preprocessed headers."""
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = RAW_STRING.sub(lambda raw: '"' + raw.group(2).replace("\n", "\\n").replace('"', '\\"') + '"', text)
    registers = "".join(f".reg .{kind} OPERAND_{letter}; " for letter, kind in KINDS.items())
    found: set[str] = set()
    for match in ASM.finditer(text):
        assembly, constraints = pieces(text, match.end())
        letters = [word.strip("=+&") for word in constraints]
        if not set(letters) <= {*KINDS, "n"} or not re.search(r"[.;]", assembly):
            continue  # of the host
        literal = "16" if "cp.async" in assembly else "32"

        def operand(number: re.Match[str], letters: list[str] = letters, literal: str = literal) -> str:
            letter = letters[int(number.group(1))]
            return literal if letter == "n" else f"OPERAND_{letter}"

        body = re.sub(r"%(\d+)", operand, assembly).replace("%%", "%").replace("%=", "")
        forms = forms_of(f".entry k()\n{{ {registers}\n{{ {body} ;\n}} }}")
        # A name that is declared nowhere here is a register of an asm statement before this one: the corpus has those.
        found |= {form for form in forms if "GLOBAL" not in form}
    return found


def read_refused() -> list[re.Pattern[str]]:
    lines = [line.split("#")[0].strip() for line in REFUSED.read_text().splitlines()]
    return [re.compile(line) for line in lines if line]


def on_purpose(form: str, patterns: list[re.Pattern[str]]) -> bool:
    return any(pattern.match(form) for pattern in patterns)


def answers(texts: list[str], device: str = "rtx5090") -> list[dict[str, object]]:
    """What softcuda says to each module, loaded by one process."""
    jobs = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    settings = os.environ | {"SOFTCUDA_DEVICE": device, "SOFTCUDA_QUIET": "1", "SOFTCUDA_MEMORY": "256M"}
    done = subprocess.run(
        [sys.executable, HERE / "execute.py"], input=jobs, capture_output=True, text=True, env=settings, timeout=300
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def refusals(forms: list[str]) -> dict[str, str]:
    """Of forms, each loaded on its own: what softcuda says to those that it refuses."""
    said = answers([module_of([form]) for form in forms])
    return {form: str(a["refused"]) for form, a in zip(forms, said, strict=True) if not a["loaded"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", default=INSTALLED, help=f"of {', '.join(RELEASES)}")
    parser.add_argument("--forms", action="store_true", help=f"add what loads to {FORMS.name}")
    given = parser.parse_args()
    found: set[str] = set()
    for release in RELEASES if given.compilers == "all" else given.compilers.split(","):
        compiler = Compiler(release)
        if compiler.nvrtc:  # it has no preprocessor of its own; 13.0's headers are little newer
            continue
        for architecture in GENERATIONS:
            found |= header_forms(preprocessed(compiler, architecture))
        print(f"headers of {release}: {len(found)} forms so far", flush=True)
    patterns, refused = read_refused(), refusals(sorted(found))
    surprises = {form: why for form, why in refused.items() if not on_purpose(form, patterns)}
    print(f"{len(found) - len(refused)} load, {len(refused) - len(surprises)} are refused on purpose")
    print(*(f"{form}: {why}" for form, why in surprises.items()), sep="\n")
    if given.forms:
        write_forms(read_forms() | (found - set(refused)))
        print(f"{FORMS.name}: {len(read_forms())} forms")
    return bool(surprises)


if __name__ == "__main__":
    sys.exit(main())
