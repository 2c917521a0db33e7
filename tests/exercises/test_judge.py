"""The judge as a process: limits, stopping, what is left behind, errors at the reader's lines, two languages."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from background import background
from warpjudge import Budget, ExerciseError, Judge, counters, load, runs, words
from warpjudge.diagnose import where
from warpjudge.worker import Child, explain

from softcuda import _check, _sarif
from warpbook.book import here
from warpbook.exercises import exercises

BOOK = here()
ONE = exercises.find(BOOK, "memory-access/eight-per-thread")
HEAD = "__global__ void scale(const float* x, float* y, float a, int n) {\n"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(keep_warm=False) as one:
        yield one


def kernel(body: str) -> str:
    return f"{HEAD}{body}\n}}\n"


def until(holds: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether it came to hold."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def causes(verdict: dict[str, Any]) -> list[str]:
    return [one["cause"] for one in verdict["messages"]]


def test_a_compile_error_is_at_the_readers_line(judge: Judge) -> None:
    verdict = judge(ONE.folder, kernel("    int i = 0;\n    y[i] = z;"))
    [message] = verdict["messages"]
    assert (verdict["verdict"], message["line"]) == ("compile", 3)
    assert message["text"] == 'line 3: identifier "z" is undefined'


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("__global__ void other(float* y) {}", "no-kernel"),
        ("__global__ void scale(const float* x, float* y, int n) {}", "signature"),
        ("// " + "x" * (64 << 10), "too-long"),
        ("", "no-kernel"),
    ],
)
def test_what_is_no_answer_is_said_so(judge: Judge, source: str, cause: str) -> None:
    verdict = judge(ONE.folder, source)
    assert (verdict["verdict"], causes(verdict)) == ("compile", [cause])


def test_a_compiler_that_does_not_end_is_ended(judge: Judge) -> None:
    with Judge(keep_warm=False, compile_seconds=0.01) as impatient:
        assert causes(impatient(ONE.folder, ONE.solution)) == ["compile-time"]


def test_an_endless_loop_is_named_with_its_line(judge: Judge) -> None:
    verdict = judge(
        ONE.folder, kernel("    int i = 0;\n    while (n > 0)\n        i += (int)x[0] + (int)clock();\n    y[i] = 1;")
    )
    assert verdict["verdict"] == "endless"
    assert {3, 4} & set(verdict["messages"][0]["lines"]), verdict["messages"]


def test_what_is_printed_is_kept_up_to_a_limit(judge: Judge) -> None:
    flood = "#include <cstdio>\n" + kernel(
        '    for (int k = 0; k < 3000 && threadIdx.x + blockIdx.x == 0; ++k) printf("line %d of a flood\\n", k);'
    )
    verdict = judge(ONE.folder, flood)
    assert verdict["printed"].startswith("line 0 of a flood\n") and len(verdict["printed"]) <= 16 << 10


def test_state_that_is_kept_from_launch_to_launch_is_named(judge: Judge) -> None:
    exercise = exercises.find(BOOK, "reduction/shuffle-sum")
    source = exercise.solution.replace("__global__", "__device__ float before;\n__global__", 1).replace(
        "if (lane == 0) out[blockIdx.x] = x;",
        "if (lane == 0) { out[blockIdx.x] = x + before; __threadfence(); before = 1; }",
    )
    assert "state-kept" in causes(judge(exercise.folder, source))


def test_a_run_judges_nothing_and_shows_outputs_and_counters(judge: Judge) -> None:
    verdict = judge(ONE.folder, ONE.solution, mode="run")
    [output] = verdict["outputs"]
    assert output["name"] == "y" and output["got"] == pytest.approx(output["expected"], rel=1e-6)
    assert any(row["loads"] and row["sectors_per_request"] == 4 for row in verdict["lines"])


def test_a_run_out_of_bounds_says_so(judge: Judge) -> None:
    verdict = judge(ONE.folder, kernel("    y[1 << 20] = 1;"), mode="run")
    assert (verdict["verdict"], causes(verdict)) == ("wrong", ["out-of-bounds"])


def test_the_verdict_is_in_chinese_too(judge: Judge) -> None:
    [message] = judge(ONE.folder, ONE.stub, language="zh")["messages"]
    assert message["text"].endswith("核函数从未写过 y")


def test_one_seed_gives_one_verdict(judge: Judge) -> None:
    mistake = (ONE.folder / "mistakes" / "one-early.cu").read_text("utf-8")
    first, second = (judge(ONE.folder, mistake, seed=5) for _ in range(2))
    assert first["messages"] == second["messages"]


def test_a_verdict_takes_little_of_the_processor(judge: Judge) -> None:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def taken() -> float:
        before = used()
        judge(ONE.folder, ONE.solution)
        return used() - before

    best = min(taken() for _ in range(3))  # of a processor that others use as well
    assert best < 2, "seconds on two cores, imports and nvcc included"


def test_stop_ends_a_judgement_and_nothing_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    endless = kernel("    while (n > 0) y[0] = clock();")
    with Judge() as judge:
        taken = []
        for _ in range(3):  # where other work has the processors, seconds pass without any of this
            found: list[dict[str, Any]] = []
            thread = threading.Thread(target=lambda found=found: found.append(judge(ONE.folder, endless)))
            thread.start()
            assert until(lambda: any(tmp_path.glob("*/check")))
            start = time.monotonic()
            judge.stop()
            thread.join(60)
            taken.append(time.monotonic() - start)
            assert [one["verdict"] for one in found] == ["stopped"], "it went on to a verdict or to a time limit"
        assert min(taken) < 2
        assert judge(ONE.folder, ONE.stub)["verdict"] == "wrong", "the next judgement is not stopped"
    assert not list(tmp_path.iterdir())


def test_two_judges_do_not_disturb_each_other(judge: Judge) -> None:
    with Judge(keep_warm=False) as other:
        found: list[dict[str, Any]] = []
        thread = threading.Thread(
            target=lambda: found.append(other(ONE.folder, kernel("    while (n > 0) y[0] = clock();")))
        )
        thread.start()
        assert judge(ONE.folder, ONE.solution)["verdict"] == "right"
        other.stop()
        thread.join(10)
    assert found[0]["verdict"] == "stopped"


def test_nothing_outlives_a_caller_that_is_killed(tmp_path: Path) -> None:
    code = (
        f"from warpjudge import Judge\nwith Judge() as judge:\n    judge.warm_up()\n"
        f"    judge({str(ONE.folder)!r}, {kernel('while (n > 0) y[0] = clock();')!r})"
    )
    with background([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}) as caller:
        assert until(lambda: any(tmp_path.glob("*/check")))
        caller.kill()
        caller.wait()
    assert until(lambda: not list(tmp_path.iterdir())), "its folders go, and its processes with them"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "assign an Exercise(…) to the name `exercise`"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        (
            "from warpjudge import *\n"
            "exercise = Exercise(kernel='void f(vector x)', sizes=[1], inputs=0, reference=0, launch=0)",
            'cannot read "vector x"; the types are float, double',
        ),
    ],
)
def test_a_judge_py_that_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "judge.py").write_text(text, "utf-8")
    with pytest.raises(ExerciseError) as error:
        load(tmp_path)
    assert said in str(error.value) and str(error.value).startswith(str(tmp_path / "judge.py"))


@pytest.mark.parametrize(
    ("indices", "said"),
    [
        (range(10), "all of them"),
        ([9], "only the last one, 9"),
        ([3], "only element 3"),
        (range(4, 10), "every element from 4 on"),
        (range(2, 5), "elements 2 to 4"),
        (range(1, 10, 2), "one element in 2, from 1 on"),
        ([0, 1, 5], "3 elements, 0, 1, 5 among them"),
    ],
)
def test_a_pattern_is_described_as_a_reader_would(indices: list[int], said: str) -> None:
    assert words.where(where(indices, 10), "en") == said


def test_every_sentence_exists_in_both_languages_and_its_section_in_the_book() -> None:
    def texts(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for row in table.values():
            if isinstance(row, dict) and "en" in row:
                yield row
            elif isinstance(row, dict):
                yield from texts(row)

    rows = list(texts(words.table()))
    assert len(rows) > 60 and all(row.get("zh") for row in rows)
    for section in {row["section"] for row in rows if "section" in row}:
        article, _, anchor = section.partition("#")
        for language in ("en", "zh"):
            page = BOOK.page_of(article, language)
            assert page and f"#{anchor} }}" in page.read_text("utf-8"), section


def test_every_kind_of_finding_that_a_kernel_can_cause_has_words() -> None:
    """A kind of softcuda check, and what it may be if that has a hint of its own, so that no new one is forgotten."""
    of_no_kernel = {"leak", "timeout", "failure"}  # the program's; and what the causes does-not-end and fault are for
    worded_alike = {"race in one line", "writes in one line", "warp-synchronous in one line"}
    worded_alike |= {"uninitialised global", "uninitialised shared"}
    names = {"race between blocks": "race-blocks", "race in one instruction": "race-one-instruction"}
    due = {names.get(hint, hint).replace(" ", "-").lower() for hint in _check.HINTS.keys() - worded_alike}
    due |= _check.TITLES.keys() | _sarif.RULES.keys()
    assert due - of_no_kernel - words.table()["cause"].keys() == set()


OWN = """
import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch

