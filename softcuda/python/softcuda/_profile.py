"""`softcuda profile`: what each launch asked of the hardware, per kernel and per CUDA source line.

The machine counts per PTX instruction and writes one JSON object a launch (src/inspect/profiler.h); here that becomes
Nsight Compute's metrics, and softcuda's own, whose names begin with softcuda__: those are counted on PTX or come from
a model, and need not equal what a GPU counts.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
import textwrap
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from softcuda import _child, _output, _usage
from softcuda._child import Record, Run

Numbers = dict[str, float]
OPERATIONS = {"load": "ld", "store": "st", "atomic": "atom", "reduction": "red"}
# Of each operation on shared memory NVIDIA counts atomic operations with and without a result together.
SHARED = OPERATIONS | {"reduction": "atom"}
PIPES = ("alu", "constant", "control", "fma", "fp64", "lsu", "tensor", "xu")
# What the Tensor Memory Accelerator moves, beside the LSU; a reduction is one of its own.
TMA = {"load": ("ld", "xbar2l1tex_read"), "store": ("st", "l1tex2xbar_write"), "reduction": ("red", "l1tex2xbar_write")}
# What `--json` gives of every launch, as the README lists it.
METRICS = (
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{kind}.sum" for what in ("requests", "sectors")
      for kind in OPERATIONS.values()),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum" for kind in ("ld", "st", "atom")),
    *(f"l1tex__m_{way}_{what}_mem_global_op_tma_{kind}.sum" for kind, way in TMA.values()
      for what in ("bytes", "sectors")),
    *(f"sm__sass_inst_executed_op_tma_{kind}.sum" for kind, _ in TMA.values()),
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_blocks",
    "sm__maximum_warps_per_active_cycle_pct",
    "softcuda__occupancy_limit_shared_mem",
    "softcuda__warp_instructions.sum",
    "softcuda__thread_instructions.sum",
    "softcuda__active_lanes_per_warp_instruction.ratio",
    *(f"softcuda__warp_instructions_pipe_{name}.sum" for name in PIPES),
    "softcuda__branches.sum",
    "softcuda__branches_diverged.sum",
    *(f"softcuda__bytes_asked_global_op_{kind}.sum" for kind in OPERATIONS.values()),
    "softcuda__l1_sectors_hit.sum",
    "softcuda__l1_hit_rate.pct",
    "softcuda__bytes_from_memory.sum",
    *(f"softcuda__{what}_shared_op_{kind}.sum" for what in ("requests", "wavefronts") for kind in ("ld", "st", "atom")),
    "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "sm__sass_data_bytes_mem_shared_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    *(f"softcuda__{what}_local_op_{kind}.sum" for what in ("requests", "bytes_asked") for kind in OPERATIONS.values()),
)  # fmt: skip


def pipe(instruction: str) -> str:
    """The pipe of an SM that a PTX instruction goes to, roughly: ptxas has the last word."""
    opcode, *modifiers = instruction.split(".")
    if opcode in ("ld", "ldu") and modifiers[:1] in (["param"], ["const"]):
        return "constant"
    if opcode in ("ld", "ldu", "st", "atom", "red", "shfl", "ldmatrix", "stmatrix", "cp", "prefetch", "mbarrier"):
        return "lsu"
    if opcode in ("mma", "wmma") or modifiers[:1] == ["mma_async"]:
        return "tensor"
    if opcode in ("bra", "brx", "call", "ret", "exit", "bar", "barrier", "trap", "wgmma"):
        return "control"
    if "f64" in modifiers:
        return "fp64"
    if opcode in ("rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh", "popc", "bfind", "brev", "clz") or (
        opcode == "cvt" and any(re.fullmatch(r"b?f\d+(x2)?", name) for name in modifiers)
    ):
        return "xu"
    floats = {"f32", "f16", "f16x2", "bf16", "bf16x2", "f32x2"} & set(modifiers)
    if opcode in ("mad", "mul", "fma") or (floats and opcode in ("add", "sub", "div")):
        return "fma"
    return "alu"


def metrics_of(operations: Iterable[dict[str, Any]]) -> Numbers:
    """Sums over PTX instructions, under the names that the README lists."""
    sums: Numbers = defaultdict(float)
    for operation in operations:
        warps, lanes = operation["warps"], operation["lanes"]
        sums["softcuda__warp_instructions.sum"] += warps
        sums["softcuda__thread_instructions.sum"] += lanes
        sums[f"softcuda__warp_instructions_pipe_{pipe(operation['text'])}.sum"] += warps
        product = operation["text"].startswith("wgmma.mma_async")
        if product:
            sums["sm__inst_executed_pipe_tensor_op_gmma.sum"] += warps
        sums["softcuda__branches.sum"] += operation.get("branches", 0)
        sums["softcuda__branches_diverged.sum"] += operation.get("diverged", 0)
        if (traffic := operation.get("global")) and ".async.bulk" in operation["text"]:
            kind, way = TMA[traffic["access"]]
            sums[f"l1tex__m_{way}_sectors_mem_global_op_tma_{kind}.sum"] += traffic["sectors"]
            sums[f"l1tex__m_{way}_bytes_mem_global_op_tma_{kind}.sum"] += 32 * traffic["sectors"]
            sums[f"sm__sass_inst_executed_op_tma_{kind}.sum"] += traffic["requests"]
        elif traffic:
            kind = OPERATIONS[traffic["access"]]
            sums[f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"] += traffic["requests"]
            sums[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum"] += traffic["sectors"]
            sums[f"softcuda__bytes_asked_global_op_{kind}.sum"] += traffic["bytes"]
            if kind == "ld":
                sums["softcuda__l1_sectors_hit.sum"] += traffic["hits"]
        if traffic := operation.get("shared"):
            kind = SHARED[traffic["access"]]
            conflicts = traffic["wavefronts"] - traffic["ideal"]
            if product:
                sums["sm__sass_data_bytes_mem_shared_op_gmma.sum"] += traffic["bytes"]
                sums["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"] += traffic["wavefronts"]
            if not operation["text"].startswith("cp."):  # the hardware counts asynchronous copies apart
                sums[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum"] += conflicts
            sums[f"softcuda__requests_shared_op_{kind}.sum"] += traffic["requests"]
            sums[f"softcuda__wavefronts_shared_op_{kind}.sum"] += traffic["wavefronts"]
        if traffic := operation.get("local"):
            kind = OPERATIONS[traffic["access"]]
            sums[f"softcuda__requests_local_op_{kind}.sum"] += traffic["requests"]
            sums[f"softcuda__bytes_asked_local_op_{kind}.sum"] += traffic["bytes"]
    return dict(sums)


def ratios(sums: Numbers) -> Numbers:
    """What follows from the sums."""
    found: Numbers = {}
    if warps := sums.get("softcuda__warp_instructions.sum"):
        found["softcuda__active_lanes_per_warp_instruction.ratio"] = sums["softcuda__thread_instructions.sum"] / warps
    if sectors := sums.get("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"):
        found["softcuda__l1_hit_rate.pct"] = 100 * sums["softcuda__l1_sectors_hit.sum"] / sectors
    return found


def by_line(operations: Iterable[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    lines: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for operation in operations:
        lines[operation["file"], operation["line"]].append(operation)
    return lines


def tidy(numbers: Numbers) -> Numbers:
    return {
        name: int(value) if float(value).is_integer() else round(value, 4) for name, value in sorted(numbers.items())
    }


class Launch:
    """One launch, from the machine's record of it; `partial`: it did not run to its end, `lost`: nothing is known."""

    def __init__(self, raw: dict[str, Any], sources: dict[str, list[str]], *, lost: bool = False) -> None:
        self.lost = lost
        self.partial = lost or not raw["ok"]
        self.kernel: str = raw["kernel"]
        self.name: str = raw["name"]  # as C++ has it
        self.grid: list[int] = raw["grid"]
        self.block: list[int] = raw["block"]
        self.raw = raw
        self.sources = sources
        sums = metrics_of(raw["operations"])
        every: Numbers = dict.fromkeys(METRICS, 0)
        memory = {"softcuda__bytes_from_memory.sum": raw["memory_bytes"]}
        self.metrics = every | sums | ratios(sums) | raw["launch"] | memory

    def source(self, file: str, line: int) -> str:
        text = self.sources.get(file, [])
        return text[line - 1].rstrip() if 0 < line <= len(text) else ""

    def lines(self) -> list[dict[str, Any]]:
        """Per source line, the costliest first."""
        rows = []
        for (file, line), operations in by_line(self.raw["operations"]).items():
            sums = metrics_of(operations)
            numbers = {name: value for name, value in (sums | ratios(sums)).items() if value}
            rows.append({"file": file, "line": line, "source": self.source(file, line), "metrics": numbers})
        return sorted(rows, key=lambda row: -cost(row["metrics"]))

    def json(self) -> dict[str, Any]:
        rows = [row | {"metrics": tidy(row["metrics"])} for row in self.lines()]
        return {
            "kernel": self.kernel,
            "name": self.name,
            "grid": self.grid,
            "block": self.block,
            "partial": self.partial,
            "metrics": tidy(self.metrics),
            "lines": rows,
        }


