"""`softcuda trace`: what one block of one launch does, step by step, as compact JSON for figures.

A step is one PTX instruction of one warp, in the order in which they ran.  The machine writes what it sees, row by row
(src/inspect/tracer.h); here that becomes one object.  It is the same in every run: addresses are given as places in
named memories.

    {"format": "softcuda trace 1",
     "kernel": "sum", "name": "sum", "launch": 1, "grid": [4, 1, 1], "block": [64, 1, 1], "traced": [0, 0, 0],
     "complete": true, "message": "",       false if the block has more steps, or did not end; the message says why
     "steps_in_block": 118,
     "files": ["kernel.cu"], "source": [{"7": "    out[i] = a[2 * i];"}],      a file's lines that steps come from
     "memories": [{"space": "global", "name": "a", "bytes": 4096}, …],
     "operations": [{"ptx": "ld.global.f32", "file": 0, "line": 7, "results": [["%f1", "f32"]]}, …],
     "steps": [[0, 12, {…}], …]}

A step is a list: warp, index into `operations`, and the rest in an object, which may be missing:

| key       | what                                                                                             |
|-----------|--------------------------------------------------------------------------------------------------|
| `lanes`   | who took part, a mask; missing: all lanes of the warp. 0: the guard held for nobody              |
| `results` | a value for each register in the operation's `results`, afterwards; of a predicate a mask        |
| `stores`  | what st, red and atom bring, a value for each of the operation's `stores`                        |
| `access`  | [memory, bytes a lane, offset] for each memory touched; and a mask, if not by all of `lanes`     |
| `taken`   | of a branch: who took it, a mask                                                                 |

`["barrier", 0, 64]` stands where barrier 0 lets its 64 threads go.

Values and offsets of several lanes are one number if all have the same; `{"from": 8, "by": 4}` if the lane k places
after the first that takes part has 8 + 4 k; else a list, a number for each lane that takes part, in their order.  A
64-bit number that is an address is `{"in": memory, "at": offset}`, with an offset of these forms.  Types are PTX's, and
nvcc loads and stores `int` as u32; where nothing says what the bits mean, b32, an unsigned number.  Floats that
are no numbers are "nan", "inf" and "-inf"; 128 bits are a string in hexadecimal.
"""

from __future__ import annotations

import bisect
import json
import math
import re
import struct
import sys
from pathlib import Path
from typing import Any

from softcuda import _child, _output, _usage
from softcuda._profile import unpacked

FORMAT = "softcuda trace 1"
STEPS = 20_000
MOST_STEPS = 100_000_000  # hundreds of bytes each
MOST_LAUNCHES = MOST_BLOCKS = 2**31 - 1
Raw = dict[str, Any]


# --- values -----------------------------------------------------------------------------------------------------------


def single(number: float) -> float:
    """The shortest decimal that is this float32."""
    for digits in range(6, 10):
        short = float(f"{number:.{digits}g}")
        if abs(short) < 3.4e38 and struct.pack("f", short) == struct.pack("f", number):
            return short
    return number


def brain(bits: int) -> float:
    """bfloat16."""
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def half(bits: int) -> float:
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def number(bits: Any, type_: str) -> Any:
    """What the bits of a register mean."""
    if isinstance(bits, str) or (type_[0] in "bu" and not type_.startswith("bf")):
        return bits
    if type_[0] == "s":
        width = int(type_[1:])
        return bits - (1 << width) if bits >> (width - 1) else bits
    if type_.endswith("x2"):
        one = brain if type_.startswith("b") else half
        return [plain(one(bits & 0xFFFF)), plain(one(bits >> 16))]
    if type_ == "f32":
        return plain(single(struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]))
    if type_ == "f64":
        return plain(struct.unpack("<d", struct.pack("<Q", bits))[0])
    return plain(brain(bits) if type_ == "bf16" else half(bits))


