"""Hashes, freshness, the comparison of outputs, and that nothing is half-written."""

from __future__ import annotations

import json

import pytest

from warpbook.book import BookError, write_text
from warpbook.records import recorder, records
from warpbook.records.recorder import record, sagged
from warpbook.run import compare
from warpbook.run.compare import difference, disagreement, mask
from warpbook.run.hashes import code_hash, normal_kernel, normal_python
from warpbook.run.run import Run

CPU = {"name": "softcuda", "softcuda": True}
GPU = {"name": "GPU", "softcuda": False}


def test_a_hash_sees_code_and_not_its_layout():
    assert normal_python("a = 1  # one\n\n\nb = (2)\n") == normal_python("a=1\nb = 2")
    assert normal_python("a = 1") != normal_python("a = 2")
    assert normal_kernel("int a; // one\n/* two */ int  b;") == normal_kernel("int a;\nint b;\n")
    assert normal_kernel('puts("// kept");') == 'puts("// kept");'
    assert normal_kernel("#define A 1\nint a;\nint b;") == "#define A 1\nint a; int b;"


def test_a_hash_sees_a_shared_module_but_of_the_helper_only_its_version(small, write):
    code = "import warpbench as wb\nfrom shared import burst"
    write("snippets/warpbench.py", "VERSION = 2\n")
    write("snippets/shared.py", "burst = 1\n")
    first = code_hash(small, [code], "x", "a.py")
    write("snippets/warpbench.py", "VERSION = 2\nmore = 1\n")
    assert code_hash(small, [code], "x", "a.py") == first
    write("snippets/shared.py", "burst = 2\n")
    assert code_hash(small, [code], "x", "a.py") != first


PROGRAM = '''"""What it is for."""

import argparse


def run(n: int) -> float:
    """Of n."""
    if n < 0:
        raise ValueError(f"{n}: negative")
    assert n < 2**20, "too many"
    return 0.5 * n  # half


parser = argparse.ArgumentParser(description="Halves.")
parser.add_argument("--n", type=int, default=8, help="how many")
n = parser.parse_args([]).n
print(f"half of {n:d} is {run(n):.3f}" if n else "none")
'''
EDITS_OF_WORDS = [
    ("What it is for", "What it's good for"),
    ("Of n.", "Half of n, in halves."),
    ("# half", "# divided by two"),
    ("negative", "must not be negative"),
    ("too many", "more than fits"),
    ("Halves.", "Cut in two."),
    ("how many", "how many there are"),
    ("half of {n:d} is", "{n:d} divided by two gives"),
    ('"none"', '"nothing"'),
]
EDITS_OF_CODE = [
    ("0.5 * n", "0.6 * n"),
    ("default=8", "default=9"),
    (".3f", ".4f"),
    ("n < 0", "n <= 0"),
    ("{n:d} is", "{2 * n:d} is"),
]


@pytest.mark.parametrize(("old", "new"), EDITS_OF_WORDS)
def test_a_hash_does_not_see_words(old, new):
    assert PROGRAM.count(old) == 1
    assert normal_python(PROGRAM.replace(old, new)) == normal_python(PROGRAM)


@pytest.mark.parametrize(("old", "new"), EDITS_OF_CODE)
def test_a_hash_sees_what_computes(old, new):
    assert PROGRAM.count(old) == 1
    assert normal_python(PROGRAM.replace(old, new)) != normal_python(PROGRAM)


def test_a_hash_sees_a_text_that_computes():
    assert normal_python("print(table['a'])") != normal_python("print(table['b'])")
    assert normal_python("run('a')") != normal_python("run('b')")


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("v0   12.34 ms  1.2 TB/s", "v0 # ms # TB/s"),
        ("13.3× as fast, 98.1 % of the copy", "# × as fast, # % of the copy"),
        ("device: NVIDIA H200, 132 SMs", "device: #"),
        ("on NVIDIA H200: 7", "on #: 7"),
        ("n = 1023 sum 4.5", "n = 1023 sum 4.5"),
        ("5 of 8 tiles right this time", "# of # tiles right this time"),
        ("3 steps, 12 multiprocessors", "3 steps, 12 multiprocessors"),
    ],
)
def test_what_differs_from_run_to_run_is_masked(line, masked):
    assert mask(line, ("NVIDIA H200",)) == [masked]