def cost(numbers: Numbers) -> float:
    """Cycles of an SM's pipes that a line takes, at the least: what the table is sorted by.

    A warp instruction takes an issue slot, of which an SM has four a cycle; a sector takes a quarter of the 128 bytes
    that L1 moves a cycle, a wavefront of shared memory a whole cycle.
    """
    sectors = sum(value for name, value in numbers.items() if name.startswith("l1tex__t_sectors"))
    wavefronts = sum(value for name, value in numbers.items() if name.startswith("softcuda__wavefronts_shared"))
    return numbers.get("softcuda__warp_instructions.sum", 0) / 4 + sectors / 4 + wavefronts


def unpacked(file: str, text: str) -> dict[str, list[str]]:
    """Lines by file name, with `#line 12 "name"` understood as the compiler does."""
    found: dict[str, list[str]] = defaultdict(list)
    lines_of_text = zlib.decompress(base64.b64decode(text)).decode(errors="replace").splitlines()
    if file.endswith(".py"):  # there, `# line 12` is a comment
        return {file: lines_of_text}
    number = 1
    for line in lines_of_text:
        if named := re.match(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]*)")?', line):
            number, file = int(named[1]), named[2] or file
            continue
        lines = found[file]
        lines += [""] * (number - len(lines))
        lines[number - 1] = line
        number += 1
    return found


