"""`softcuda check`: what is wrong with a program's kernels, in words and with the lines to look at.

The machine watches every access and writes one JSON object a finding (src/inspect/checker.h); here that becomes
sentences, each with a hint.  The program runs in a process of its own, so that what it has not freed when it ends, or
what it found until it crashed, can be reported too.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softcuda import _child, _output, _sarif, _usage
from softcuda._child import Record, Run
from softcuda._locate import Place, Project, project_of
from softcuda._profile import unpacked
from softcuda._sarif import VERBS, format_index

Finding = dict[str, Any]
# What PyCUDA's own kernels are generated from: its reductions and scans.
LIBRARY = (
    ("PyCUDA's reduction", ("#define READ_AND_MAP(i)", "#define REDUCE(a, b)", "seq_count")),
    ("PyCUDA's scan", ("#define SCAN_EXPR(a, b)", "#define WG_SIZE")),
)
FAULT = re.compile(
    r"[^:]+: kernel (?P<kernel>.+?), block \((?P<block>[\d,]+)\), thread \((?P<thread>[\d,]+)\): (?P<what>.*); "
    r"(?:PTX line (?P<ptx_line>\d+)|(?P<file>.*):(?P<line>\d+)) \((?P<instruction>[^()]*)\)",
    re.DOTALL,
)
DEADLOCK = re.compile(r"deadlock: kernel .+?, block \((?P<block>[\d,]+)\): ", re.DOTALL)
WAITING = re.compile(  # a warp of that, and where
    r"\n *warp (?P<warp>\d+), lanes (?P<lanes>0x[0-9a-f]+), (?P<wait>[^\n]*): "
    r"(?:PTX line (?P<ptx_line>\d+)|(?P<file>[^\n:]+):(?P<line>\d+)) \((?P<instruction>[^()]*)\)"
)
TITLES = {
    "race": "race in {space} memory",
    "warp-synchronous": "lanes of a warp taken to run in step ({space} memory)",
    "async-copy": "asynchronous copy not waited for",
    "proxy": "threads and a bulk copy, with no fence.proxy.async between",
    "mbarrier": "mbarrier whose phase cannot end",
    "mbarrier-init": "mbarrier that the copy engine need not see",
    "uninitialised": "read of uninitialised {space} memory",
    "out-of-bounds": "access out of bounds",
    "misaligned": "misaligned access",
    "barrier": "barrier that not every thread reaches",
    "inactive-lane": "warp operation with a lane that takes no part",
    "wgmma-register": "register of a wgmma that is under way",
    "wgmma-fence": "no wgmma.fence before a wgmma",
    "wgmma-operand": "shared memory written under a wgmma that reads it",
    "proxy-fence": "no fence.proxy.async before a wgmma",
    "leak": "device memory never freed",
    "illegal-instruction": "illegal instruction",
    "stack-overflow": "stack overflow",
    "assertion": "assertion failed",
}
HINTS = {
    "race": "put __syncthreads() between the two {accesses}, where every thread of the block reaches it",
    "race in one line": "same line, written by one thread and read by another: put __syncthreads() between the read and"
    " the write, where every thread of the block reaches it",
    "writes in one line": "same line, several threads write one element: let one of them write, use an atomic, or give"
    " each thread an element of its own",
    "race between blocks": "blocks run in any order and at once: update with atomics, or leave the second step to"
    " another launch (or __threadfence() and an atomic counter that identifies the last block)",
    "race in one instruction": "lanes write different values to one place and which one stays is not defined:"
    " let one of them write, or use an atomic",
    "warp-synchronous": "since Volta the lanes of a warp need not run in step, and volatile does not change that:"
    " put __syncwarp() between the two {accesses}, or use a shuffle",
    "warp-synchronous in one line": "since Volta the lanes of a warp need not run in step, and volatile does not change"
    " that: put __syncwarp() between the read and the write of this line, or use a shuffle",
    "async-copy": "wait for the copy (__pipeline_wait_prior, cg::wait), then let the block meet (__syncthreads())",
    "async-copy bulk": "wait for the copy's mbarrier (mbarrier.try_wait, cuda::barrier::wait) before the data are used",
    "async-copy source": "wait until the copy has read its source (cp.async.bulk.wait_group.read 0), in the thread that"
    " began it, then let the block meet",
    "async-copy exit": "wait until the copy has read its source (cp.async.bulk.wait_group.read 0) before the end of the"
    " kernel, in the thread that began it: no other can",
    "async-copy copies": "wait for the first copy before the second one is begun",
    "proxy": "a barrier orders threads, not the copy engine: put fence.proxy.async.shared::cta"
    " (cuda::ptx::fence_proxy_async) behind the access, before the barrier",
    "mbarrier": "a phase ends after as many arrivals as mbarrier.init names and exactly the bytes of expect_tx: compare"
    " both with what arrives, and the parity with the phase that is waited for",
    "mbarrier-init": "a barrier orders threads, not the copy engine: put fence.mbarrier_init.release.cluster"
    " (cuda::ptx::fence_mbarrier_init) or fence.proxy.async behind mbarrier.init, before the barrier",
    "uninitialised global": "cuMemAlloc (gpuarray.empty, mem_alloc) leaves what was there: copy or fill first"
    " (gpuarray.zeros, memset_d32), or write before this line",
    "uninitialised shared": "shared memory holds nothing when a block begins: write the element first,"
    " also at the edges",
    "out-of-bounds": "guard the access, e.g. if (i < n), and check the size of the allocation against grid and block",
    "misaligned": "an access of n bytes needs an address that is a multiple of n: check the offset and the cast",
    "barrier": "move the barrier out of the condition (and no early return before it): a guard around the work,"
    " not around the barrier",
    "inactive-lane": "name exactly the lanes that take part in the mask, and read only from those: let all lanes come"
    " and give the idle ones a neutral value",
    "wgmma-register": "until wgmma.wait_group the product owns its sums, and A if that is in registers: wait first",
    "wgmma-fence": "put wgmma.fence behind the last write to the sums; an empty asm volatile that has them as operands"
    ' ("+f") keeps the compiler from moving arithmetic behind it',
    "wgmma-fence A": "put wgmma.fence behind the last write to the registers of A and before the wgmma.mma_async",
    "wgmma-fence first": "put wgmma.fence before it: PTX requires one before the first wgmma.mma_async of a kernel",
    "wgmma-operand": "wgmma may read its operands until wgmma.wait_group: wait, let the block meet, then write",
    "wgmma-operand other warp": "a wait covers what its own warp reads, and each of the four warps reads all of B:"
    " put a barrier of the warpgroup (bar.sync with 128 threads, or __syncthreads()) between the wait and the write",
    "proxy-fence": "wgmma reads shared memory through the asynchronous proxy: put fence.proxy.async behind the writes"
    " and before the barrier",
    "leak": "free it (DeviceAllocation.free()) or drop the last reference before the context ends",
}

# Where the lines are Python, of a Triton kernel.
TRITON_HINTS = {
    "race": "put tl.debug_barrier() between the two {accesses}: what one thread of a program stores, another may load",
    "race in one line": "same line, written by one thread and read by another: put tl.debug_barrier() between the load"
    " and the store, or load into registers first",
    "writes in one line": "same line, several threads write one element: mask all stores but one, make the offsets"
    " differ, or use an atomic (tl.atomic_add)",
    "race between blocks": "programs run in any order and at once: use atomics (tl.atomic_add, tl.atomic_max, …), give"
    " each program elements of its own, or leave the second step to another launch",
    "race in one instruction": "lanes write different values to one place and which one stays is not defined:"
    " make the offsets differ, or use an atomic (tl.atomic_add)",
    "reduction": "the compiler's reduction: with fused multiply-adds the lanes that store one sum differ in its last"
    " bit; enable_fp_fusion=False at the launch (or TRITON_DEFAULT_FP_FUSION=0) makes them equal",
    "async-copy": "the compiler places the waits for copies, unless the kernel is written in Gluon: there, wait"
    " (async_copy.wait_group) before the shared memory is read",
    "uninitialised global": "the memory was allocated and not written (gpuarray.empty, mem_alloc): fill it first"
    " (gpuarray.zeros), or mask the load",
    "uninitialised shared": "the compiler fills shared memory, unless the kernel is written in Gluon: there, store"
    " before the load",
    "out-of-bounds": "mask the access, e.g. tl.load(pointer + offsets, mask=offsets < n), and check the size of the"
    " allocation against the grid",
    "leak": "drop the last reference before the program ends, or call .free() on a DeviceAllocation",
}
TRITON_HINTS["warp-synchronous"] = TRITON_HINTS["race"]
TRITON_HINTS["warp-synchronous in one line"] = TRITON_HINTS["race in one line"]


def place(who: Finding) -> str:
    return f"{who['file']}:{who['line']}" if who["line"] else f"PTX line {who['ptx_line']}"


def same_place(finding: Finding) -> bool:
    return "second" in finding and place(finding["first"]) == place(finding["second"])


def of_triton(finding: Finding) -> bool:
    """Whether the kernel is Triton's: it came with its Python source (_ptxas.py), which Numba's do not."""
    first = finding.get("first", {})
    return (first.get("file") or "").endswith(".py") and bool(first.get("source"))


def thread(who: Finding) -> str:
    return f"thread {format_index(who['thread'])} of block {format_index(who['block'])}"


def does(who: Finding) -> str:
    return f"{thread(who)} {VERBS.get(who['does'], who['does'])} at {place(who)}"


def sentence(finding: Finding) -> str:
    """What happened, plainly."""
    kind, what = finding["kind"], finding.get("what", "")
    if "message" in finding:
        return finding["message"]
    if kind == "leak":
        count = finding["count"]
        return (
            f"{count} allocation{'s' * (count > 1)} of {finding['allocation']['from']},"
            f" {finding['allocation']['bytes']:,} bytes in all,"
            f" {'were' if count > 1 else 'was'} alive when the context or the program ended"
        )
    first, second = finding["first"], finding.get("second")
    if kind == "proxy" and second:
        copy = "overwrites" if second["does"] == "write" else "reads"
        return (
            f"{does(first)}, and a bulk copy that {thread(second)} begins at {place(second)} {copy} the same bytes with"
            " no fence.proxy.async between"
        )
    if kind == "mbarrier-init" and second:
        return (
            f"{does(first)} the mbarrier of the bulk copy that {thread(second)} begins at {place(second)}, with neither"
            " fence.mbarrier_init nor fence.proxy.async between"
        )
    if kind == "async-copy" and what == "exit":
        return (
            f"{thread(first)} ends, and the bulk copy that it began at {place(first)} may still read the shared memory"
            " of its block, which another block may get"
        )
    if kind == "async-copy" and what in ("bulk", "source", "copies"):
        begins = f"a bulk copy that {thread(first)} begins at {place(first)} {first['does']}s shared memory"
        touches = f"{thread(second)} begins another one at {place(second)}" if what == "copies" else does(second)
        return f"{begins}, {touches}, and nobody has waited for the copy"
    if kind in ("race", "warp-synchronous", "async-copy") and second:
        if what == "one instruction":
            return f"{thread(first)} and {thread(second)} write different values to one address at {place(first)}"
        barrier = "barrier" if of_triton(finding) else "__syncwarp()"
        ending = {
            "race": "nothing orders the two",
            "warp-synchronous": f"both are lanes of one warp with no {barrier} between",
            "async-copy": "the asynchronous copy need not have arrived",
        }[kind]
        return f"{does(first)}, {does(second)}, and {ending}"
    if kind == "uninitialised":
        return f"{does(first)} what nobody has written"
    if kind == "barrier" and second:
        if what == "ended":
            return (
                f"{finding.get('value', 'some')} threads of the block, {thread(second)} among them, ended without"
                f" reaching the barrier where {thread(first)} waits ({place(first)})"
            )
        return (
            f"{thread(first)} waits at {place(first)} while {thread(second)} waits at {place(second)}:"
            " the hardware takes them for one barrier"
        )
    if kind == "inactive-lane" and second:
        if first["does"] == "names":
            return f"{thread(first)} names {thread(second)} in its mask, which has ended ({place(first)})"
        mask = f" (mask {finding['value']:#010x})" if "value" in finding else ""
        return (
            f"{thread(first)} reads from {thread(second)}, which {second['does']}{mask}, at {place(first)}:"
            " the value is undefined"
        )
    if kind == "wgmma-fence" and what == "first":
        return f"{thread(first)} reaches the wgmma.mma_async at {place(first)} with no wgmma.fence before it"
    if second and "wgmma" in HINTS.get(kind, ""):
        product = f"the wgmma.mma_async at {place(first if kind == 'wgmma-register' else second)}"
        return {
            "wgmma-register": f"{does(second)} a register that {product} owns until its wait",
            "wgmma-fence": f"{does(first)} a register that {product} uses, and no wgmma.fence stands between",
            "wgmma-operand": f"{does(first)} what {product} may still read"
            + f" for {thread(second)}, whose wait nothing orders before the write" * (what == "other warp"),
            "proxy-fence": f"{does(first)} what {product} reads, and no fence.proxy.async stands between",
        }[kind]
    return what or kind


def where(finding: Finding) -> str:
    """The address, and what it belongs to."""
    if "address" not in finding or finding["kind"] == "leak":
        return ""
    if allocation := finding.get("allocation"):
        text = f"allocation {allocation['number']} ({allocation['bytes']:,} bytes, {allocation['from']})"
        if "offset" in allocation:
            return f"byte {allocation['offset']:,} of {text}, address {finding['address']:#x}"
        return f"{text}, address {finding['address']:#x}"
    if finding.get("space") == "shared":
        # _ZZ6kernelPiE4tile, and what else C++ makes of a name
        mangled = re.search(r"E(\d+)(\w+)$", finding.get("variable", ""))
        name = mangled[2][: int(mangled[1])] if mangled else finding.get("variable", "")
        return f"byte {finding['offset']:,} of " + (f"{name}, in" if name else "the block's") + " shared memory"
    return ""


def hint(finding: Finding) -> str:
    kind, what = finding["kind"], finding.get("what", "")
    python = of_triton(finding)
    hints = HINTS | TRITON_HINTS if python else HINTS
    one_place = kind in ("race", "warp-synchronous") and same_place(finding)
    if one_place and not python and (atomic := update(finding["first"]["source"])):
        who = "blocks" if what == "blocks" else "lanes" if kind == "warp-synchronous" else "threads"
        return f"same line, read and written by several {who}: use {atomic}"
    if kind == "race" and what == "blocks":
        return hints["race between blocks"]
    if kind == "race" and what == "one instruction":
        reduces = python and finding.get("space") == "shared"
        return hints["reduction" if reduces else "race in one instruction"]
    if one_place:
        if finding["first"]["does"] == finding["second"]["does"] == "write":
            return hints["writes in one line"]
        return hints[f"{kind} in one line"]
    if not python and f"{kind} {what}" in HINTS:
        return HINTS[f"{kind} {what}"]
    if kind == "uninitialised":
        return hints[f"uninitialised {finding['space']}"]
    known = "first" in finding and finding["first"]["line"]
    return hints.get(kind, "").format(accesses="lines" if known else "accesses")


SUBSCRIPT = r"\[(?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*\]"
ELEMENT = rf"(?:\*\s*)*\b[A-Za-z_]\w*(?:\s*(?:->|\.)\s*\w+|\s*{SUBSCRIPT})*"
UPDATE = re.compile(
    rf"(?:\+\+|--)\s*(?P<counted>{ELEMENT})"
    rf"|(?P<element>{ELEMENT})\s*(?P<operator>\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))(?P<value>.*)"
)
ATOMICS = {"+": "atomicAdd", "-": "atomicAdd", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor"}
ATOMICS |= {"min": "atomicMin", "max": "atomicMax"}
OTHER_ATOMIC = "an atomic (atomicCAS in a loop)"


def update(line: str) -> str:
    """The atomic in place of a line that reads and writes one element, such as `a[i] += x`; empty if it does not."""
    line = re.sub(r"//.*|/\*.*?\*/|\bfor\s*\([^()]*(?:\([^()]*\)[^()]*)*\)", " ", line)
    for statement in re.split("[;{}]", line):
        found = UPDATE.search(statement)
        if not found:
            continue
        if found["counted"] or found["operator"] in ("++", "--"):
            return "atomicAdd"
        element, value = (re.sub(r"\s", "", text) for text in found.group("element", "value"))
        array = re.search(r"\w+", element)
        if array and re.search(rf"\b{array[0]}\b", value.replace(element, "")):
            continue  # it reads another element of the array as well, which another thread may write
        if found["operator"] != "=":
            return ATOMICS.get(found["operator"][0], OTHER_ATOMIC)
        if element in value:
            called = re.match(r"(?:\w+::)*f?(min|max)f?\(", value)
            near = re.search(rf"([-+&|^]){re.escape(element)}|{re.escape(element)}([-+&|^])", value)
            return ATOMICS.get(called[1] if called else near[1] or near[2] if near else "", OTHER_ATOMIC)
    return ""


class Program:
    """A module's sources, and whether they are a library's."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.lines: dict[str, list[str]] = {}
        for file, text in sources.items():
            self.lines |= unpacked(file, text)
        text = "\n".join("\n".join(lines) for lines in self.lines.values())
        self.library = next((name for name, marks in LIBRARY if all(mark in text for mark in marks)), "")

    def source(self, who: Finding) -> str:
        lines = self.lines.get(who["file"], [])
        return lines[who["line"] - 1].strip() if 0 < who["line"] <= len(lines) else ""


