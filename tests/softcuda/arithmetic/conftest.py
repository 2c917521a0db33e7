"""Builds the calculator, which runs one PTX instruction at a time, and hands it to the tests."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "softcuda" / "src"
FAMILIES = ("integer", "float", "half", "compare", "convert")
FLAGS = ["-std=c++20", "-O2", "-ftree-vectorize", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", f"-I{SOURCE}"]
LEVEL_FLAGS = {"generic": [], "avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}


def levels() -> list[str]:
    """The SIMD levels that this CPU can run."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ["generic"]
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return ["generic"] + ["avx2"] * ("avx2" in flags and "fma" in flags) + ["avx512"] * ("avx512bw" in flags)


@pytest.fixture(scope="session")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> subprocess.Popen[str]:
    folder = Path(os.environ.get("SOFTCUDA_TEST_BUILD") or tmp_path_factory.mktemp("calculator"))
    names = levels()
    have = [f"-DSOFTCUDA_HAVE_{name.upper()}" for name in names if name != "generic"]
    jobs = [(path, [], folder / f"{path.stem}.o")
            for path in (HERE / "calculator.cpp", SOURCE / "machine/float_formats.cpp", SOURCE / "ptx/ast.cpp")]
    jobs += [(SOURCE / f"machine/lanes_{family}.cpp", [*LEVEL_FLAGS[name], f"-DSOFTCUDA_LEVEL={name}"], folder / f"{family}.{name}.o")
             for name in names for family in FAMILIES]

    def build(job: tuple[Path, list[str], Path]) -> None:
        source, extra, target = job
        newest = max(p.stat().st_mtime for p in [source, *SOURCE.glob("*/*.h")])
        if not target.exists() or target.stat().st_mtime < newest:
            subprocess.run(["g++", *FLAGS, *have, *extra, "-c", str(source), "-o", str(target)], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build, jobs))
    program = folder / "calculator"
    subprocess.run(["g++", "-o", str(program), *(str(target) for _, _, target in jobs)], check=True)
    process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.stdin.close()
    process.wait()


class Unsupported(Exception):
    """What the loader would say about the instruction."""


Run = Callable[..., list[list[int]]]


@pytest.fixture(params=levels())
def run(request: pytest.FixtureRequest, calculator: subprocess.Popen[str]) -> Run:
    """run("add.s32", "r4 r4 r4", a, b): what the destination holds afterwards, for as many values as a and b have.

    The first operand is the destination (`results` of its registers come back); values are register bits.  Each row of
    32 is run twice: with all lanes, and with some idle, which must keep the poison they held.
    """

    def run(instruction: str, operands: str, *sources: Sequence[int], results: int = 1) -> list[list[int]]:
        kinds = operands.split()
        registers = [r for word in kinds if word[0] in "rpv" for r in word.split(":")[-1].split(",") if r != "_"]
        assert len(registers) == results + len(sources), (registers, len(sources))
        count = next(len(s) for s, r in zip([*sources, []], registers[results:] + ["r"]) if r != "p")
        rows = -(-count // 32)
        poison = 0xCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD

        def ask(mask: int) -> list[list[int]]:
            words = [request.param, instruction, f"{mask:x}", str(rows), str(len(kinds)), *kinds]
            for k, register in enumerate(registers):
                if register == "p":
                    values = [poison & 0xFFFFFFFF] * rows if k < results else pack_bits(sources[k - results], rows)
                else:
                    bits = (1 << 8 * int(register[1:])) - 1
                    given = [poison] * count if k < results else list(sources[k - results])
                    values = [v & bits for v in given + [given[-1]] * (rows * 32 - count)]
                words += [f"{v:x}" for v in values]
            calculator.stdin.write(" ".join(words) + "\n")
            calculator.stdin.flush()
            answer = calculator.stdout.readline().strip()
            if not answer.startswith("ok"):
                raise Unsupported(answer or "the calculator died")
            numbers = [int(word, 16) for word in answer.split()[1:]]
            columns, at = [], 0
            for register in registers:
                size = rows if register == "p" else rows * 32
                column = numbers[at:at + size]
                columns.append([v >> i & 1 for v in column for i in range(32)] if register == "p" else column)
                at += size
            return columns[:results]

        full, some = ask(0xFFFFFFFF), ask(0x5A5A0FF1)
        for register, all_lanes, some_lanes in zip(registers, full, some):
            bits = 1 if register == "p" else (1 << 8 * int(register[1:])) - 1
            for i, (value, masked) in enumerate(zip(all_lanes, some_lanes)):
                active = 0x5A5A0FF1 >> i % 32 & 1
                idle = 0xCDCDCDCD >> i % 32 & 1 if register == "p" else poison & bits
                assert masked == (value if active else idle), (instruction, i, hex(value), hex(masked))
        return [column[:count] for column in full]

    return run


def pack_bits(bits: Sequence[int], rows: int) -> list[int]:
    padded = [*bits, *[0] * (rows * 32 - len(bits))]
    return [sum(bool(padded[row * 32 + i]) << i for i in range(32)) for row in range(rows)]