def test_rows_of_a_table_of_measurements_are_masked():
    head = "          µs     GB/s   of copy"
    text = f"sums agree\n{head}\nv0      12.3      420     10.0\nv1       9.9      510     12.0\n\nn = 3\n"
    assert mask(text) == ["sums agree", head, "#", "#", "", "n = 3"]


def test_outputs_are_compared_line_by_line():
    assert difference("p", "sum 3\n12.0 ms\n", "sum 3\n9.1 ms\n") is None
    assert difference("p", "sum 3\n", "sum 4\n") == 'p: line 1 of its output is "sum 4", the record has "sum 3"'
    assert difference("p", "a\n", "a\nb\n") == 'p: line 2 of its output is "b", the record has nothing more'


def test_nan_fails_every_comparison():
    assert difference("p", "sum nan\n", "sum nan\n") == "p: prints nan"
    assert not compare.close(float("nan"), float("nan"), 1.0)


def test_two_devices_agree_within_rounding():
    assert disagreement("p", "sum 1.0000001\n", "sum 1.0000002\n", ()) is None
    assert disagreement("p", "sum 524770.4375 off by 0.0300\n", "sum 524770.5000 off by 0.0325\n", ()) is None
    assert disagreement("p", "n 3\n", "n 4\n", ()) == 'p: line 1 is "n 3" on one device and "n 4" on the other'
    assert disagreement("p", "sum 1.0\n", "sum 1.1\n", ()) is not None


REMEDY = "run `.venv/bin/warpbook record --only x`"
PAGE = "# X\n\n```python\nprint(6 * 7)\n```\n"


def test_a_record_is_fresh_until_the_code_changes(small, write):
    write("docs/en/x.md", PAGE)
    program = write("snippets/x/a.py", 'KERNEL = "x/k.cu"\nprint("ok")\n')
    kernel = write("snippets/x/k.cu", "__global__ void k() {}\n")
    assert records.stale(small, "softcuda", "x") == [f"records/softcuda/x.json: missing; {REMEDY}"]
    assert record(small, ["x"], device=CPU) == 0
    assert records.stale(small, "softcuda", "x") == []
    kept = records.read(small, "softcuda", "x")
    assert kept["blocks"]["printed"][0]["stdout"] == "42\n"
    assert kept["programs"]["x/a.py"]["stdout"] == "ok\n"

    program.write_text('# a comment\nKERNEL = "x/k.cu"\nprint("ok")\n', "utf-8")
    kernel.write_text("__global__ void k() {}  // the same\n", "utf-8")
    assert records.stale(small, "softcuda", "x") == []

    kernel.write_text("__global__ void k() { return; }\n", "utf-8")
    write("docs/en/x.md", PAGE.replace("6", "8"))
    assert records.stale(small, "softcuda", "x") == [
        f"docs/en/x.md:3: stale: records/softcuda/x.json was made from another block; {REMEDY}",
        f"records/softcuda/x.json: stale: one of snippets/x/a.py, snippets/x/k.cu has changed; {REMEDY}",
    ]


def test_a_record_is_stale_when_its_data_change(small, write):
    write("snippets/x/_table.py", 'FILE = "table.csv"\n')
    write("snippets/x/a.py", "import _table\n")
    table = write("snippets/x/table.csv", "a,b\n1,2\n")
    assert record(small, ["x"], device=CPU) == 0
    assert records.stale(small, "softcuda", "x") == []
    table.write_text("a,b\n1,3\n", "utf-8")
    assert len(records.stale(small, "softcuda", "x")) == 1


def test_what_is_fresh_is_not_run_again(small, write, capsys):
    write("docs/en/x.md", PAGE)
    record(small, ["x"], device=CPU)
    before = records.path_of(small, "softcuda", "x").stat().st_mtime_ns
    record(small, ["x"], device=CPU)
    assert records.path_of(small, "softcuda", "x").stat().st_mtime_ns == before
    assert "fresh" in capsys.readouterr().out