def dot(random, n):
    return {"a": random.floats(n), "b": random.floats(n), "n": n}

def reference(a, b, n):
    return {"out": np.dot(a.astype(np.float64), b.astype(np.float64)).reshape(1)}

def negated(failure):
    if np.allclose(failure.got, -failure.want):
        text = {"en": "{name} has the wrong sign", "zh": "{name} 的符号反了"}
        return Cause("negated", {"name": failure.name}, text)

exercise = Exercise(
    kernel="void dot(const float* a, const float* b, float* out, int n)",
    sizes=[1, 2, 40],
    inputs=dot,
    reference=reference,
    launch=lambda n: Launch(grid=1, block=1),
    roundings=ROUNDINGS,
    scale=lambda a, b, n: {"out": np.abs(a.astype(np.float64) * b).sum().reshape(1)},
    causes=(negated,),
)
"""
SERIAL = """__global__ void dot(const float* a, const float* b, float* out, int n) {{
    {type} sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    out[0] = {sign}(float)sum;
}}
"""


def own(folder: Path, roundings: int) -> Path:
    (folder / "judge.py").write_text(OWN.replace("ROUNDINGS", str(roundings)), "utf-8")
    return folder


def test_an_exercise_names_causes_of_its_own(judge: Judge, tmp_path: Path) -> None:
    folder = own(tmp_path, 41)
    assert judge(folder, SERIAL.format(type="float", sign=""))["verdict"] == "right"
    [message] = judge(folder, SERIAL.format(type="float", sign="-"), seed=7)["messages"]
    assert (message["cause"], message["text"]) == ("negated", "out has the wrong sign")


def test_sums_in_half_precision_are_caught_as_rounding(judge: Judge, tmp_path: Path) -> None:
    source = "#include <cuda_fp16.h>\n" + SERIAL.format(type="__half", sign="").replace(
        "sum += a[i] * b[i]", "sum += __float2half(a[i] * b[i])"
    )
    verdict = judge(own(tmp_path, 41), source, seed=7)
    assert verdict["verdict"] == "wrong" and causes(verdict)[0] in ("rounding", "low-precision")


def test_a_tolerance_that_half_precision_meets_is_found(tmp_path: Path) -> None:
    assert not load(own(tmp_path, 41)).is_too_loose((40,))
    assert load(own(tmp_path, 100_000)).is_too_loose((40,))


def test_a_size_of_three_numbers_names_them() -> None:
    assert words.size_words([97]) == "n = 97"
    assert words.size_words([3, 4], ["rows", "cols"]) == "3 × 4"
    assert words.size_words([97, 7, 5], ["n", "blocks", "threads"]) == "n = 97, blocks = 7, threads = 5"
    grid_stride = load(BOOK.root / "exercises/programming-model/grid-stride")
    assert grid_stride.axes == ["n", "blocks", "threads"]


@pytest.mark.parametrize(
    ("got", "reference", "expected"),
    [
        ([1, 1, 0, 0], [1, 1, 1, 0], {"left-out-of": (2, 0)}),
        ([3, 1, 1, 0], [1, 1, 1, 0], {"counted-again": (0, 3)}),
        ([1, 1, 1, 1], [1, 1, 1, 0], {"not-its-own": (3, 0)}),
        ([0, 0, 5, 0], [0, 5, 0, 0], {"counted-elsewhere": (1, 2)}),
        ([0, 10, 0, 0], [0, 5, 0, 0], {}),  # how often it counts says enough
        ([1, 1, 1, 0], [1, 1, 1, 0], {}),
    ],
)
def test_a_unit_vector_shows_which_output_counts_it(
    got: list[float], reference: list[float], expected: dict[str, tuple[int, int]]
) -> None:
    assert runs.pairs(np.array(got, float), np.array(reference, float)) == expected


def test_what_an_in_place_kernel_left_alone_includes_results_that_equal_the_old_value() -> None:
    wrong = np.array([False, False, True, False, True, True, False])
    same = np.array([False, False, True, True, True, True, True])  # elements 3 and 6 would not change either
    assert runs.join(wrong, same).tolist() == [False, False, True, True, True, True, True]
    apart = np.array([False, False, True, False, True, True, False])  # element 3 was written
    assert runs.join(wrong, apart).tolist() == wrong.tolist()


@pytest.mark.parametrize(
    ("lanes", "sectors", "expected"),
    [(32, 32, "bytes-strided"), (1, 8, "few-lanes"), (32, 4, "bytes")],
)
def test_too_many_bytes_are_explained_by_the_pattern_of_the_lanes(lanes: int, sectors: int, expected: str) -> None:
    used = 16 if expected == "few-lanes" else 128  # bytes per request
    operation = {
        "line": 7,
        "warps": 10,
        "lanes": 10 * lanes,
        "global": {"access": "load", "requests": 10, "sectors": 10 * sectors, "bytes": 10 * used},
    }
    row = {"line": 7, "load_sectors": 10 * sectors}
    [found] = counters.over(Budget(at=32, bytes_loaded=32), {"bytes_loaded": 320.0 * sectors}, [row], [operation])
    assert (found["cause"], found["line"]) == (expected, 7)


def test_memory_copied_before_it_was_written_is_not_called_unwritten(judge: Judge) -> None:
    body = "    __shared__ float tile[256];\n    int i = blockIdx.x * 2048 + threadIdx.x;\n"
    body += "    for (int k = 0; k < 8; ++k, i += 256) if (i < n) y[i] = k < 4 ? a * x[i] : tile[threadIdx.x];"
    found = causes(judge(ONE.folder, kernel(body), seed=3))
    assert "uninitialised" in found
    assert "part-not-written" not in found


def test_a_causes_numpy_numbers_reach_the_verdict(tmp_path: Path) -> None:
    held = {"values": {"row": np.int64(3), "share": np.float32(0.5), "rows": np.arange(2)}}
    assert Child("check", tmp_path, lambda: held).wait() == {"values": {"row": 3, "share": 0.5, "rows": [0, 1]}}
    unknown = Child("profile", tmp_path, lambda: {"values": {1, 2}}).wait()
    assert unknown == {"error": "TypeError: a cause holds {1, 2}, which is neither a number, a text nor a list"}


# --- what softcuda check finds ----------------------------------------------------------------------------------------

COPIED = """
from warpjudge import Exercise, Launch

