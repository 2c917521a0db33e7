"""The forms of instructions in PTX: opcode, modifiers, and operands by kind.  forms.txt holds those the sweep has met.

A form is an instruction whose registers are named after their types (%b32), whose symbols after their state spaces
([SHARED+4]) and whose labels are LABEL, so it can be put into a kernel of its own: `module_of` does, and softcuda must
be able to load it.  Calls are left out: they need what they call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FORMS = Path(__file__).resolve().parent / "forms.txt"
TYPES = ("pred", "b8", "b16", "b32", "b64", "b128", "s16", "s32", "s64", "u16", "u32", "u64", "f32", "f64", "f16", "f16x2")

NOISE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+([^;]+);")
VARIABLE = re.compile(r"\.(global|shared|const|local|param)\b[^;{(=]*?([\w$%.]+)\s*(?:\[[^\]]*\])*\s*(?=[;=,)])")
TABLE = re.compile(r"([\w$]+)\s*:\s*\.branchtargets[^;]*;")
NAME = re.compile(r"(?<![\w.])[A-Za-z_$%][\w$.%]*")


def functions(text: str) -> Iterator[str]:
    """The bodies of a module's functions, with what is declared before them."""
    text = NOISE.sub(" ", text)
    depth, begin, previous = 0, 0, 0
    for match in re.finditer(r'"[^"]*"|[{}]', text):
        if match.group() == "{":
            depth += 1
            if depth == 1:
                begin = match.end()
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                head = text[previous : begin - 1]
                if re.search(r"\.(entry|func)\b", head):
                    yield head + "\n{" + text[begin : match.start()]
                previous = match.end()


def forms_of(text: str) -> set[str]:
    """All forms of a module."""
    found: set[str] = set()
    target = re.search(r"\.target\s+(\w+)", text)
    spaces = dict(declared(NOISE.sub(" ", re.sub(r"\{.*?\n\}", " ", text, flags=re.DOTALL))))
    for function in functions(text):
        head, _, body = function.partition("{")
        entry = ".entry" in head
        names = dict(spaces)
        names.update((name, "PARAM" if entry else "SLOT") for space, name in re.findall(
            r"\.(param)\b[^,()]*?([\w$]+)(?:\[\d*\])?\s*(?=[,)])", head))  # fmt: skip
        names.update((name, "SLOT" if place == "PARAM" else place) for name, place in declared(body))
        registers = dict(registers_of(body))
        for table in TABLE.finditer(body):
            names[table.group(1)] = "TABLE"
        for label in re.findall(r"([\w$]+)\s*:(?!:)", body):
            names.setdefault(label, "LABEL")
        for statement in re.split(r"[;{}]\s*(?=[^,}\]]|$)", braces(body)):
            if form := normal(statement, registers, names):
                found.add(form)
    return {form for form in found if target}


def declared(text: str) -> Iterator[tuple[str, str]]:
    for space, name in VARIABLE.findall(text):
        yield name, space.upper()


def registers_of(body: str) -> Iterator[tuple[str, str]]:
    for kind, names in REGISTER.findall(body):
        for name in names.split(","):
            match = re.match(r"\s*([\w$%]+)\s*(?:<(\d+)>)?", name)
            if match and match.group(2):
                yield from ((f"{match.group(1)}{i}", kind) for i in range(int(match.group(2))))
            elif match:
                yield match.group(1), kind


def braces(body: str) -> str:
    """Vectors keep their braces under other names, so that what is left of them are scopes."""
    return re.sub(r"\{([^{};]*)\}(?=\s*[,;\]])", r"«\1»", body)


def normal(statement: str, registers: dict[str, str], names: dict[str, str]) -> str:
    """One statement as a form, or nothing."""
    text = " ".join(statement.split())
    text = re.sub(r"^([\w$]+ ?: ?(?!:))+", "", text)
    if not text or text.startswith((".", "call")) or text.endswith(":"):
        return ""

    def rename(match: re.Match[str]) -> str:
        word = match.group()
        if word in registers:
            return f"%{registers[word]}"
        base, _, selector = word.rpartition(".")
        if base in registers:
            return f"%{registers[base]}.{selector}"
        return names.get(word, word)

    guard, opcode, rest = re.fullmatch(r"(@!?[\w%$]+ )?([a-z][\w.:]*)(.*)", text).groups()
    rest = NAME.sub(rename, rest).replace("«", "{").replace("»", "}")
    rest = re.sub(r"\b0[fF][0-9A-Fa-f]{8}\b", "0f3F800000", rest)
    rest = re.sub(r"\b0[dD][0-9A-Fa-f]{16}\b", "0d3FF0000000000000", rest)
    if not re.search(r"lop3|prmt|cp\.async|bar|wmma|mma|shf|bfe|bfi|vset|sust|suld|nanosleep|setmaxnreg", opcode):
        rest = re.sub(r"(?<=, )-?\d+(?=$|,)", "1", rest)
    rest = re.sub(r"\+\d+\]", "+16]", rest).replace("+-", "+")
    return f"{'@%pred ' if guard else ''}{opcode}{rest}" if not guard else f"{opcode}{rest}"


def module_of(forms: Iterable[str], target: str = "sm_120", version: str = "9.3") -> str:
    """A kernel that holds the forms, each on its own line, none of which is ever to run."""
    registers = "\n".join(f"    .reg .{kind} %{kind};" for kind in TYPES)
    lines = "\n".join(f"    {form};" for form in forms)
    return f""".version {version}
.target {target}
.address_size 64
.global .align 128 .b8 GLOBAL[1024];
.const .align 128 .b8 CONST[1024];
.shared .align 128 .b8 SHARED[1024];
.visible .entry forms(.param .align 128 .b8 PARAM[1024])
{{
    .local .align 128 .b8 LOCAL[1024];
    .param .align 128 .b8 SLOT[1024];
{registers}
TABLE: .branchtargets LABEL, LABEL;
{lines}
LABEL:
    ret;
}}
"""


def read_forms() -> set[str]:
    return set(FORMS.read_text().splitlines()) - {""} if FORMS.is_file() else set()


def write_forms(forms: set[str]) -> None:
    FORMS.write_text("\n".join(sorted(forms)) + "\n")
