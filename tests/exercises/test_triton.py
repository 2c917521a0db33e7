"""Answers that are Triton kernels: what is refused, errors at the reader's lines, verdicts in Python's words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warpjudge import Budget, Exercise, ExerciseError, Judge, Programs, fence, triton_compiler, words

from warpbook.book import Book, BookError, here
from warpbook.exercises import commands, exercises

BOOK = here()
ONE = exercises.find(BOOK, "triton/vector-add")
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef add(x, y, out, n, BLOCK: tl.constexpr):\n"
needs_triton = pytest.mark.skipif(
    not triton_compiler.is_there(), reason="needs Triton, which `make setup-torch` installs"
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(keep_warm=False) as one:
        yield one


def kernel(body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return HEAD.replace("\n\n\n@", f"\n{before}\n\n@") + lines


def first(verdict: dict[str, Any]) -> tuple[str, str, int]:
    message = verdict["messages"][0]
    return verdict["verdict"], message["cause"], message["line"]


REFUSED = {
    "import os": ("import os\n" + kernel("pass"), "foreign-import", 1),
    "a statement": (kernel("pass", "open('/etc/passwd')"), "not-a-kernel", 3),
    "a call for a constant": (kernel("pass", "A = print(1)"), "not-a-kernel", 3),
    "an annotation that is called": (kernel("pass", "A: print(1) = 1"), "not-a-kernel", 3),
    "a parameter's annotation that is called": (kernel("pass").replace("(x,", "(x: print(1),"), "not-a-kernel", 6),
    "a function of Python": (kernel("pass", "def f(): return 1"), "not-a-kernel", 3),
    "another decorator": (kernel("pass", "@print\n@triton.jit\ndef f(): pass"), "not-a-kernel", 5),
    "a module of Triton's own": (kernel('tl.core.os.system("true")'), "foreign-name", 7),
    "what a module of Triton's imports": (kernel("tl.math.wraps(x)"), "foreign-name", 7),
    "a module as a value": (kernel("m = tl\nm.core"), "foreign-name", 7),
    "a function's globals": (kernel("tl.load.__globals__"), "foreign-name", 7),
    "the kernel's own parts": (kernel("add.fn.x"), "foreign-name", 7),
    "a builtin": (kernel("getattr(x, 'y')"), "foreign-name", 7),
    "__import__": (kernel("__import__('os')"), "foreign-name", 7),
    "an import within": (kernel("import os"), "construct", 7),
    "a lambda": (kernel("f = lambda: 0"), "construct", 7),
    "a syntax error": (kernel("tl.store("), "syntax", 7),
    "a name that Triton has not": (kernel("tl.lod(x)"), "no-such", 7),
    "another kernel": (kernel("pass").replace("def add", "def plus"), "no-kernel", 0),
    "other parameters": (kernel("pass").replace("BLOCK:", "SIZE:"), "signature", 6),
    "nothing": ("", "no-kernel", 0),
}


@needs_triton
def test_an_answer_holds_kernels_and_numbers_and_nothing_else(judge: Judge) -> None:
    verdicts = judge.all(ONE.folder, [source for source, _, _ in REFUSED.values()])
    found = dict(zip(REFUSED, map(first, verdicts), strict=True))
    assert found == {name: ("compile", cause, line) for name, (_, cause, line) in REFUSED.items()}


COMPILED = {
    "shapes that do not fit": (kernel("i = tl.arange(0, 32)\nz = i + tl.arange(0, 64)"), 8, "incompatible dimensions"),
    "a name that is not there": (kernel("i = tl.arange(0, 32)\ntl.store(out + i, zz)"), 8, "zz is not defined"),
    "no power of two": (kernel("i = tl.arange(0, 100)"), 7, "power of 2"),
    "a failed assertion": (kernel("tl.static_assert(BLOCK == 1)"), 7, ""),
}


@needs_triton
def test_tritons_errors_are_one_plain_message_at_the_readers_line(judge: Judge) -> None:
    verdicts = judge.all(ONE.folder, [source for source, _, _ in COMPILED.values()])
    for (name, (_, line, said)), verdict in zip(COMPILED.items(), verdicts, strict=True):
        [message] = verdict["messages"]
        assert (verdict["verdict"], message["line"]) == ("compile", line), (name, message)
        assert said in message["text"] and "\n" not in message["text"] and "^" not in message["text"], message


@needs_triton
def test_helpers_and_constants_of_the_answers_own_are_allowed_and_named_at_their_call(judge: Judge) -> None:
    before = "TWO = tl.constexpr(2)\nHALF = tl.constexpr(1 / 2)\n\n\n@triton.jit\ndef half(x):\n    return x * HALF"
    body = ONE.solution.partition("BLOCK: tl.constexpr):\n")[2].replace("total, mask", "half(total * TWO), mask")
    source = kernel("pass", before).replace("    pass\n", body)
    assert judge(ONE.folder, source)["verdict"] == "right"


@needs_triton
def test_a_run_shows_outputs_and_counters_of_python_lines(judge: Judge) -> None:
    verdict = judge(ONE.folder, ONE.solution, mode="run")
    [output] = verdict["outputs"]
    assert output["got"] == pytest.approx(output["expected"], rel=1e-6)
    source = ONE.solution.splitlines()
    loads = {row["line"] for row in verdict["lines"] if row["loads"]}
    assert loads and all("tl.load" in source[line - 1] for line in loads)


@needs_triton
def test_an_endless_loop_is_named_with_its_line(judge: Judge) -> None:
    body = (
        "i = tl.arange(0, BLOCK)\nz = 0.0\nwhile z < 1.0:\n    z += tl.load(x) * 0.0\ntl.store(out + i, z, mask=i < n)"
    )
    verdict = judge(ONE.folder, kernel(body))
    assert verdict["verdict"] == "endless" and {9, 10} & set(verdict["messages"][0]["lines"]), verdict["messages"]


@needs_triton
def test_what_was_compiled_is_kept(judge: Judge, tmp_path: Path) -> None:
    with Judge(keep_warm=False, cache=tmp_path) as one:
        assert one(ONE.folder, ONE.solution, seed=3)["verdict"] == "right"
        [kept] = tmp_path.glob("*.json")
        written = kept.stat().st_mtime_ns
        assert one(ONE.folder, ONE.solution, seed=3)["verdict"] == "right"
        assert kept.stat().st_mtime_ns == written


INSIDE = "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\ninside = i < n\n"
RIGHT = INSIDE + "tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)\n"
CHEATS = {
    "NaN everywhere": (INSIDE + "tl.store(out + i, float('nan'), mask=inside)", "nan"),
    "an input": (INSIDE + "tl.store(out + i, tl.load(x + i, mask=inside), mask=inside)", "input-copied"),
    "the input changed after use": (RIGHT + "tl.store(x + i, 1.5, mask=inside)", "input-changed"),
    "writing far outside": (RIGHT + "tl.store(out + (1 << 22), 1.0)", "out-of-bounds"),
    "listed sizes alone": (RIGHT.replace("i < n", "i < tl.where((n % 32 < 2) | (n % 32 > 30) | (n < 5), n, 0)"), ""),
    "a verdict that is printed": ("print('right')", "not-written"),
}


@needs_triton
def test_what_looks_like_a_result_and_is_none_is_wrong(judge: Judge) -> None:
    verdicts = judge.all(ONE.folder, [kernel(body) for body, _ in CHEATS.values()])
    for (name, (_, cause)), verdict in zip(CHEATS.items(), verdicts, strict=True):
        assert verdict["verdict"] == "wrong", (name, verdict["messages"])
        assert not cause or cause in [one["cause"] for one in verdict["messages"]], (name, verdict["messages"])


PEEK = """
import os, signal, socket, sys
from warpjudge import fence
folder, other, caller = sys.argv[1:]
print(fence.close([sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64"], [folder]))
def tries(what):
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return "done"
print(tries(lambda: open(os.path.join(folder, "own"), "w").close()))
print(tries(lambda: open(other).read()), tries(lambda: open(other, "w")), tries(lambda: os.listdir("/")))
print(tries(lambda: os.system("true")), tries(lambda: os.remove(other)))
print(tries(lambda: os.kill(int(caller), 0)), tries(lambda: socket.create_connection(("127.0.0.1", 9))))
"""


@pytest.mark.skipif(fence.version() < 6, reason="needs version 6 of Linux's Landlock")
def test_behind_the_fence_other_files_processes_and_connections_are_out_of_reach(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "other").write_text("kept")
    command = [sys.executable, "-c", PEEK, str(tmp_path / "own"), str(tmp_path / "other"), str(os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "done", *["PermissionError"] * 3, "done", *["PermissionError"] * 3], done
    assert (tmp_path / "other").read_text() == "kept"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPBENCH_PACKAGES", str(tmp_path / "nowhere"))
    if triton_compiler.is_there():
        pytest.skip("Triton is installed beside the book's own packages")


@pytest.mark.usefixtures("without")
def test_without_triton_one_line_says_how_to_get_it(judge: Judge, tmp_path: Path) -> None:
    verdict = judge(ONE.folder, ONE.solution)
    assert (verdict["verdict"], verdict["messages"][0]["cause"]) == ("failed", "no-triton")
    assert "`make setup-torch`" in verdict["messages"][0]["text"]
    with pytest.raises(BookError, match="make setup-torch") as refused:
        commands.judge_one(BOOK, ONE.name, tmp_path / "none.py", False, "en", False, None)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("without")
def test_without_triton_the_rest_is_judged(judge: Judge) -> None:
    other = exercises.find(BOOK, "memory-access/eight-per-thread")
    assert not other.lacks() and judge(other.folder, other.solution)["verdict"] == "right"


def exercise(**changes: Any) -> Exercise:
    usual: dict[str, Any] = {
        "kernel": "def f(x, out, n, BLOCK: tl.constexpr)",
        "types": "const float* x, float* out, int n",
        "sizes": [1],
        "inputs": lambda random, n: {"x": random.floats(n), "n": n},
        "reference": lambda x, n: {"out": x},
        "launch": lambda n: Programs(1, BLOCK=32),
    }
    return Exercise(**(usual | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kernel": "def f(x, out, n"}, 'write it as kernel="def add('),
        ({"types": "const float* x, int n"}, "give the parameters of def f(x, out, n, BLOCK: tl.constexpr)"),
        ({"types": "const float* x, float* out, __half n"}, "Triton's judge has no __half for n"),
    ],
)
def test_a_signature_that_is_none_is_said_so(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ExerciseError) as refused:
        exercise(**changes)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_each_kind_of_number_is_a_variant_and_the_most_general_comes_first() -> None:
    keys = triton_compiler.plan(exercise(), [(1,), (5,), (16,), (7,), (32,)])
    assert len(keys) == 3 and '"1"' in keys[-1]


def test_constants_that_the_signature_has_not_are_refused() -> None:
    with pytest.raises(ExerciseError, match="SIZE"):
        triton_compiler.plan(exercise(launch=lambda n: Programs(1, SIZE=4)), [(1,)])


def test_a_triton_exercise_has_python_files(write: Any, small: Book) -> None:
    shutil.copytree(ONE.folder, small.root / "exercises/triton/vector-add")
    one = exercises.find(small, "triton/vector-add")
    assert (one.suffix, one.language) == (".py", "python") and "# your code" in one.stub
    assert len(one.mistakes()) >= 5
    write("exercises/triton/vector-add/stub.py", one.stub.replace("    # your code\n", ""))
    with pytest.raises(BookError, match=r"stub\.py: mark what the reader writes with the lines `# your code`"):
        exercises.find(small, "triton/vector-add")


def test_sentences_for_triton_speak_of_no_threads() -> None:
    for cause, row in words.table()["triton"].items():
        assert "thread" not in row["en"] and "__" not in row["en"], cause
    assert Budget(at=1).limits() == {}