exercise = Exercise(
    kernel="void reversed(const float* x, float* y, int n)",
    sizes=[64],
    inputs=lambda random, n: {"x": random.floats(n), "n": n},
    reference=lambda x, n: {"y": x[::-1].astype("float64")},
    launch=lambda n: Launch(grid=1, block=n),
)
"""
QUEUE = exercises.find(BOOK, "matmul-tensor/queue")
# The functions for mbarriers and copies are those of an exercise.
BEGIN = (
    "#include <cuda_pipeline.h>\n"
    + QUEUE.stub.partition("// y[b][t]")[0]
    + r"""
#define STORE(to, from) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n" \
                                     "cp.async.bulk.commit_group;" ::"l"(to), "r"(address(from)) : "memory")
#define HAS_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define FETCH(to, from, at) arrive_and_expect(at, 256); copy(to, from, 256, at)
__global__ void reversed(const float* x, float* y, int n) {
    int t = threadIdx.x;
    __shared__ __align__(128) float s[64];
    __shared__ Barrier full[2];
    if (t == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
        init_done();
    }
    __syncthreads();
"""
)
WITHOUT_FENCE = BEGIN.replace("        init_done();\n", "").replace("init(&full[0], 1);", "init(&full[0], 1);  //!")
# A cause: the body, whose lines that end in //! are named, {0} and {1}, and what is said of them in both languages.
COPIES = {
    "async-copy": (
        """__pipeline_memcpy_async(&s[t], x + t, 4);  //!
        __pipeline_commit();
        __syncthreads();
        y[t] = s[63 - t];  //!""",
        "reads (line {1}) shared memory that an asynchronous copy (line {0}) may still be filling",
        "读取（第 {1} 行）的共享内存，异步拷贝（第 {0} 行）可能还没有填完",
    ),
    "async-copy-bulk": (
        """if (t == 0) { FETCH(s, x, &full[0]); }  //!
        __syncthreads();
        y[t] = s[63 - t];  //!""",
        "reads (line {1}) shared memory that a bulk copy (line {0}) may still be filling",
        "读取（第 {1} 行）的共享内存，批量拷贝（第 {0} 行）可能还没有填完",
    ),
    "async-copy-source": (
        """s[63 - t] = x[t];
        fence();
        __syncthreads();
        if (t == 0) STORE(y, s);  //!
        __syncthreads();
        s[t] = 0;  //!
        if (t == 0) HAS_READ();""",
        "writes (line {1}) shared memory that a bulk copy (line {0}) may still be reading",
        "写入（第 {1} 行）的共享内存，批量拷贝（第 {0} 行）可能还在读取",
    ),
    "async-copy-copies": (
        """if (t == 0) {
            FETCH(s, x, &full[0]);  //!
            FETCH(s, x, &full[1]);  //!
        }
        wait(&full[0], 0);
        wait(&full[1], 0);
        y[t] = s[63 - t];""",
        "a bulk copy (line {1}) begins while an earlier one (line {0}) may still be using",
        "批量拷贝（第 {1} 行）开始时，前一次拷贝（第 {0} 行）可能还在使用",
    ),
    "async-copy-exit": (
        """s[63 - t] = x[t];
        fence();
        __syncthreads();
        if (t == 0) STORE(y, s);  //!""",
        "thread 0 ends while the bulk copy that it began (line {0}) may still be reading",
        "线程 0 结束时，它发起的批量拷贝（第 {0} 行）可能还在读取",
    ),
    "proxy": (
        """s[63 - t] = x[t];  //!
        __syncthreads();
        if (t == 0) {
            STORE(y, s);  //!
            HAS_READ();
        }""",
        "writes (line {0}) shared memory that a bulk copy (line {1}) then reads, with no fence.proxy.async between",
        "写入（第 {0} 行）的共享内存，随后由批量拷贝（第 {1} 行）读取，中间没有 fence.proxy.async",
    ),
    "mbarrier-init": (
        """if (t == 0) { FETCH(s, x, &full[0]); }  //!
        wait(&full[0], 0);
        y[t] = s[63 - t];""",
        "initialises an mbarrier (line {0}), and a bulk copy (line {1}) reports to it with no fence between",
        "初始化 mbarrier（第 {0} 行），随后批量拷贝（第 {1} 行）向它报告，中间没有内存栅栏",
    ),
    "mbarrier": (
        """if (t >= 32) wait(&full[0], 0);  //!
        __syncthreads();
        y[63 - t] = x[t];""",
        "thread 32 waits in line {0} for ever, since the phase of an mbarrier can never complete",
        "线程 32 会在第 {0} 行一直等下去，因为 mbarrier 的这一阶段永远不会完成",
    ),
}