def test_a_failure_keeps_what_was_finished_and_what_was_there(small, write, capsys):
    write("snippets/x/a.py", "print('ok')\n")
    write("snippets/x/b.py", "raise SystemExit('no device')\n")
    assert record(small, ["x"], device=CPU) == 1
    assert "snippets/x/b.py: this program fails: no device" in capsys.readouterr().out
    assert list(records.read(small, "softcuda", "x")["programs"]) == ["x/a.py"]
    assert [p.name for p in (small.records / "softcuda").iterdir()] == ["x.json"]  # no temporary file is left


def test_a_program_that_prints_nan_is_not_recorded(small, write, capsys):
    write("snippets/x/a.py", "print('sum', float('nan'))\n")
    assert record(small, ["x"], device=CPU) == 1
    assert "snippets/x/a.py: prints nan; nothing recorded" in capsys.readouterr().out
    assert not small.records.exists()


def test_an_unknown_article_is_named(small, write):
    write("docs/en/x.md", PAGE)
    with pytest.raises(BookError, match=r'^no article "y"; there are: x$'):
        record(small, ["y"], device=CPU)


def test_a_broken_record_is_told_with_its_line(small, write):
    write("records/softcuda/x.json", '{\n "format": 3,\n')
    with pytest.raises(BookError, match=r"^records/softcuda/x.json:3: not JSON: .*; run `.venv/bin/warpbook record"):
        records.read(small, "softcuda", "x")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("before", "after", "theirs", "said"),
    [
        ("sum 3\n", "the sum is 3\n", "sum 3\n", "the sum is 3\n"),
        ("took 12.5 ms for 8\n", "8 ms\n", "took 1.5 ms for 8\n", None),
        ("took 12.5 ms for 8\n", "needs 11.9 ms for 8\n", "took 1.5 ms for 8\n", "needs 1.5 ms for 8\n"),
        ("a   1.0 ms\nb 2\n", "A   1.1 ms\nb 2\n", "a  10.0 ms\nb 2\n", "A   10.0 ms\nb 2\n"),
        ("of 8 warps\n", "of 9 warps\n", "of 8 warps\n", None),
        ("skipped\n", "left out\n", "ran 3\n", None),
        ("a\n", "a\nb\n", "a\n", None),
    ],
)
def test_an_output_takes_new_words_and_keeps_its_numbers(before, after, theirs, said):
    assert compare.reworded(before, after, theirs) == said


def test_a_gpus_output_follows_words_that_softcuda_printed(small, write, capsys):
    program = write("snippets/x/a.py", "n = 6 * 7\nprint(f'answer {n}')\n")
    write("docs/en/x.md", PAGE)
    for device in (GPU, CPU):
        record(small, ["x"], device=device)
    program.write_text(program.read_text("utf-8").replace("answer", "the answer is"), "utf-8")
    assert [records.stale(small, device, "x") for device in ("gpu", "softcuda")] == [[], []]
    record(small, ["x"], device=CPU, update=True)
    kept = [records.read(small, device, "x")["programs"]["x/a.py"]["stdout"] for device in ("gpu", "softcuda")]
    assert kept == ["the answer is 42\n"] * 2


def test_a_record_never_holds_nan(small):
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.write(small, "softcuda", "x", {"format": 3, "value": float("nan")})
    assert not records.path_of(small, "softcuda", "x").exists()


def test_json_of_a_record_is_readable(small):
    records.write(small, "softcuda", "x", {"format": 3, "name": "设备"})
    text = records.path_of(small, "softcuda", "x").read_text("utf-8")
    assert "设备" in text
    assert json.loads(text)["format"] == 3


