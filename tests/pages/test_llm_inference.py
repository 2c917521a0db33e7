"""The article on inference: predicted sectors, its table of counts, step times, and wrong caches, merges and queues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from broken import break_in_one_place, copy_programs
from modules import module_of

from warpbook.book import PRIMARY, SOFTCUDA, Book, here
from warpbook.records import records
from warpbook.run.run import RunError, run_program

ARTICLE = "llm-inference"
BOOK = here()
PROGRAM = BOOK.snippets / ARTICLE / "goodput.py"
TOKENS, CHUNK, CACHE = 2048, 256, 2048  # of --profile on softcuda; KiB of its cache
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
COPIED = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"  # by the copy engine
ROW = re.compile(r"^\| (v\d) [^|]*\| (\d+) \| (\d+) \|", re.MULTILINE)


def counted() -> dict[str, dict[str, float]]:
    """The first launch of each kernel."""
    record = records.read(BOOK, SOFTCUDA, ARTICLE)
    assert record is not None
    found: dict[str, dict[str, float]] = {}
    for program in ("attend.py", "bulk.py"):
        for launch in record["counters"][f"{ARTICLE}/{program} --profile"]["launches"]:
            found.setdefault(launch["kernel"].removeprefix("decode_"), launch["metrics"])
    return found


@pytest.fixture(scope="module")
def decode() -> Iterator[ModuleType]:
    with module_of(ARTICLE, "_decode") as module:
        yield module


def test_every_sector_was_predicted(decode: ModuleType) -> None:
    shape = decode.Shape(8, 2, 128)
    predicted = {rung: decode.sectors(shape, rung, TOKENS, CHUNK) for rung in decode.RUNGS}
    assert predicted == {rung: counted()[rung][SECTORS] for rung in decode.RUNGS}


@pytest.mark.parametrize("rung", ["v5", "v5_paged"])
def test_the_copy_engine_reads_every_key_and_value_once(rung: str) -> None:
    assert counted()[rung][COPIED] == CACHE * 1024 / 32


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_counts_on_the_page_are_recorded(language: str) -> None:
    path = BOOK.page_of(ARTICLE, language)
    assert path is not None
    rows = ROW.findall(path.read_text("utf-8"))
    assert [name for name, *_ in rows] == ["v0", "v1", "v2", "v3", "v4", "v5"]
    for name, instructions, sectors in rows:
        metrics = counted()[name]
        assert abs(int(instructions) - metrics["softcuda__warp_instructions.sum"] / CACHE) <= 0.5
        assert abs(int(sectors) - (metrics[SECTORS] + metrics.get(COPIED, 0)) / CACHE) <= 0.5


def test_the_simulated_service_has_the_recorded_step_times() -> None:
    """goodput.py takes a step to be a constant and so much per row: all batches and prefill were within 4 % of that."""
    record = records.read(BOOK, PRIMARY, ARTICLE)
    assert record is not None
    measured = record["programs"][f"{ARTICLE}/serve.py"]["values"]
    line = re.search(r"^STEP, SEQUENCE, TOKEN = (\S+), (\S+), (\S+)  #", PROGRAM.read_text("utf-8"), re.MULTILINE)
    assert line is not None
    step, sequence, token = map(float, line.groups())
    assumed = {f"step.b{batch}.time": step + batch * sequence for batch in (1, 2, 4, 8, 16, 32, 64)}
    assumed["prefill.time"] = step + 64 * token
    assert {name: measured[name]["value"] for name in assumed} == pytest.approx(assumed, rel=0.04)


BROKEN = [  # (program, what is broken, file, what stands there, what to write instead)
    ("attend.py", "a sum is not restated", "decode.cu", "m = top, s *= factor;", "m = top;"),
    ("attend.py", "values are not restated", "decode.cu", "for (float& x : o) x *= factor;", ""),
    ("attend.py", "a key too many", "decode.cu", "group < to ? sum : -INFINITY", "group <= to ? sum : -INFINITY"),
    ("attend.py", "the last part is left out", "decode.cu", "(length[blockIdx.y] + chunk - 1) / chunk",
     "max(1, length[blockIdx.y] / chunk)"),
    ("attend.py", "parts are added as they are", "decode.cu", "factor = exp2f(one.x - top);", "factor = 1;"),
    ("attend.py", "the first page serves for all", "decode.cu", "table[j / page] * heads", "table[0] * heads"),
    ("bulk.py", "rows that no copy filled hold NaN", "decode_bulk.cu", "keys[i] = values[i] = uint4{};",
     "keys[i] = values[i] = uint4{~0u, ~0u, ~0u, ~0u};"),
    ("bulk.py", "the consumers wait for the other phase", "decode_bulk.cu",
     "shared_address(barriers.full + stage), phase);", "shared_address(barriers.full + stage), phase ^ 1);"),
    ("bulk.py", "every piece comes from lane 0's page", "decode_bulk.cu",
     "numbers, turn * PIECES + lane % PIECES", "numbers, 0"),
    ("bulk.py", "the merge misses the last part", "decode_bulk.cu",
     "if (p0 + j >= used) break;", "if (p0 + j >= used - 1) break;"),
    ("bulk.py", "rounding errors are left out", "decode_bulk.cu",
     "rows.o[i][b] + __shfl_xor_sync(ALL, rows.o[i][b], 2)",
     "rows.o[i][b] + 0 * __shfl_xor_sync(ALL, rows.o[i][b], 2)"),
    ("bulk.py", "the count is not reset", "decode_bulk.cu", "atomicInc(done + row * gridDim.x + blockIdx.x, used - 1)",
     "atomicAdd(done + row * gridDim.x + blockIdx.x, 1)"),
    ("serve.py", "the key is a place early", "linear.cu", "j = to.position[m],", "j = max(1, to.position[m]) - 1,"),
    ("serve.py", "a batch writes into one cache", "linear.cu", "s = to.sequence[m];", "s = 0 * to.sequence[m];"),
    ("serve.py", "keys of another head", "linear.cu", "head = (n - queries) % wide / HEAD,", "head = 0,"),
    ("goodput.py", "an answer begins before its prompt ends", "goodput.py",
     "if left[waiting[0]] == 0", "if left[waiting[0]] <= rows"),
    ("goodput.py", "a step takes tokens of one prompt only", "goodput.py",
     "tokens < rows - len(batch):", "not tokens and len(batch) < rows:"),
]  # fmt: skip


@pytest.fixture
def copied(tmp_path: Path) -> Book:
    return copy_programs(tmp_path, ARTICLE, "matmul-tensor")  # whose barriers decode_bulk.cu includes


@pytest.mark.inputs(
    "snippets/llm-inference", "snippets/matmul-tensor", "snippets/warpbench.py", "snippets/warppairs.py"
)
@pytest.mark.parametrize(("program", "what", "file", "right", "wrong"), BROKEN, ids=[row[1] for row in BROKEN])
def test_a_wrong_kernel_is_noticed(
    copied: Book, program: str, what: str, file: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_in_one_place(copied.snippets / ARTICLE / file, right, wrong, what)
    monkeypatch.setenv("SOFTCUDA", "force")
    monkeypatch.setenv("PYTHONPATH", str(copied.snippets))
    with pytest.raises(RunError, match="AssertionError"):
        run_program(copied, copied.snippets / ARTICLE / program)