def plain(value: float) -> Any:
    """As JSON can have it."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) * value >= 0 and str(value) != "-0.0":
        return int(value)
    return value


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def compact(row: list[Any], lanes: list[int]) -> Any:
    """One number, a line, or all of them."""
    if not row:
        return []
    if all(value == row[0] and type(value) is type(row[0]) for value in row):
        return row[0]
    if len(row) > 2 and all(isinstance(value, int) for value in row):
        by, rest = divmod(row[1] - row[0], lanes[1] - lanes[0])
        line = [row[0] + by * (lane - lanes[0]) for lane in lanes]
        if rest == 0 and line == row:
            return {"from": row[0], "by": by}
    return row


# --- memories ---------------------------------------------------------------------------------------------------------


def parameter_names(kernel: str, sources: dict[str, list[str]]) -> list[str]:
    """The names of a kernel's parameters, if its definition is plainly there."""
    mangled = re.match(r"_Z(\d+)(\w+)", kernel)
    name = mangled[2][: int(mangled[1])] if mangled else kernel
    for lines in sources.values():
        text = re.sub(r"//.*|/\*.*?\*/", " ", "\n".join(lines))
        head = r"__global__[^;{}()]*(?:\([^()]*\))?[^;{}()]*"  # perhaps with __launch_bounds__(…)
        if found := re.search(rf"{head}\b{re.escape(name)}\s*\(([^()]*)\)", text):
            words = [re.findall(r"\w+", one.partition("=")[0]) for one in found[1].split(",")]
            return [one[-1] if one else "" for one in words]
    return []


class Memories:
    """What addresses point into; only those that something points into are listed."""

    def __init__(self, raw: list[Raw], names: list[str]) -> None:
        self.table: list[Raw] = []
        self.known = sorted((one for one in raw if one["memory"] == "global"), key=lambda one: one["base"])
        self.bases = [one["base"] for one in self.known]
        self.shared = [one for one in raw if one["memory"] == "shared" and one["label"]]
        self.whole = next((one for one in raw if one["memory"] == "shared" and not one["label"]), None)
        self.names = names
        self.index: dict[tuple[str, int], int] = {}

    def entry(self, space: str, found: Raw | None) -> int:
        key = (space, found["base"] if found else -1)
        if key not in self.index:
            self.index[key] = len(self.table)
            entry: Raw = {"space": space, "name": self.name(space, found)}
            if found:
                entry["bytes"] = found["bytes"]
            self.table.append(entry)
        return self.index[key]

    def name(self, space: str, found: Raw | None) -> str:
        if space == "shared" and found:
            variable = re.search(r"E(\d+)(\w+)$", found["label"])
            return variable[2][: int(variable[1])] if variable else found["label"] or "shared"
        if found is None:
            return space
        if "parameter" in found:
            position = found["parameter"]
            named = self.names[position] if position < len(self.names) else ""
            return named or f"parameter {position}"
        return found["label"]

    def allocation(self, address: int) -> Raw | None:
        at = bisect.bisect_right(self.bases, address) - 1
        # One past the end is where pointers in loops may stand.
        return self.known[at] if at >= 0 and address <= self.bases[at] + self.known[at]["bytes"] else None

    def variable(self, offset: int) -> Raw | None:
        for one in self.shared:
            if one["base"] <= offset < one["base"] + one["bytes"]:
                return one
        return self.whole

    def places(self, space: str, addresses: list[int]) -> list[tuple[int, int]]:
        """(memory, offset in it) of each."""
        out = []
        for address in addresses:
            found = None
            if space in ("global", "const"):
                found = self.allocation(address)
            elif space == "shared":
                found = self.variable(address)
            out.append((self.entry(space, found), address - (found["base"] if found else 0)))
        return out


# --- the trace --------------------------------------------------------------------------------------------------------


