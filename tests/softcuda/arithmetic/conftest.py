"""Builds the calculator, which runs one PTX instruction at a time, and hands it to the tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import native
import pytest
from background import background
from reference import Unsupported

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    lanes = [f"machine/lanes_{family}.cpp" for family in ("integer", "video", "float", "half", "compare", "convert")]
    objects = native.objects("machine/float_formats.cpp", "ptx/*.cpp", *lanes)
    have = [f"-DSOFTCUDA_HAVE_{level.upper()}" for level in native.levels() if level != "generic"]
    program = native.program(
        tmp_path_factory.mktemp("calculator") / "calculator", [HERE / "calculator.cpp"], *have, using=objects
    )
    with background([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


Run = Callable[..., list[list[int]]]


@pytest.fixture
def run(calculator: subprocess.Popen[str]) -> Run:
    """run("add.s32", "r4 r4 r4", a, b): what the destination holds afterwards, for as many values as a and b have.

    Operands of video instructions may be parts of registers (r4.b1, r4.h32) and, for vmad, negated (-r4).
    The first operand is the destination (`results` of its registers come back); values are register bits.  Each row of
    32 is run twice: with all lanes, and with some idle, which must keep the poison they held.  Every SIMD level of this
    CPU runs it, and must answer the same, so that the reference is computed once.
    """
    first, *others = native.levels()

    def ask_level(level: str, words: str) -> str:
        calculator.stdin.write(f"{level} {words}\n")
        calculator.stdin.flush()
        return calculator.stdout.readline().strip()

    def run(instruction: str, operands: str, *sources: Sequence[int], results: int = 1) -> list[list[int]]:
        kinds = operands.split()
        registers = [
            r.split(".")[0].strip("-")
            for word in kinds
            if word[0] in "rpv-"
            for r in word.split(":")[-1].split(",")
            if r != "_"
        ]
        assert len(registers) == results + len(sources), (registers, len(sources))
        count = next(len(s) for s, r in zip([*sources, []], [*registers[results:], "r"]) if r != "p")
        rows = -(-count // 32)
        poison = 0xCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD

        def ask(mask: int) -> list[list[int]]:
            words = [instruction, f"{mask:x}", str(rows), str(len(kinds)), *kinds]
            for k, register in enumerate(registers):
                if register == "p":
                    values = [poison & 0xFFFFFFFF] * rows if k < results else pack_bits(sources[k - results], rows)
                else:
                    bits = (1 << 8 * int(register[1:])) - 1
                    given = [poison] * count if k < results else list(sources[k - results])
                    values = [v & bits for v in given + [given[-1]] * (rows * 32 - count)]
                words += [f"{v:x}" for v in values]
            asked = " ".join(words)
            answer = ask_level(first, asked)
            for level in others:
                assert ask_level(level, asked) == answer, (instruction, f"{level} differs from {first}")
            if not answer.startswith("ok"):
                raise Unsupported(answer or "the calculator died")
            numbers = [int(word, 16) for word in answer.split()[1:]]
            columns, at = [], 0
            for register in registers:
                size = rows if register == "p" else rows * 32
                column = numbers[at : at + size]
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