def place_of(match: re.Match[str]) -> Finding:
    """Where a fault's message says that it happened."""
    numbers = {key: int(match[key] or 0) for key in ("line", "ptx_line")}
    return {"file": match["file"] or "", **numbers, "instruction": match["instruction"]}


def understood(raw: Finding, program: Program) -> Finding:
    """A finding with all that is said of it."""
    finding = {key: value for key, value in raw.items() if key != "program"}
    message = finding.get("message", "")
    if match := FAULT.match(message):
        numbers = {key: [int(n) for n in match[key].split(",")] for key in ("block", "thread")}
        finding["first"] = {"does": "faults", **place_of(match), **numbers}
    if (match := DEADLOCK.match(message)) and (warps := list(WAITING.finditer(message))):
        # The others may wait at a barrier for those that wait at an mbarrier.
        cause = "at an mbarrier " if finding["kind"] == "mbarrier" else ""
        warp = next((one for one in warps if one["wait"].startswith(cause)), warps[0])
        lanes = int(warp["lanes"], 16)
        x, y, _ = finding["block"]
        number = int(warp["warp"]) * 32 + (lanes & -lanes).bit_length() - 1
        finding["first"] = {
            "does": "waits",
            **place_of(warp),
            "block": [int(n) for n in match["block"].split(",")],
            "thread": [number % x, number // x % y, number // (x * y)],
        }
    for who in ("first", "second"):
        if who in finding:
            finding[who]["source"] = program.source(finding[who])
    finding["title"] = TITLES.get(finding["kind"], finding["kind"]).format(space=finding.get("space", ""))
    finding["text"] = sentence(finding)
    finding["where"] = where(finding)
    finding["hint"] = hint(finding)
    finding["library"] = program.library
    return finding


def read(records: list[Record], *, failed: bool = False) -> list[Finding]:
    """Findings of a program and its child processes."""
    return [finding for finding, _ in read_with_programs(records, failed=failed)]


def read_with_programs(records: list[Record], *, failed: bool = False) -> list[tuple[Finding, Program]]:
    """Findings of a program and its child processes, each with the module that its kernel is from.

    `failed`: the program did not end well, so nothing it left allocated is a leak.
    """
    findings: dict[str, tuple[Finding, Program]] = {}
    leaks: dict[str, Finding] = {}
    for record in records:
        programs: dict[int, Program] = {}
        for raw in record.lines:
            if "sources" in raw:
                programs[raw["program"]] = Program(raw["sources"])
            elif raw.get("kind") == "leak":
                leak = leaks.setdefault(raw["allocation"]["from"], raw | {"count": 0, "sizes": []})
                leak["count"] += 1
                leak["sizes"].append(raw["allocation"]["bytes"])
            elif "kind" in raw:
                program = programs.get(raw.get("program", 0), Program({}))
                finding = understood(raw, program)
                key = [finding["kernel"], finding["kind"], finding.get("space")]
                key += sorted(place(finding[who]) for who in ("first", "second") if who in finding)
                findings.setdefault(json.dumps(key), (finding, program))
    for leak in {} if failed else leaks.values():
        leak["allocation"]["bytes"] = sum(leak.pop("sizes"))
        nothing = Program({})
        findings[json.dumps(["leak", leak["allocation"]["from"]])] = (understood(leak, nothing), nothing)
    return list(findings.values())


def locate(finding: Finding, program: Program, project: Project, fallback: Path) -> _sarif.Located:
    """Where in the project's files the finding's lines stand; `fallback` if that cannot be said."""

    def place_of_access(who: str) -> Place | None:
        access = finding.get(who)
        if not access or finding["library"]:  # which stands in no file of the project
            return None
        source = program.lines.get(access["file"], [])
        return project.find(access["file"], access["line"], source, finding["name"])

    first, second = place_of_access("first"), place_of_access("second")
    return _sarif.Located(finding, first or second or Place(fallback), first, second)


# --- for people -------------------------------------------------------------------------------------------------------


def describe(number: int, finding: Finding, width: int) -> list[str]:
    def wrapped(text: str, first: str = "   ") -> list[str]:
        out = []
        for index, line in enumerate(text.splitlines()):
            out += textwrap.wrap(line, width, initial_indent=first if index == 0 else "   ", subsequent_indent="   ",
                                 break_long_words=False, break_on_hyphens=False)  # fmt: skip
        return out

    kernel = f" in kernel {finding['name']}" if "name" in finding else ""
    out = [f"{number}. {finding['title']}{kernel}", *wrapped(finding["text"])]
    seen = set()
    for who in ("first", "second"):
        if who in finding and finding[who].get("source") and place(finding[who]) not in seen:
            seen.add(place(finding[who]))
            out.append(f"     {finding[who]['line']:>5} | {finding[who]['source']}")
    if "first" in finding and not finding["first"]["line"] and "message" not in finding:  # a message says so itself
        out.append("   line unknown: compile with -lineinfo")
    if finding["where"]:
        out += wrapped(finding["where"])
    if finding["hint"]:
        out += wrapped("hint: " + finding["hint"])
    return out


def report(findings: list[Finding], *, failed: bool = False) -> str:
    width = max(60, shutil.get_terminal_size((100, 24)).columns)
    own = [finding for finding in findings if not finding["library"]]
    others = [finding for finding in findings if finding["library"]]
    count = f"{len(own)} finding{'s' * (len(own) != 1)}" if own else "nothing found"
    out = [f"softcuda check: {count}{' before the program failed' * failed}"]
    for number, finding in enumerate(own, 1):
        out += ["", *describe(number, finding, width)]
    if others:
        names = ", ".join(sorted({finding["library"] for finding in others}))
        out += ["", f"in kernels of libraries ({names}); --strict counts them:"]
        lines: dict[str, list[str]] = {}
        for finding in others:
            places = sorted({place(finding[who]) for who in ("first", "second") if who in finding})
            lines.setdefault(f"{finding['title']} in kernel {finding['name']}", []).append(" and ".join(places))
        for title, places in lines.items():
            text = f"{title}: {'; '.join(places)}"
            out += textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="     ")
    return "\n".join(out)