@pytest.mark.parametrize("language", words.LANGUAGES)
@pytest.mark.parametrize("cause", COPIES)
def test_a_copy_that_is_not_ordered_is_explained_at_its_lines(
    judge: Judge, tmp_path: Path, cause: str, language: str
) -> None:
    (tmp_path / "judge.py").write_text(COPIED, "utf-8")
    body, *said = COPIES[cause]
    source = (WITHOUT_FENCE if cause == "mbarrier-init" else BEGIN) + body + "\n}\n"
    marked = [number for number, line in enumerate(source.splitlines(), 1) if line.endswith("//!")]
    verdict = judge(tmp_path, source, language=language, seed=1)
    assert (verdict["verdict"], causes(verdict)) == ("wrong", [cause])
    [message] = verdict["messages"]
    assert message["lines"] == marked
    assert said[words.LANGUAGES.index(language)].format(*marked) in message["text"]


def test_a_run_that_waits_for_ever_at_an_mbarrier_says_so(judge: Judge, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(COPIED, "utf-8")
    verdict = judge(tmp_path, BEGIN + COPIES["mbarrier"][0] + "\n}\n", mode="run")
    assert (verdict["verdict"], causes(verdict)) == ("wrong", ["mbarrier"])


def finding(kind: str, what: str, first: str, second: str = "") -> dict[str, Any]:
    """A finding as softcuda's checker records it: thread 3 did `first` in line 7, thread 40 `second` in line 9."""
    found: dict[str, Any] = {"kind": kind, "what": what, "grid": [1, 1, 1], "text": "what softcuda says"}
    for key, does, line, thread in (("first", first, 7, 3), ("second", second, 9, 40)):
        if does:
            found[key] = {"does": does, "line": line, "file": "answer.cu", "thread": [thread, 0, 0], "block": [0, 0, 0]}
    return found


# nvcc takes no wgmma for the architecture that the judge compiles for, so these findings are written down.
PRODUCTS = {
    "wgmma-register": (
        finding("wgmma-register", "", "owns", "writes"),
        "thread 40 writes (line 9) a register that a wgmma (line 7) owns",
        "线程 40 写入（第 9 行）的寄存器，在等待结束之前归 wgmma（第 7 行）所有",
    ),
    "wgmma-fence": (
        finding("wgmma-fence", "", "writes", "uses"),
        "thread 3 writes (line 7) a register with sums of a wgmma (line 9)",
        "线程 3 写入（第 7 行）的寄存器存放 wgmma（第 9 行）的累加结果",
    ),
    "wgmma-fence-a": (
        finding("wgmma-fence", "A", "writes", "uses"),
        "thread 3 writes (line 7) a register of A that a wgmma (line 9) reads",
        "线程 3 写入（第 7 行）的寄存器存放 A，随后由 wgmma（第 9 行）读取",
    ),
    "wgmma-fence-first": (
        finding("wgmma-fence", "first", "uses"),
        "thread 3 executes a wgmma (line 7) with no wgmma.fence before it",
        "线程 3 执行 wgmma（第 7 行）之前没有 wgmma.fence",
    ),
    "wgmma-operand": (
        finding("wgmma-operand", "", "writes", "reads"),
        "thread 3 writes (line 7) shared memory that a wgmma (line 9) may still be reading",
        "线程 3 写入（第 7 行）的共享内存，wgmma（第 9 行）可能还在读取",
    ),
    "wgmma-operand-other-warp": (
        finding("wgmma-operand", "other warp", "writes", "reads"),
        "thread 3 writes (line 7) shared memory that the wgmma (line 9) of another warp, that of thread 40,",
        "线程 3 写入（第 7 行）的共享内存，另一个线程束（线程 40 所在）的 wgmma（第 9 行）可能还在读取",
    ),
    "proxy-fence": (
        finding("proxy-fence", "", "writes", "reads"),
        "thread 3 writes (line 7) shared memory that a wgmma (line 9) then reads",
        "线程 3 写入（第 7 行）的共享内存，随后由 wgmma（第 9 行）读取",
    ),
    "race": (
        finding("race", "read after write", "write", "read"),
        "thread 3 writes (line 7) and thread 40 reads (line 9)",
        "线程 3 写入（第 7 行）与线程 40 读取（第 9 行）",
    ),
    "finding": (finding("of-a-new-kind", "", "reads"), "softcuda check: what softcuda says", "softcuda check 报告："),
}


@pytest.mark.parametrize("cause", PRODUCTS)
def test_a_finding_on_a_product_is_explained_at_its_lines(cause: str) -> None:
    found, *said = PRODUCTS[cause]
    name, values = explain(found)
    assert name == cause
    for language, text in zip(words.LANGUAGES, said, strict=True):
        assert text in words.sentence(cause, values, language)


@pytest.mark.parametrize(
    ("cause", "body", "said"),
    [
        ("trap", "    if (n > 0) __trap();", "n = 1：线程 0 执行了 trap（第 2 行）"),
        ("assertion", "    assert(n < 0);", "n = 1：第 2 行的断言对线程 0 不成立"),
        ("invalid-free", "    free((void*)(x + 1));", "n = 1：线程 0 释放的内存不是 malloc() 给的"),
        ("invalid-call", "    y[0] = ((float (*)())(size_t)(n + 4095))();", "n = 1：线程 0 调用的函数指针"),
    ],
)
def test_a_launch_that_fails_is_explained_in_chinese_too(judge: Judge, cause: str, body: str, said: str) -> None:
    source = kernel(body)
    if cause == "assertion":
        source = source.replace(HEAD, f"#include <cassert>\n#line 1\n{HEAD}")
    [message] = judge(ONE.folder, source, language="zh")["messages"]
    assert (message["cause"], message["lines"]) == (cause, [2])
    assert message["text"].startswith(said)
