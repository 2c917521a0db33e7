"""Answers that do not compute the result, and try to look as if they did: each on three exercises."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warpjudge import Judge, Random, load
from warpjudge.compiler import forbidden_includes

from warpbook.book import here
from warpbook.exercises import exercises


@dataclass(frozen=True)
class Target:
    """An exercise, its array names, and expressions of C++ for the sizes."""

    name: str
    read: str
    written: str
    length: str  # elements of the output
    is_size: str  # true at the size {}
    thread: str = "(blockIdx.x * blockDim.x + threadIdx.x)"


TARGETS = [
    Target("memory-access/eight-per-thread", "x", "y", "n", "n == {0}"),
    Target("reduction/shuffle-sum", "data", "out", "gridDim.x", "n == {0}"),
    Target(
        "thread-organisation/add-bias",
        "a",
        "out",
        "rows * cols",
        "rows == {0} && cols == {1}",
        "((blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.y * 32 + threadIdx.x)",
    ),
]
STRIDED = "for (int e = {thread}; e < {length}; e += gridDim.x * gridDim.y * blockDim.x * blockDim.y)"
CAUGHT = {
    "nothing, in the hope of an earlier result": ("", ""),
    "NaN everywhere": ("", STRIDED + " {written}[e] = nanf(\"\");"),
    "zeros": ("", STRIDED + " {written}[e] = 0.0f;"),
    "the input": ("", STRIDED + " {written}[e] = {read}[e];"),
    "the first result once more": (
        "__device__ float kept[1 << 16]; __device__ int used;",
        "if (used) {{ " + STRIDED + " {written}[e] = kept[e]; return; }} {right} __threadfence(); "
        "if ({thread} == 0) {{ for (int e = 0; e < {length}; ++e) kept[e] = {written}[e]; used = 1; }}",
    ),
    "the input changed after use": ("", "{right} if ({thread} == 0) (({plain}*){read})[0] = 12345.0f;"),
    "writing far outside": ("", "{right} if ({thread} == 0) {written}[1 << 22] = 1.0f;"),
    "writing into the neighbour": ("", "{right} if ({thread} == 0) {written}[-1024] = 1.0f;"),
    "a verdict that is printed": (
        "#include <cstdio>",
        'if ({thread} == 0) printf("{{\\"verdict\\": \\"right\\", \\"messages\\": []}}\\n");',
    ),
    "a trap": ("", '{right} asm("trap;");'),
    "no end": ("", "{right} for (volatile int z = 0; z >= 0; z = 0) {{}}"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(keep_warm=False) as one:
        yield one


def body_of(solution: str) -> str:
    return solution.partition(exercises.BEGIN + "\n")[2].rpartition(exercises.END)[0]


def answer(target: Target, before: str, body: str, **more: str) -> str:
    """The exercise's kernel with another body; {right} in it is the solution's."""
    exercise = exercises.find(here(), target.name)
    head = next(line for line in exercise.solution.splitlines() if "__global__" in line)
    words = {"read": target.read, "written": target.written, "length": target.length, "thread": target.thread}
    filled = body.format(**words, right="{" + body_of(exercise.solution) + "}", plain="float", **more)
    return f"{before}\n{head}\n{filled}\n}}\n"


def judged(judge: Judge, target: Target, source: str) -> dict[str, Any]:
    return judge(exercises.find(here(), target.name).folder, source)


@pytest.mark.parametrize("cheat", CAUGHT)
@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_it_is_not_right(judge: Judge, target: Target, cheat: str) -> None:
    verdict = judged(judge, target, answer(target, *CAUGHT[cheat]))
    assert verdict["verdict"] in ("endless",) if cheat == "no end" else verdict["verdict"] == "wrong", verdict
    assert verdict["messages"][0]["text"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_the_listed_sizes_alone_are_not_enough(judge: Judge, target: Target) -> None:
    declared = load(exercises.find(here(), target.name).folder)
    sizes = [one if isinstance(one, tuple) else (one,) for one in (*declared.sizes, declared.budget.at)]  # type: ignore[union-attr]
    listed = " || ".join(f"({target.is_size.format(*size)})" for size in sizes)
    verdict = judged(judge, target, answer(target, "", "if ({listed}) {right}", listed=listed))
    assert verdict["verdict"] == "wrong", verdict


@pytest.mark.parametrize("target", TARGETS[::2], ids=lambda one: one.name)
def test_fast_at_the_budgets_size_alone_is_slow(judge: Judge, target: Target) -> None:
    exercise = exercises.find(here(), target.name)
    at = load(exercise.folder).budget.at  # type: ignore[union-attr]
    is_size = target.is_size.format(*(at if isinstance(at, tuple) else (at,)))
    slow = next(body_of(mark(one.source)) for one in exercise.mistakes() if one.verdict == "slow")
    source = answer(target, "", "if ({is_size}) {right} else {{ {slow} }}", is_size=is_size, slow=slow)
    assert judged(judge, target, source)["verdict"] == "slow"


def mark(source: str) -> str:
    """A whole program with its kernel's body marked as an answer is."""
    head, brace, rest = source.partition(") {\n")
    return f"{head}{brace}{exercises.BEGIN}\n{rest.rpartition('}')[0]}{exercises.END}\n}}\n"


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "line",
    [
        '#include "{path}"',
        "#include <{path}>",
        '#define SOLVED "{path}"\n#include SOLVED',
        '#\\\ninclude "{path}"',
        'constexpr char text[] = "/*";\n#include "{path}" // */',
        'constexpr char text[] = R"x(" /* )x";\n#include "{path}" // */',
        '/* */ # /* " */ include "{path}"',
        '#\finclude "{path}"',
        '#inc\\ \nlude "{path}"',
        '//\r#include "{path}"',
        """constexpr int one = 1'0; constexpr char text[] = "a' /*";\n#include "{path}" // */""",
        "constexpr int a·1 = 0; constexpr int two[] = {{'x', ' /* '}};\n#include \"{path}\" // */",
    ],
)
def test_the_solution_is_not_included(judge: Judge, target: Target, line: str) -> None:
    path = exercises.find(here(), target.name).folder / "solution.cu"
    verdict = judged(judge, target, line.format(path=path))
    assert (verdict["verdict"], verdict["messages"][0]["cause"]) == ("compile", "include")