@dataclass
class Options:
    """What stands before the program."""

    json: Path | None = None
    sarif: Path | None = None
    github: bool = False
    strict: bool = False
    seed: list[str] = field(default_factory=list)


def take_options(arguments: list[str]) -> tuple[Options, list[str]]:
    """The options and the words after them; ends with one line if an option lacks its value."""
    options = Options()
    while arguments[:1] and arguments[0] in ("--json", "--sarif", "--github", "--strict", "--seed"):
        option = arguments[0]
        if option == "--seed":  # `softcuda run` reads it
            _usage.check_seed(arguments)
            options.seed, arguments = arguments[:2], arguments[2:]
        elif option in ("--json", "--sarif"):
            file, arguments = _output.take_file("check", arguments)
            setattr(options, option[2:], file)
        else:
            setattr(options, option[2:], True)
            arguments = arguments[1:]
    if options.json and options.sarif and options.json.absolute() == options.sarif.absolute():
        sys.exit(f"softcuda: check --json and --sarif name the same file, {options.json}")
    return options, arguments


def main(arguments: list[str]) -> int:
    """`softcuda check [--json FILE] [--sarif FILE] [--github] [--strict] [--seed N] [-m] PROGRAM ...`.

    1 if anything was found; the status of a program that fails stays its own.
    """
    options, arguments = take_options(arguments)
    _usage.check_program("check", arguments)
    run = _child.run("check", [*options.seed, *arguments])
    found = read_with_programs(run.records, failed=run.code != 0)
    counts = any(options.strict or not finding["library"] for finding, _ in found)
    status = run.code or int(run.lost or counts)
    written = show(found, options, arguments, run, status)
    _child.end_as(run.code)
    return status or int(not written)


def show(found: list[tuple[Finding, Program]], options: Options, arguments: list[str], run: Run, status: int) -> bool:
    """Write what was asked for; false if any of it could not be written."""
    notice = run.notice("this is what was found until then")
    if not notice and run.code:
        notice = f"softcuda: the program ended with status {run.code}; this is what was found until then"
    if notice:
        print(notice, file=sys.stderr)
    findings = [finding for finding, _ in found]
    written = True
    if options.json:
        written = _output.write_json(options.json, {"partial": run.partial, "findings": findings})
    else:
        written = _output.show(report(findings, failed=run.code != 0))
    if options.sarif or options.github:
        project = project_of(arguments)
        fallback = project.program or project.root / arguments[arguments[:1] == ["-m"]]
        located = [locate(finding, program, project, fallback) for finding, program in found]
        ending = _sarif.Ending(status, run.partial, notice, max(0, -run.code))
        if options.sarif:
            document = _sarif.describe_run(located, project, ending, strict=options.strict)
            written = _output.write_json(options.sarif, document) and written
        if options.github:
            lines = _sarif.format_annotations(located, project, ending, strict=options.strict)
            written = (not lines or _output.show("\n".join(lines))) and written
    return written
