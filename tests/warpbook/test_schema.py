"""Corrupted records: one line that names the file and the place, whatever is wrong, and never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from recorded import keep, launch, value

from warpbook.book import BookError
from warpbook.records import records

Record = dict[str, Any]
PROGRAM = "x/a.py"
KEPT = {
    "values": {"v0.time": value(1.0, "s")},
    "series": {"sweep": {"x": [1.0, 2.0], "y": [3.0, 4.0], "x_unit": "B", "unit": "B/s"}},
    "spans": {"gantt": {"row": ["a"], "start": [0.0], "stop": [1.0], "label": [""], "unit": "s"}},
    "matrices": {
        "weights": {"numbers": ["1 2", "3 4"], "rows": ["a", "b"], "unit": "1"},
        "mask": {"bits": ["01"], "unit": "1"},
    },
    "graphs": {"dfa": {"nodes": [["0", "0", "start"]], "edges": [["0", "0", "a"]], "weights": [1.0]}},
}


@pytest.fixture
def record(small, write) -> Record:
    write("docs/en/x.md", '---\ncounters: ["x/a.py"]\n---\n# X\n\n```python\nprint(42)\n```\n')
    write(f"snippets/{PROGRAM}", "")
    keep(small, "softcuda", "x", {PROGRAM: KEPT}, printed=["42\n"], counters={PROGRAM: [launch("k", {"m.sum": 1})]})
    found = records.read(small, "softcuda", "x")
    assert found is not None
    return found


def at(*path: str | int) -> Callable[[Record], tuple[Any, Any]]:
    """The holder of what lies at the end of the path, and its key there."""

    def find(record: Record) -> tuple[Any, Any]:
        for key in path[:-1]:
            record = record[key]  # type: ignore[index]
        return record, path[-1]

    return find


program = ("programs", PROGRAM)
time = (*program, "values", "v0.time")
launches = ("counters", PROGRAM, "launches")
GONE = object()


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (at("format"), 2), (at("format"), "3"), (at("format"), GONE), (at("machines"), GONE), (at("machines"), []),
        (at("machines", "one"), GONE), (at("machines", "one", "name"), ""), (at("machines", "one", "name"), 7),
        (at("machines", "one", "softcuda"), "no"), (at("machines", "one", "multiprocessors"), "132"),
        (at("programs"), None), (at("programs"), []), (at(*program), "text"), (at(*program, "code"), ""),
        (at(*program, "code"), GONE), (at(*program, "code"), 12), (at(*program, "machine"), "two"),
        (at(*program, "machine"), GONE), (at(*program, "date"), "yesterday"), (at(*program, "date"), GONE),
        (at(*program, "stdout"), GONE), (at(*program, "stdout"), ["text"]), (at(*program, "values"), GONE),
        (at(*program, "extra"), 1), (at(*program, "seconds"), "1"), (at(*time), 1.0), (at(*time, "value"), "12"),
        (at(*time, "value"), True), (at(*time, "value"), None), (at(*time, "value"), GONE),
        (at(*time, "value"), 10**400),
        (at(*time, "unit"), "parsec"), (at(*time, "unit"), GONE), (at(*time, "low"), "0"), (at(*time, "second"), [1]),
        (at(*program, "series", "sweep", "x"), []), (at(*program, "series", "sweep", "y"), [1.0]),
        (at(*program, "series", "sweep", "y"), [1.0, "2"]), (at(*program, "series", "sweep", "low"), [1.0]),
        (at(*program, "series", "sweep", "unit"), GONE), (at(*program, "spans", "gantt", "stop"), [1.0, 2.0]),
        (at(*program, "spans", "gantt", "row"), [None]), (at(*program, "matrices", "weights", "numbers"), ["1 2", "3"]),
        (at(*program, "matrices", "weights", "numbers"), ["one two", "3 4"]),
        (at(*program, "matrices", "weights", "numbers"), ["1 -", "3 4"]),
        (at(*program, "matrices", "weights", "numbers"), ["1 2e", "3 4"]),
        (at(*program, "matrices", "weights", "numbers"), ["1 2", "3 1e999"]),
        (at(*program, "date"), "2026-13-32T25:61:61Z"),
        (at(*program, "matrices", "weights", "rows"), ["a"]), (at(*program, "matrices", "mask", "bits"), ["02"]),
        (at(*program, "matrices", "mask", "bits"), GONE), (at(*program, "graphs", "dfa", "edges"), [["0", "0"]]),
        (at(*program, "graphs", "dfa", "nodes"), []), (at("blocks"), GONE), (at("blocks", "printed"), GONE),
        (at("blocks", "printed", 0), "42"), (at("blocks", "printed", 0, "code"), "sha256:12"),
        (at("blocks", "date"), GONE),
        (at("blocks", "machine"), "two"), (at(*launches), []), (at(*launches, 0, "kernel"), ""),
        (at(*launches, 0, "grid"), [1, 1]), (at(*launches, 0, "grid"), [0, 1, 1]),
        (at(*launches, 0, "metrics"), {"m.sum": "1"}),
        (at(*launches, 0, "metrics"), GONE), (at("counters"), GONE), (at("more"), {}),
    ],
)  # fmt: skip
def test_a_corrupted_record_is_named_in_one_line(small, record, place, wrong):
    broken = copy.deepcopy(record)
    holder, key = place(broken)
    if wrong is GONE:
        del holder[key]
    else:
        holder[key] = wrong
    records.path_of(small, "softcuda", "x").write_text(json.dumps(broken), "utf-8")
    with pytest.raises(BookError) as raised:
        records.read(small, "softcuda", "x")
    assert str(raised.value).startswith("records/softcuda/x.json: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["../a.py", "x/../a.py", "x/..py", "/x/a.py", "a.py", "x/a.py\n"])
def test_a_program_is_one_of_snippets(small, record, name):
    record["programs"][name] = record["programs"][PROGRAM]
    records.path_of(small, "softcuda", "x").write_text(json.dumps(record), "utf-8")
    with pytest.raises(BookError, match=r"^records/softcuda/x\.json: programs"):
        records.read(small, "softcuda", "x")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"value": 1.0', '"value": NaN', "records/softcuda/x.json: NaN is no number"),
        ('"value": 1.0', '"value": 1e999', "records/softcuda/x.json: programs.x/a.py.values.v0.time.value: "),
        ('"format": 3,', '"format": 3, "format": 3,', 'records/softcuda/x.json: "format" is there twice'),
        ('"format": 3,', '"format": 3', "records/softcuda/x.json:3: not JSON: "),
        ('"format": 3,', "\udcff", "records/softcuda/x.json: not UTF-8 at byte "),
        ("{", "[" * 100_000, "records/softcuda/x.json: "),
    ],
)
def test_a_text_that_is_no_record(small, record, old, new, said):
    path = records.path_of(small, "softcuda", "x")
    text = path.read_text("utf-8").replace(old, new, 1)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BookError) as raised:
        records.read(small, "softcuda", "x")
    assert str(raised.value).startswith(said)
    assert str(raised.value).endswith("; run `.venv/bin/warpbook record --only x`")


def test_an_empty_record_is_one(small):
    records.write(small, "softcuda", "x", records.empty())
    assert records.read(small, "softcuda", "x") == records.empty()
