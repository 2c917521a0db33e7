"""The SASS of kernels: what the compiler makes of each source line, and counts of it for the prose.

An author writes, under a listing of CUDA code and on a line of its own,

    {{ sass:unrolling/chains.cu:chains_4 }}                    the kernel's SASS beside the lines of that listing
    {{ sass:unrolling/spill.cu:tile[TILE=16,maxrregcount=32] }}   compiled with a macro and an option of nvcc

and in a sentence a count, {{ sass:unrolling/chains.cu:chains_4.FFMA }}. `make record` compiles and disassembles what
the pages of an article name and keeps it in records/softcuda/sass/<article>.json, with the hash of the code. No GPU is
needed; the same compiler makes the same SASS in every run. blocks/sass_view.py shows it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import SOFTCUDA, Book, BookError, write_json
from warpbook.records import records, schema
from warpbook.run.hashes import add_kernel, normal_kernel
from warpbook.run.run import kernel_error
from warpbook.source.pages import EXPRESSION, Page, pair_of_pages

FORMAT = 1
ARCHITECTURE = "sm_90"
NAME = r"sass:(?P<file>[\w./-]+\.cuh?):(?P<kernel>[A-Za-z_]\w*)(?:\[(?P<options>[^\]\s]*)\])?"
WANTED = re.compile(NAME + r"\Z")
COUNTED = re.compile(NAME + r"\.(?P<count>[A-Za-z][\w.]*)\Z")
OPERAND = re.compile(NAME + r"(?:\.[A-Za-z][\w.]*)?")
OPTION = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>[\w.+-]+)\Z")
MACRO = re.compile(r"[A-Z][A-Z0-9_]*\Z")
ALLOWED = ("arch", "maxrregcount")  # of nvcc; all other names are macros, in capital letters

# What a kernel's instructions are for, by the first part of their names; the first class that has it.
CLASSES = {
    "float": re.compile(
        r"F(FMA|ADD|MUL|MNMX|SET|SETP|SEL|CHK|SWZADD)\b|H(ADD|MUL|FMA|SET)|D(FMA|ADD|MUL|SETP)|MUFU|[HDQ]G?MMA"
    ),
    "memory": re.compile(r"(LD|ST|ATOM|RED|CCTL|UBLK|UTMA|SUST|SULD|TEX|TLD)(?!C)"),
    "control": re.compile(
        r"BRA|BRX|EXIT|BSSY|BSYNC|BREAK|CALL|RET|WARPSYNC|BAR|YIELD|JMP|NANOSLEEP|ERRBAR|MEMBAR|SYNCS|DEPBAR|BMOV"
    ),
}


@dataclass(frozen=True)
class Wanted:
    """A kernel that a page shows as SASS: `file` below snippets/, and how it is compiled."""

    file: str
    kernel: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.file}:{self.kernel}" + (f"[{options}]" if options else "")

    @property
    def architecture(self) -> str:
        return dict(self.options).get("arch", ARCHITECTURE)

    def arguments(self) -> list[str]:
        """nvcc's."""
        out = [f"-arch={self.architecture}"]
        for name, value in self.options:
            if name != "arch":
                out.append(f"-D{name}={value}" if MACRO.match(name) else f"--{name}={value}")
        return out


@dataclass(frozen=True)
class Instruction:
    """`lines`: where it comes from in the kernel's file, innermost call first; empty for a header's code."""

    address: int
    lines: tuple[int, ...]
    label: str
    predicate: str
    opcode: str
    operands: str

    @property
    def text(self) -> str:
        return " ".join(filter(None, (self.predicate, self.opcode, self.operands)))

    @property
    def kind(self) -> str:
        if self.opcode.startswith("HFMA2") and "-RZ, RZ" in self.operands:
            return "other"  # a constant put into a register
        return next((name for name, pattern in CLASSES.items() if pattern.match(self.opcode)), "other")

    def kept(self) -> str:
        """As the record has it: 0190;12,30;L1;@P1 BRA L1."""
        return f"{self.address:04x};{','.join(map(str, self.lines))};{self.label};{self.text}"

    @classmethod
    def read(cls, kept: str) -> Instruction:
        address, lines, label, text = kept.split(";", 3)
        words = text.split(" ")
        predicate = words.pop(0) if words[0].startswith("@") else ""
        numbers = tuple(map(int, filter(None, lines.split(","))))
        return cls(int(address, 16), numbers, label, predicate, words[0], " ".join(words[1:]))


# -- what an author writes ---------------------------------------------------------------------------------------------


def parse(text: str) -> Wanted | None:
    """What `sass:FILE:KERNEL[OPTIONS]` names; None if `text` is something else. Raises BookError for bad options."""
    found = WANTED.match(text.strip())
    return _wanted(found) if found else None