def test_an_interrupted_run_keeps_what_was_finished_and_says_what_is_missing(small, write, capsys, monkeypatch):
    write("snippets/x/a.py", "print('ok')\n")
    write("snippets/x/b.py", "print('ok')\n")
    ran = []

    def interrupted(book, program, *rest):
        ran.append(program.name)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return Run("ok\n", 0.1)

    monkeypatch.setattr(recorder, "run_program", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(small, ["x"], device=CPU)
    assert "snippets/x/b.py  missing   not reached" in capsys.readouterr().out
    assert list(records.read(small, "softcuda", "x")["programs"]) == ["x/a.py"]


def test_parts_are_dated_one_by_one(small, write):
    write("snippets/x/a.py", "print('ok')\n")
    record(small, ["x"], device=CPU)
    kept = records.read(small, "softcuda", "x")
    kept["programs"]["x/a.py"]["date"] = "2026-01-02T03:04:05Z"
    records.write(small, "softcuda", "x", kept)
    write("snippets/x/b.py", "print('ok')\n")
    record(small, ["x"], device={**CPU, "driver": "newer"})
    programs = records.read(small, "softcuda", "x")["programs"]
    assert programs["x/a.py"]["date"].startswith("2026-01-02")
    assert not programs["x/b.py"]["date"].startswith("2026-01-02")
    assert programs["x/a.py"]["machine"] != programs["x/b.py"]["machine"]


def gpu_runs(monkeypatch, *seconds):
    """As if a program's runs on a GPU had taken so long."""
    runs = [
        Run(
            "ok\n",
            1.0,
            {"a.time": {"value": s, "unit": "s"}, "b.time": {"value": 1.0, "unit": "s"}},
            matrices={"grid": {"bits": ["01"], "unit": "1"}},
            graphs={"dfa": {"nodes": [["0", "0"]], "edges": []}},
            spans={"gantt": {"row": [0], "start": [0.0], "stop": [s], "label": [""], "unit": "s"}},
        )
        for s in seconds
    ]
    monkeypatch.setattr(recorder, "run_program", lambda *_: runs.pop(0))


def test_runs_that_differ_by_more_than_a_claims_margin_are_told(small, write, monkeypatch, capsys):
    write("snippets/x/a.py", "")
    write("snippets/x/claims.toml", '[a.fast]\nen = "f"\nzh = "快"\nratio = ["a.time", "b.time"]\nat_least = 1.9\n')
    gpu_runs(monkeypatch, 2.0, 1.97)
    record(small, ["x"], device=GPU)
    assert "claim" not in capsys.readouterr().out
    kept = records.read(small, "gpu", "x")["programs"]["x/a.py"]
    assert kept["values"]["a.time"]["second"] == 1.97
    assert kept["spans"]["gantt"]["stop"] == [2.0]  # the first run's timeline
    assert kept["matrices"]["grid"]["bits"] == ["01"] and kept["graphs"]["dfa"]["edges"] == []
    gpu_runs(monkeypatch, 1.92, 1.97)
    record(small, ["x"], device=GPU, update=True)
    assert 'claim "fast": they differ by more than its margin' in capsys.readouterr().out
    gpu_runs(monkeypatch, 2.0, 2.2)
    record(small, ["x"], device=GPU, update=True)
    assert "two runs differ: a.time 2 and 2.2" in capsys.readouterr().out


def test_a_clock_that_sagged_is_told():
    assert sagged({"during": {"sm_lowest_mhz": 1500, "sm_median_mhz": 1980}}) == "clock sagged to 1500 of 1980 MHz"
    assert sagged({"after": {"clocks_throttle_reasons.active": "0x0000000000000020"}}) == "slowed down by heat"
    assert sagged({"after": {"clocks_throttle_reasons.active": "0x0000000000000001"}}) == ""  # idle


def test_shards_are_shares_and_merge(small, write, tmp_path):
    assert recorder.share(["a", "b", "c"], (2, 2)) == ["b"]
    with pytest.raises(BookError, match=r"^--shard 3/2: "):
        recorder.share(["a"], (3, 2))
    for article in ("a", "b"):
        write(f"snippets/{article}/p.py", "print('ok')\n")
    others = []
    for i in (1, 2):
        record(small, [], device=CPU, shard=(i, 2))
        others.append(tmp_path / f"shard{i}")
        small.records.rename(others[-1])
    recorder.merge(small, others)
    assert [records.stale(small, "softcuda", article) for article in ("a", "b")] == [[], []]
    with pytest.raises(BookError, match=r"holds no <device>/<article>\.json"):
        recorder.merge(small, [tmp_path / "nowhere"])