def read(records: list[Record]) -> tuple[list[Launch], int]:
    """The launches of a program and its child processes, and how many more it asked for that never began."""
    launches: list[Launch] = []
    waiting = 0
    for record in records:
        programs: dict[int, dict[str, list[str]]] = defaultdict(dict)  # their sources
        begun: list[dict[str, Any]] = []  # and not ended; the last one was launched by the one before
        for raw in record.lines:
            if "sources" in raw:
                for file, text in raw["sources"].items():
                    programs[raw["program"]] |= unpacked(file, text)
            elif "queued" in raw:
                waiting += 1
            elif "begins" in raw:
                begun.append(raw)
                waiting -= raw["depth"] == 0
            elif "kernel" in raw:
                begun.pop()
                launches.append(Launch(raw, programs[raw["program"]]))
        for raw in reversed(begun):
            nothing = {"kernel": raw["begins"], "operations": [], "launch": {}, "memory_bytes": 0}
            launches.append(Launch(raw | nothing, {}, lost=True))
    return launches, waiting


# --- for people -------------------------------------------------------------------------------------------------------


def whole(number: float) -> str:
    return f"{number:,.0f}"


def mix(m: dict[str, float], total: float) -> str:
    """The pipes that instructions go to, the busiest first."""
    prefix, suffix = "softcuda__warp_instructions_pipe_", ".sum"
    pipes = {name[len(prefix) : -len(suffix)]: count for name, count in m.items() if name.startswith(prefix)}
    shares = sorted(
        ((100 * count / total, name) for name, count in pipes.items() if count), key=lambda x: (-x[0], x[1])
    )
    return ", ".join(f"{name} {share:.0f} %" if share >= 0.5 else f"{name} < 1 %" for share, name in shares)