def _wanted(found: re.Match[str]) -> Wanted:
    return Wanted(found["file"], found["kernel"], options_of((found["options"] or "").split(",")))


def options_of(written: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Macros (`TILE=16`) and options of nvcc (`maxrregcount=32`, `arch=sm_90a`), in the order of their names."""
    options = {}
    for text in filter(None, written):
        match = OPTION.match(text)
        if not match or not (match["name"] in ALLOWED or MACRO.match(match["name"])):
            raise BookError(f'"{text}" is neither a macro (TILE=16) nor {" or ".join(f"{n}=…" for n in ALLOWED)}')
        if match["name"] == "arch" and not re.fullmatch(r"sm_\d{2,3}[af]?", match["value"]):
            raise BookError(f'"{text}" names no architecture; write arch=sm_90')
        if text != f"arch={ARCHITECTURE}":
            options[match["name"]] = match["value"]
    return tuple(sorted(options.items()))


def wanted(pages: Iterable[Page]) -> list[Wanted]:
    """What the pages of an article show or count, in the order of the first page."""
    found: dict[Wanted, None] = {}
    for page in pages:
        for i, line in enumerate(page.lines):
            if i in page.fenced or "sass:" not in line.text:
                continue
            for expression in EXPRESSION.finditer(line.text):
                for operand in OPERAND.finditer(expression[1]):
                    found[_wanted(operand)] = None
    return list(found)


# -- the compiler and the disassembler ---------------------------------------------------------------------------------


def tool(name: str) -> str:
    """The path of nvcc or nvdisasm: of this environment's packages, else the one on PATH."""
    beside = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", name)
    found = str(beside) if beside.is_file() and os.access(beside, os.X_OK) else shutil.which(name)
    if found is None:
        raise BookError(f"no {name} here, which the SASS of a kernel needs; run `make setup`")
    return found


def version(name: str) -> str:
    """13.0.88, as nvcc or nvdisasm say it themselves."""
    said = subprocess.run([tool(name), "--version"], capture_output=True, text=True).stdout
    found = re.search(r"\bV(\d+\.\d+\.\d+)", said)
    return found[1] if found else "?"


def disassemble(book: Book, one: Wanted) -> dict[str, Any]:
    """Compile a file for one architecture; its kernel's SASS and resources, as the record keeps them."""
    path = book.snippets / one.file
    name = f"snippets/{one.file}"
    if not path.is_file():
        raise BookError(f"{name}: no such file")
    nvcc, nvdisasm = tool("nvcc"), tool("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="warpbook-sass-") as folder:
        cubin = Path(folder, "kernel.cubin")
        include = [f"-I{path.parent}", f"-I{book.snippets}"]
        command = [nvcc, "-cubin", "-lineinfo", "-Xptxas", "-v", *one.arguments(), *include, name, "-o", str(cubin)]
        made = subprocess.run(command, cwd=book.root, capture_output=True, text=True, errors="replace")
        if made.returncode:
            place = kernel_error(made.stderr + made.stdout)
            last = (made.stderr.strip().splitlines() or ["nvcc failed"])[-1]
            raise BookError(f"{place[0]}: {place[1]}" if place else f"{name}: {last}")
        listed = subprocess.run([nvdisasm, "-c", "-gi", str(cubin)], capture_output=True, text=True, errors="replace")
        if listed.returncode:
            raise BookError(f"{name}: nvdisasm: {(listed.stderr.strip().splitlines() or ['failed'])[-1]}")
    functions = dict(sections(listed.stdout))
    if one.kernel not in functions:
        known = sorted(functions)
        raise BookError(f"{name}: no kernel {one.kernel} in its machine code{schema.suggest(one.kernel, known)}")
    instructions = list(read_listing(functions[one.kernel], str(path.resolve())))
    source = reads.text(path).splitlines()
    used = sorted({number for each in instructions for number in each.lines})
    return {
        "code": code_of(book, one),
        "architecture": one.architecture,
        "compiler": version("nvcc"),
        "disassembler": version("nvdisasm"),
        **resources(made.stderr + made.stdout, one.kernel),
        "lines": {str(number): source[number - 1].strip() for number in used},
        "sass": [each.kept() for each in instructions],
    }


def sections(listing: str) -> Iterator[tuple[str, list[str]]]:
    """(function, its lines) of nvdisasm's listing."""
    parts = re.split(r"^\.text\.([\w$]+):$", listing, flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        yield name, text.split("//---------------------")[0].splitlines()


PLACE = re.compile(r'\s*//## File "(?P<file>[^"]+)", line (?P<line>\d+)(?P<inlined> inlined at .*)?')
CALLER = re.compile(r'"(?P<file>[^"]+)", line (?P<line>\d+)')
INSTRUCTION = re.compile(r"\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<predicate>@!?U?P\w+\s+)?(?P<text>[^;]+?)\s*;")
LABEL = re.compile(r"(\.L_x_\d+|\$\S+):")


def read_listing(lines: Iterable[str], file: str) -> Iterator[Instruction]:
    """A function's instructions with the lines of `file` that they come from; what only fills it up is left out."""
    found: list[Instruction] = []
    chain: list[int] = []
    label = ""
    fresh = False  # whether the last line named a place
    for line in lines:
        if place := PLACE.match(line):
            chain = chain if fresh else []
            fresh = True
            # "inlined at" names the caller; nvdisasm then gives the caller's own place on a line of its own
            if os.path.realpath(place["file"]) == file and int(place["line"]) not in chain:
                chain = [*chain, int(place["line"])]
            caller = CALLER.search(place["inlined"] or "")
            if caller and os.path.realpath(caller["file"]) == file and int(caller["line"]) not in chain:
                chain = [*chain, int(caller["line"])]
        elif named := LABEL.match(line):
            label = named[1]
        elif match := INSTRUCTION.match(line):
            fresh = False
            opcode, _, operands = match["text"].partition(" ")
            predicate = (match["predicate"] or "").strip()
            found.append(
                Instruction(int(match["address"], 16), tuple(chain), label, predicate, opcode, operands.strip())
            )
            label = ""
    while found and found[-1].opcode == "NOP":
        found.pop()
    last = found[-1] if found else None
    if last and last.opcode == "BRA" and last.label and last.label in last.operands:  # to itself, after the end
        found.pop()
    yield from renamed(found)


def renamed(found: list[Instruction]) -> Iterator[Instruction]:
    """Labels that something jumps to, numbered from 1 in the order of their addresses."""
    targets = {name for each in found for name in re.findall(r"`\(([^)]+)\)", each.operands)}
    names: dict[str, str] = {}
    for each in found:
        if each.label in targets:
            names[each.label] = f"L{len(names) + 1}"
    for each in found:
        operands = re.sub(r"`\(([^)]+)\)", lambda match: names.get(match[1], match[1]), each.operands)
        yield Instruction(
            each.address, each.lines, names.get(each.label, ""), each.predicate, each.opcode, operands
        )  # fmt: skip


def resources(said: str, kernel: str) -> dict[str, int]:
    """What ptxas -v says of a kernel: registers per thread, bytes of stack, spills and static shared memory."""
    part = re.search(
        rf"Compiling entry function '{re.escape(kernel)}'.*?(?=Compiling entry function|\Z)", said, re.DOTALL
    )
    text = part[0] if part else ""

    def number(pattern: str) -> int:
        found = re.search(pattern, text)
        return int(found[1]) if found else 0

    return {
        "registers": number(r"Used (\d+) registers"),
        "stack": number(r"(\d+) bytes stack frame"),
        "spill_stores": number(r"(\d+) bytes spill stores"),
        "spill_loads": number(r"(\d+) bytes spill loads"),
        "shared": number(r"(\d+) bytes smem"),
    }


# -- counts ------------------------------------------------------------------------------------------------------------


def instructions_of(entry: dict[str, Any]) -> list[Instruction]:
    return [Instruction.read(kept) for kept in entry["sass"]]


def loops_of(instructions: list[Instruction]) -> list[tuple[int, int]]:
    """(first, last) of each loop: from the target of a branch backwards to the last branch that goes there."""
    at = {each.label: i for i, each in enumerate(instructions) if each.label}
    ends: dict[int, int] = {}
    for i, each in enumerate(instructions):
        first = at.get(each.operands.split(", ")[-1], i + 1)
        if each.opcode.startswith("BRA") and first <= i:
            ends[first] = i
    return sorted(ends.items())


def main_loop(instructions: list[Instruction]) -> list[Instruction]:
    """The loop that does the work: the one with the most floating-point instructions of its own, and without such
    instructions the innermost one with the most of any kind. Loops within it are left out of what is returned: a
    matrix product's loop over K may hold short loops that load its tiles."""
    loops = loops_of(instructions)

    def own(loop: tuple[int, int]) -> list[Instruction]:
        within = [(a, b) for a, b in loops if (a, b) != loop and loop[0] <= a and b <= loop[1]]
        numbers = range(loop[0], loop[1] + 1)
        return [instructions[i] for i in numbers if not any(a <= i <= b for a, b in within)]

    inner = [loop for loop in loops if len(own(loop)) == loop[1] - loop[0] + 1]
    best = max(
        loops, key=lambda loop: (sum(each.kind == "float" for each in own(loop)), loop in inner, len(own(loop))),
        default=None,
    )  # fmt: skip
    return own(best) if best else []


RESOURCES = ("registers", "stack", "spill_stores", "spill_loads", "shared")


def count(entry: dict[str, Any], what: str) -> int:
    """`registers`, `spills`, `instructions`, an opcode such as FFMA or LDG.E.128, or one of these behind `loop.`."""
    if what in RESOURCES:
        return int(entry[what])
    if what == "spills":
        return int(entry["spill_stores"]) + int(entry["spill_loads"])
    among = instructions_of(entry)
    name = what
    if what.startswith("loop."):
        name, among = what.removeprefix("loop."), main_loop(among)
        if not among:
            raise BookError(f'"{what}": this kernel has no loop')
    if name == "instructions":
        return len(among)
    if name in (*CLASSES, "other"):
        return sum(each.kind == name for each in among)
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*(\.\w+)*", name):
        known = ", ".join((*RESOURCES, "spills", "instructions", *CLASSES))
        raise BookError(f'"{what}" is none of {known}, and no opcode such as FFMA')
    return sum(each.opcode == name or each.opcode.startswith(f"{name}.") for each in among)


def named_count(book: Book, article: str, text: str) -> tuple[int, str]:
    """(count, who compiled) of `sass:FILE:KERNEL.COUNT` on a page of `article`, from the record."""
    found = COUNTED.match(text)
    if not found:
        raise BookError(f'"{text}" is not sass:FILE.cu:KERNEL.COUNT, such as sass:reduction/reduce.cu:reduce_v0.BRA')
    entry = entry_of(book, article, _wanted(found))
    return count(entry, found["count"]), f"nvcc {entry['compiler']}, {entry['architecture']}"


# -- the record --------------------------------------------------------------------------------------------------------


def path_of(book: Book, article: str) -> Path:
    return book.records / SOFTCUDA / "sass" / f"{article}.json"


@reads.remembered
def read(book: Book, article: str) -> dict[str, Any]:
    """By key ("reduction/reduce.cu:reduce_v0"): what `disassemble` makes."""
    path = path_of(book, article)
    if not reads.exists(path):
        return {}
    name = book.relative(path)
    try:
        record = schema.read_json(path, name)
        schema.check(record, "sass", name)
    except BookError as error:
        raise BookError(f"{error}; {records.remedy(SOFTCUDA, article)}") from None
    return dict(record["kernels"])


def entry_of(book: Book, article: str, one: Wanted) -> dict[str, Any]:
    entry = read(book, article).get(one.key)
    if entry is None:
        missing = "" if reads.is_file(book.snippets / one.file) else f": there is no snippets/{one.file}"
        raise BookError(f"no SASS of {one.key}{missing or f'; {records.remedy(SOFTCUDA, article)}'}")
    return dict(entry)


def code_of(book: Book, one: Wanted) -> str:
    """Hash of what the compiler sees: the file and those beside it that it includes, and how it is compiled."""
    kernels: dict[str, str] = {}
    path = book.snippets / one.file
    add_kernel(book, path if reads.is_file(path) else None, kernels)
    parts = [one.key, *(f"{name}\n{normal_kernel(text)}" for name, text in sorted(kernels.items()))]
    return "sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def stale(book: Book, article: str) -> list[str]:
    """One line for each thing that the record of SASS lacks or that has changed since."""
    asked, kept = wanted(pair_of_pages(book, article)), read(book, article)
    name, remedy = book.relative(path_of(book, article)), records.remedy(SOFTCUDA, article)
    if kept and not asked:
        return [f"{name}: no page shows SASS of it; delete it"]
    out = []
    for one in asked:
        entry = kept.get(one.key)
        if not reads.is_file(book.snippets / one.file):
            out.append(f"{name}: there is no snippets/{one.file}")
        elif entry is None:
            out.append(f"{name}: no SASS of {one.key}; {remedy}")
        elif entry["code"] != code_of(book, one):
            out.append(f"{name}: stale: snippets/{one.file} has changed; {remedy}")
        elif line := moved(book, one, entry):
            out.append(f"{name}: stale: {line}; {remedy}")
    keys = {one.key for one in asked}
    out += [f"{name}: no page shows SASS of {key}; {remedy}" for key in kept if key not in keys]
    return list(dict.fromkeys(out))


def moved(book: Book, one: Wanted, entry: dict[str, Any]) -> str:
    """The first line that is another now: a comment more above it changes no hash."""
    text = reads.text(book.snippets / one.file).splitlines()
    for number, source in entry["lines"].items():
        now = text[int(number) - 1].strip() if int(number) <= len(text) else ""
        if now != source:
            return f"snippets/{one.file}:{number} is another line now"
    return ""


def remedy(article: str) -> str:
    return records.remedy(SOFTCUDA, article)


def record(book: Book, article: str) -> str:
    """Write the record of SASS; what was done, in words."""
    asked = wanted(pair_of_pages(book, article))
    made = {one.key: disassemble(book, one) for one in asked}
    write_json(path_of(book, article), {"format": FORMAT, "kernels": dict(sorted(made.items()))})
    return f"{len(made)} kernels"