class Reader:
    """Of the machine's lines for one process."""

    def __init__(self) -> None:
        self.launches: list[Raw] = []
        self.head: Raw | None = None
        self.last: Raw | None = None  # written when the launch has ended
        self.raw_memories: list[Raw] = []
        self.raw_operations: dict[int, Raw] = {}
        self.raw_steps: list[Raw] = []

    def read(self, record: _child.Record) -> Reader:
        for raw in record.lines:
            if "launch" in raw:
                self.launches.append(raw)
            elif "trace" in raw:
                self.head = raw | {"number": len(self.launches)}
            elif "memory" in raw:
                self.raw_memories.append(raw)
            elif "operation" in raw:
                self.raw_operations[raw["operation"]] = raw
            elif "step" in raw or "barrier" in raw:
                self.raw_steps.append(raw)
            elif "traced" in raw:
                self.last = raw
        return self

    def trace(self, launch: int, block: list[int], steps: int) -> Raw:
        head = self.head
        assert head is not None
        sources: dict[str, list[str]] = {}
        for file, text in head["sources"].items():
            sources |= unpacked(file, text)
        memories = Memories(self.raw_memories, parameter_names(head["trace"], sources))
        files: list[str] = []
        texts: list[dict[str, str]] = []
        operations: list[Raw] = []
        numbers: dict[int, int] = {}
        for line, raw in self.raw_operations.items():
            if raw["file"] not in files:
                files.append(raw["file"])
                texts.append({})
            place = files.index(raw["file"])
            text = sources.get(raw["file"], [])
            if 0 < raw["line"] <= len(text):
                texts[place][str(raw["line"])] = text[raw["line"] - 1].rstrip()
            numbers[line] = len(operations)
            operation: Raw = {"ptx": raw["text"], "file": place, "line": raw["line"]}
            if raw["function"] != head["trace"]:
                operation["function"] = raw["function"]
            for key, name in (("written", "results"), ("given", "stores")):
                if raw.get(key):
                    operation[name] = raw[key]
            operations.append(operation)
        threads = math.prod(head["block"])
        out = [self.step(raw, numbers, operations, memories, threads) for raw in self.raw_steps]
        total = self.last["traced"] if self.last else len(self.raw_steps)
        message = self.last["message"] if self.last else "the program ended before the launch did"
        if not message and total > steps:
            message = f"the block has {total:,} steps, and these are the first {steps:,}"
        return {
            "format": FORMAT,
            "kernel": head["trace"],
            "name": head["name"],
            "launch": launch,
            "grid": head["grid"],
            "block": head["block"],
            "traced": block,
            "complete": not message,
            "message": message,
            "steps_in_block": total,
            "files": files,
            "source": [{key: lines[key] for key in sorted(lines, key=int)} for lines in texts],
            "memories": memories.table,
            "operations": operations,
            "steps": out,
        }

    def step(
        self, raw: Raw, numbers: dict[int, int], operations: list[Raw], memories: Memories, threads: int
    ) -> list[Any]:
        if "barrier" in raw:
            return ["barrier", raw["barrier"], raw["threads"]]
        index = numbers[raw["step"]]
        mask = raw["lanes"]
        lanes = lanes_of(mask)
        more: Raw = {}
        if mask != (1 << min(32, threads - 32 * raw["warp"])) - 1:
            more["lanes"] = mask
        for key, name in (("written", "results"), ("given", "stores")):
            if key in raw:
                types = [type_ for _, type_ in operations[index][name]]
                more[name] = [self.row(row, type_, lanes, memories) for row, type_ in zip(raw[key], types, strict=True)]
        for space in ("global", "shared", "local", "const", "param"):
            if space in raw:
                more.setdefault("access", []).extend(self.access(space, raw[space], mask, memories))
        if "taken" in raw:
            more["taken"] = raw["taken"]
        return [raw["warp"], index, more] if more else [raw["warp"], index]

    def row(self, row: Any, type_: str, lanes: list[int], memories: Memories) -> Any:
        if type_ == "pred" or not isinstance(row, list):
            return row if type_ == "pred" else number(row, type_)
        if type_ in ("u64", "s64", "b64") and all(memories.allocation(value) for value in row):
            places = memories.places("global", row)
            if len({memory for memory, _ in places}) == 1:
                return {"in": places[0][0], "at": compact([offset for _, offset in places], lanes)}
        return compact([number(value, type_) for value in row], lanes)

    def access(self, space: str, raw: Raw, mask: int, memories: Memories) -> list[list[Any]]:
        """One entry for each memory."""
        by_memory: dict[int, list[tuple[int, int]]] = {}
        for lane, (memory, offset) in zip(lanes_of(raw["lanes"]), memories.places(space, raw["at"]), strict=True):
            by_memory.setdefault(memory, []).append((lane, offset))
        out = []
        for memory, places in by_memory.items():
            lanes = [lane for lane, _ in places]
            entry = [memory, raw["bytes"], compact([offset for _, offset in places], lanes)]
            touched = sum(1 << lane for lane in lanes)
            out.append(entry if touched == mask else [*entry, touched])
        return out


def text_of(trace: Raw) -> str:
    """One step a line, so that two traces can be compared."""

    def short(value: object) -> str:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)

    parts = [
        f"{json.dumps(key)}:[\n" + ",\n".join(map(short, value)) + "\n]"
        if key in ("memories", "operations", "steps") and value
        else f"{json.dumps(key)}:{short(value)}"
        for key, value in trace.items()
    ]
    return "{" + ",\n".join(parts) + "}\n"


# --- the command ------------------------------------------------------------------------------------------------------