def summary(launch: Launch) -> list[str]:
    """What there is to say of a kernel, a line a part of the machine."""
    if launch.lost:
        return ["  the process ended while it ran, and what was counted went with it"]
    m: dict[str, float] = defaultdict(float, launch.metrics)
    total = m["softcuda__warp_instructions.sum"]
    out = [
        f"  {whole(total)} warp instructions,"
        f" {m['softcuda__active_lanes_per_warp_instruction.ratio']:.1f} of 32 lanes active"
        f"; {whole(m['softcuda__branches.sum'])} branches, {whole(m['softcuda__branches_diverged.sum'])} diverged"
    ]
    if pipes := mix(m, total):
        out.append(f"  by pipe: {pipes}")
    for kind, word in (("ld", "loads"), ("st", "stores"), ("atom", "atomics"), ("red", "reductions")):
        if requests := m[f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"]:
            sectors = m[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum"]
            asked = m[f"softcuda__bytes_asked_global_op_{kind}.sum"]
            text = f"  global {word}: {whole(requests)} requests, {whole(sectors)} sectors"
            text += f" ({sectors / requests:.1f} per request"
            if kind in ("ld", "st"):
                text += f", {100 * asked / (32 * sectors):.0f} % of their bytes asked for"
            out.append(text + ")")
    for (kind, way), word in zip(TMA.values(), ("loads", "stores", "reductions"), strict=True):
        if copies := m[f"sm__sass_inst_executed_op_tma_{kind}.sum"]:
            sectors = m[f"l1tex__m_{way}_sectors_mem_global_op_tma_{kind}.sum"]
            out.append(f"  bulk {word}: {whole(copies)} copies, {whole(sectors)} sectors")
    if m["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]:
        hits, bytes_read = m["softcuda__l1_hit_rate.pct"], m["softcuda__bytes_from_memory.sum"]
        out.append(f"  by the model of the caches, L1 hits {hits:.0f} %; {whole(bytes_read)} bytes come from memory")
    for kind, word in (("ld", "loads"), ("st", "stores"), ("atom", "atomics")):
        if requests := m[f"softcuda__requests_shared_op_{kind}.sum"]:
            wavefronts = m[f"softcuda__wavefronts_shared_op_{kind}.sum"]
            conflicts = m[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum"]
            out.append(
                f"  shared {word}: {whole(requests)} requests, {whole(wavefronts)} wavefronts,"
                f" {whole(conflicts)} bank conflicts"
            )
    limits = {
        "warps": m["launch__occupancy_limit_warps"],
        "registers": m["launch__occupancy_limit_registers"],
        "shared memory": m["softcuda__occupancy_limit_shared_mem"],
        "blocks": m["launch__occupancy_limit_blocks"],
    }
    least = min(limits.values())
    shared = m["launch__shared_mem_per_block_static"] + m["launch__shared_mem_per_block_dynamic"]
    out.append(
        f"  {whole(m['launch__registers_per_thread'])} registers per thread, {whole(shared)} bytes of shared"
        " memory per block"
    )
    out.append(
        f"  occupancy {m['sm__maximum_warps_per_active_cycle_pct']:.0f} %:"
        f" {least:.0f} block{'s' * (least != 1)} per SM, limited by "
        + " and ".join(name for name, limit in limits.items() if limit == least)
    )
    return out


def table(launch: Launch, width: int, most: int = 12) -> list[str]:
    """Source lines, the costliest first."""
    heads = ("line", "warp instr.", "lanes", "sectors/req.", "conflicts", "source")
    rows = []
    every = launch.lines()
    if not every:
        return []
    if not any(row["line"] for row in every):
        return ["  by source line: line unknown: compile with -lineinfo"]
    total = sum(cost(row["metrics"]) for row in every) or 1
    shown = [row for row in every if cost(row["metrics"]) >= total / 200][:most]
    for row in shown:
        m: dict[str, float] = defaultdict(float, row["metrics"])
        requests = sum(v for k, v in m.items() if k.startswith("l1tex__t_requests"))
        sectors = sum(v for k, v in m.items() if k.startswith("l1tex__t_sectors"))
        conflicts = sum(v for k, v in m.items() if k.startswith("l1tex__data_bank_conflicts"))
        shared = any(k.startswith("softcuda__requests_shared") for k in m)
        rows.append(
            (
                f"{Path(row['file']).name}:{row['line']}" if row["line"] else "line unknown",
                whole(m["softcuda__warp_instructions.sum"]),
                f"{m['softcuda__active_lanes_per_warp_instruction.ratio']:.1f}",
                f"{sectors / requests:.1f}" if requests else "",
                whole(conflicts) if shared else "",
                row["source"].strip(),
            )
        )
    widths = [max(len(str(cell)) for cell in column) for column in zip(heads, *rows, strict=True)]
    widths[-1] = max(10, width - sum(widths[:-1]) - 2 * len(widths))
    out = []
    for cells in (heads, *rows):
        aligned = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:-1], widths[1:-1], strict=True))]
        source = cells[-1] if len(cells[-1]) <= widths[-1] else cells[-1][: widths[-1] - 1] + "…"
        out.append("  " + "  ".join([*aligned, source]).rstrip())
    if len(every) > len(shown):
        out.append(f"  … and {len(every) - len(shown)} cheaper lines")
    return out