@pytest.mark.parametrize(
    "line",
    [
        "#include <cuda_fp16.h> // half",
        "#include <cooperative_groups/reduce.h>\r\n",
        "#include <cstdio> /* printf */",
        '// #include "mine.h"',
        '/* before:\n#include "mine.h"\n*/',
        "constexpr int n = 1'000'000; // \"#include\"",
        'constexpr char text[] = R"(\n#include <cstdio>\n)";',
    ],
)
def test_headers_of_the_toolkit_and_comments_are_allowed(line: str) -> None:
    assert forbidden_includes(f"{line}\n__global__ void f() {{}}\n") == []


def test_includes_are_found_quickly_in_any_source() -> None:
    start = time.process_time()
    for source in ("#" + "/**/" * 15000 + 'x R"', '#R"' * 20000, "'" * 60000, "1'" * 30000, "#" + " " * 60000 + 'R"'):
        forbidden_includes(source)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: one.name)
def test_host_code_does_not_run(judge: Judge, target: Target, tmp_path: Path) -> None:
    mark_file = tmp_path / "host-code-ran"
    before = f'#include <cstdlib>\nstatic int ran = system("touch {mark_file}");'
    verdict = judged(judge, target, answer(target, before, "{right}"))
    assert verdict["verdict"] == "right", verdict
    assert not mark_file.exists()


def test_every_judgement_has_fresh_inputs_and_a_seed_repeats_them() -> None:
    exercise = load(exercises.find(here(), TARGETS[0].name).folder)
    first, again, other = (exercise.make(Random(seed), (50,))[0]["x"].tobytes() for seed in (1, 1, 2))
    assert first == again != other