def whole(option: str, text: str, least: int, most: int) -> int:
    if not text.isdecimal() or (text.strip("0") == "" and least):
        sys.exit(f"softcuda: trace {option} needs a whole number from {least} on, not {text or 'nothing'}")
    if len(text) > 20 or int(text) > most:
        sys.exit(f"softcuda: trace {option} {text} is too large: at most {most:,}")
    return int(text)


def position(text: str) -> list[int]:
    """ "3" or "3,1" or "3,1,0"."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        sys.exit(f"softcuda: trace --block needs a block's index, such as 3 or 3,1,0, not {text or 'nothing'}")
    return [whole("--block", part, 0, MOST_BLOCKS) for part in parts] + [0] * (3 - len(parts))


def missing(readers: list[Reader], kernel: str, launch: int) -> str:
    """Why there is no trace."""
    every = [one for reader in readers for one in reader.launches]
    if not every:
        return "no kernel was launched"
    counts: dict[str, int] = {}
    for one in every:
        counts[one["launch"]] = counts.get(one["launch"], 0) + 1
    names = {one["launch"]: one["name"] for one in every}
    launched = ", ".join(
        f"{names[symbol]} ({count} times)" if count > 1 else names[symbol] for symbol, count in counts.items()
    )
    mangled = f"_Z{len(kernel)}{kernel}"
    of_it = sum(count for name, count in counts.items() if name == kernel or name.startswith(mangled))
    if of_it:
        return f"{kernel} was launched {of_it} time{'s' * (of_it > 1)}, so there is no launch {launch}"
    return f"no kernel {kernel} was launched; launched were {launched}"


def main(arguments: list[str]) -> int:
    """The program's exit status; 1 if it ended well and there is nothing to show."""
    kernel, block, launch, steps = "", [0, 0, 0], 1, STEPS
    file: Path | None = None
    while arguments and arguments[0] in ("--kernel", "--block", "--launch", "--steps", "-o"):
        option, value = arguments[0], "".join(arguments[1:2])
        if option == "-o":
            file, arguments = _output.take_file("trace", arguments)
            continue
        if option == "--kernel":
            kernel = value
        elif option == "--block":
            block = position(value)
        elif option == "--launch":
            launch = whole(option, value, 1, MOST_LAUNCHES)
        else:
            steps = whole(option, value, 1, MOST_STEPS)
        arguments = arguments[2:]
    if not re.fullmatch(r"[\w$]+", kernel):
        sys.exit(f"softcuda: trace which kernel? {_usage.USAGE['trace']}")
    _usage.check_program("trace", arguments)
    file = file or Path(f"{kernel}.trace.json")
    wanted = " ".join(map(str, [launch, steps, *block, kernel]))
    run = _child.run("trace", arguments, {"SOFTCUDA_TRACE": wanted})
    readers = [Reader().read(record) for record in run.records]
    if notice := run.notice("the trace has what ran until then"):
        print(notice, file=sys.stderr)
    written = write(readers, kernel, block, launch, steps, file)
    _child.end_as(run.code)
    return run.code or int(run.lost or not written)


def write(readers: list[Reader], kernel: str, block: list[int], launch: int, steps: int, file: Path) -> bool:
    """The trace into its file, and a line on stderr; false if there is nothing to write."""
    sys.stdout.flush()
    found = next((reader for reader in readers if reader.head), None)
    if found is None or found.head is None:
        print(f"softcuda: nothing traced: {missing(readers, kernel, launch)}", file=sys.stderr)
        return False
    grid = found.head["grid"]
    if any(at >= size for at, size in zip(block, grid, strict=True)):
        where = ",".join(map(str, block))
        print(
            f"softcuda: nothing traced: block ({where}) is not in the grid of {'x'.join(map(str, grid))}",
            file=sys.stderr,
        )
        return False
    trace = found.trace(launch, block, steps)
    if not _output.write(file, text_of(trace)):
        return False
    count = sum(step[0] != "barrier" for step in trace["steps"])
    words = f"{count:,} steps of block ({','.join(map(str, block))}), launch {launch} of {kernel}, are in {file}"
    print(f"softcuda: {words}", file=sys.stderr)
    if not any(operation["line"] for operation in trace["operations"]):
        print("softcuda: the trace names no source lines: line unknown: compile with -lineinfo", file=sys.stderr)
    if trace["message"]:
        more = "; --steps N for more" if found.last and not found.last["message"] else ""
        print(f"softcuda: the trace is partial: {trace['message'].splitlines()[0]}{more}", file=sys.stderr)
    return True
