"""The PTX parser against what nvcc writes: small cases, counts by an independent crude reader, and damaged modules."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import native
import pytest

from softcuda import _toolkit

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_120")


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parser")
    return native.program(folder / "parser_test", [HERE / "parser_test.cpp"], using=native.objects("ptx/*.cpp"))


def compile_to_ptx(source: Path, architecture: str, folder: Path) -> Path:
    """PTX of one CUDA file, by the nvcc of the Python packages."""
    toolkit = _toolkit.nvidia()
    assert toolkit, _toolkit.INSTALL
    output = folder / f"{source.stem}.{architecture}.ptx"
    nvcc = toolkit / "bin" / "nvcc"
    command = [nvcc, "-ptx", f"-arch={architecture}", "-lineinfo", "-std=c++17", source, "-o", output]
    subprocess.run(command, check=True, capture_output=True)
    return output


def crude_counts(text: str) -> tuple[int, int, int, int]:
    """Functions with a body, instructions, registers and labels, by taking the text apart with regular expressions."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\.section[^{]*\{[^}]*\}", "", text)
    functions = len(re.findall(r"\.(?:entry|func)\b[^;{]*\{", text))
    text = re.sub(r"\.(?:entry|func)\b[^;{]*(?=[;{])", "", text)
    registers = 0
    for declaration in re.findall(r"\.reg\b([^;]*);", text):
        lanes = {".v2": 2, ".v4": 4}
        width = next((count for name, count in lanes.items() if name in declaration), 1)
        names = re.sub(r"\.\w+", "", declaration).split(",")
        for name in names:
            counted = re.search(r"<(\d+)>", name)
            registers += width * (int(counted[1]) if counted else 1)
    text = re.sub(r"\.(loc|file|version|target|address_size)\b[^\n]*", "", text)
    text = re.sub(r"[\w$]+\s*:\s*\.(branchtargets|calltargets|callprototype)[^;]*;", "", text)
    labels = re.findall(r"(?<![\w$%:.])([A-Za-z_$][\w$]*)\s*:(?!:)", text)
    text = re.sub(r"(?<![\w$%:.])[A-Za-z_$][\w$]*\s*:(?!:)", "", text)
    # Braces of vectors hold names and commas only; those of scopes part statements.
    text = re.sub(r"\{([\w\s%$,.]*)\}", lambda m: m[0] if "\n\t." in m[1] else f"({m[1]})", text)
    statements = [part.strip() for part in re.split(r"[;{}]", text)]
    instructions = sum(1 for part in statements if re.match(r"(@!?[%\w$]+\s+)?[a-z]", part))
    return functions, instructions, registers, len(labels)


def test_cases(parser: Path) -> None:
    result = subprocess.run([parser, "cases"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", ["language", "warp", "inline_asm", "narrow"])
def test_counts_agree_with_a_crude_reader(parser: Path, tmp_path: Path, name: str, architecture: str) -> None:
    source = HERE / "cuda" / f"{name}.cu"
    ptx = compile_to_ptx(source, architecture, tmp_path)
    result = subprocess.run([parser, "count", ptx], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    found = tuple(int(value) for value in result.stdout.split("\t")[1:5])
    assert found == crude_counts(ptx.read_text())


def test_no_text_crashes_the_parser(tmp_path: Path) -> None:
    """Truncations, flipped bytes and repeated pieces under the sanitizers: only ptx::Error may come of it."""
    sources = [HERE / "parser_test.cpp", *sorted((native.SOURCE / "ptx").glob("*.cpp"))]
    program = native.program(
        tmp_path / "fuzz", sources, "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    )
    ptx = [compile_to_ptx(HERE / "cuda" / f"{name}.cu", "sm_90a", tmp_path) for name in ("inline_asm", "language")]
    result = subprocess.run([program, "cases"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    result = subprocess.run([program, "fuzz", "100", *ptx], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