def folded(lines: list[str], width: int) -> list[str]:
    """Lines that are too long, in several."""
    out = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        out += textwrap.wrap(line, width, subsequent_indent=indent + "    " * bool(indent), break_long_words=False)
    return out


def report(launches: list[Launch]) -> str:
    """Kernels in the order of their first launches; those of one shape and one outcome are reported once."""
    width = max(60, shutil.get_terminal_size((100, 24)).columns)
    groups: dict[str, list[int]] = defaultdict(list)
    for index, launch in enumerate(launches):
        alike = [launch.kernel, launch.grid, launch.block, launch.partial, launch.metrics]
        groups[json.dumps(alike, sort_keys=True)].append(index)
    out = []
    for indices in groups.values():
        launch = launches[indices[0]]
        which = f"launch {indices[0] + 1}" if len(indices) == 1 else f"{len(indices)} launches, first {indices[0] + 1}"
        shape = f"grid {'x'.join(map(str, launch.grid))}, block {'x'.join(map(str, launch.block))}"
        partial = "; partial: it did not run to its end" if launch.partial else ""
        head = f"{launch.name}  ({which} of {len(launches)}; {shape}{partial})"
        out += ["", head, *folded(summary(launch), width), *table(launch, width)]
    ending = "Requests, sectors and bank conflicts are what a GPU counts; the rest is counted on PTX or modelled."
    out += ["", *folded([ending], width)]
    return "\n".join(out[1:])


def main(arguments: list[str]) -> int:
    """`softcuda profile [--json FILE] [-m] PROGRAM ...`; the program's ending stays its own."""
    file = None
    if arguments[:1] == ["--json"]:
        file, arguments = _output.take_file("profile", arguments)
    _usage.check_program("profile", arguments)
    run = _child.run("profile", arguments)
    written = show(*read(run.records), file, run)
    _child.end_as(run.code)
    return run.code or int(run.lost or not written)


def show(launches: list[Launch], waiting: int, file: Path | None, run: Run) -> bool:
    cut = sum(launch.partial for launch in launches)
    gaps = [f"{cut} launch{'es' * (cut != 1)} cut short"] * bool(cut) + [f"{waiting} that never began"] * bool(waiting)
    if notice := run.notice(f"the profile has what ran until then{', ' * bool(gaps)}{' and '.join(gaps)}"):
        print(notice, file=sys.stderr)
    elif gaps:
        print(f"softcuda: the profile is partial: {' and '.join(gaps)}", file=sys.stderr)
    if file is not None:
        return _output.write_json(file, [launch.json() for launch in launches])
    if launches:
        return _output.show("\n" + report(launches))
    print("softcuda: no kernel was launched", file=sys.stderr)
    return True
