"""The forms of instructions in PTX: opcode, modifiers, and operands by kind.  forms.txt holds those the sweep has met.

A form is an instruction whose registers are named after their types (%b32), whose symbols after their state spaces
([SHARED+4]) and whose labels are LABEL, so it can be put into a kernel of its own: `module_of` does, and softcuda must
be able to load it.  Calls are left out: they need what they call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

FORMS = Path(__file__).resolve().parent / "forms.txt"
TYPES = "pred b8 s8 u8 b16 b32 b64 b128 s16 s32 s64 u16 u32 u64 f32 f64 f16 f16x2 bf16 bf16x2".split()  # noqa: SIM905

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"]*"|\.(?:loc|file)\b[^\n]*', re.DOTALL)
INITIALISER = re.compile(r"=\s*\{[^;]*\}\s*;")
VECTOR = re.compile(r"\{([^{};]*)\}(?=\s*[,;\]])")
REGISTER = re.compile(r"\.reg\s*\.(\w+)\s+(.+)", re.DOTALL)
VARIABLE = re.compile(r"\.(global|shared|const|local|param)\b[^=(),]*?([\w$%]+)\s*(?:\[[^\]]*\]\s*)*(?=[=,)]|$)")
NAME = re.compile(r"(?<![\w.])[A-Za-z_$%][\w$.%]*")
SPECIAL = re.compile(r"%[a-z]|WARP_SZ$")
# Where a literal is part of the form.
TELLING = re.compile(r"lop3|prmt|cp\.async|bar|wmma|mma|shf|bfe|bfi|vset|nanosleep|setmaxnreg|match|vote|redux")


class Scope:
    """Names between two braces, and those around them."""

    def __init__(self, outer: Scope | None, parameters: str = "") -> None:
        self.outer = outer
        self.parameters = parameters  # what a .param variable declared here is to be called
        self.names: dict[str, str] = {}

    def declare(self, statement: str) -> bool:
        if registers := REGISTER.match(statement):
            for name in registers.group(2).split(","):
                self.names[re.sub(r"<\d+>", "", name).strip()] = f"%{registers.group(1)}"
        elif statement.startswith("."):
            for space, name in VARIABLE.findall(statement):
                self.names[name] = (self.parameters or "SLOT") if space == "param" else space.upper()
        return statement.startswith(".")

    def find(self, name: str) -> str:
        scope: Scope | None = self
        while scope:
            for spelt in (name, name.rstrip("0123456789")):  # %r<10> declares %r0 to %r9
                if spelt in scope.names:
                    return scope.names[spelt]
            scope = scope.outer
        return ""


def forms_of(text: str) -> set[str]:
    """All forms of a module."""
    text = VECTOR.sub(r"«\1»", INITIALISER.sub(";", NOISE.sub(" ", text)))
    scope, found = Scope(None), set()
    for statement, end in re.findall(r"([^;{}]*)([;{}])", text):
        words = " ".join(statement.split())
        words = re.sub(r"^(?:[\w$%]+ ?: ?(?!:))+", "", words)
        if end == "{":
            scope = Scope(scope, scope.parameters if scope.outer else "")
            if re.search(r"\.(entry|func)\b", words):
                scope.parameters = "PARAM" if ".entry" in words else "SLOT"
                for parameter in re.findall(r"\.(?:param|reg)\b[^,()]*", words):
                    scope.declare(parameter)
                scope.parameters = ""
        else:
            if words and not scope.declare(words) and not words.startswith(("call", "@")) and scope.outer:
                found.add(normal(words, scope))
            if words.startswith("@") and (guarded := words.partition(" ")[2]) and not guarded.startswith("call"):
                found.add(normal(guarded, scope))
            if end == "}":
                scope = scope.outer or scope
    return found


def normal(statement: str, scope: Scope) -> str:
    """One instruction as a form."""
    matched = re.fullmatch(r"([a-z][\w.:]*)(.*)", statement)
    if not matched:
        raise ValueError(f"no instruction: {statement}")
    opcode, rest = matched.groups()

    def rename(match: re.Match[str]) -> str:
        word = match.group()
        base, _, selector = word.rpartition(".")
        if kind := scope.find(word):
            return kind
        if base and (kind := scope.find(base)):
            return f"{kind}.{selector}"
        if word == "_" or SPECIAL.match(word):
            return word
        return "TABLE" if opcode.startswith("brx") else "GLOBAL"  # a function's address, or what is declared later

    if opcode.startswith("bra"):
        return f"{opcode} LABEL"
    rest = NAME.sub(rename, rest).replace("«", "{").replace("»", "}")
    rest = re.sub(r"\b0[fF][0-9A-Fa-f]{8}\b", "0f3F800000", rest)
    rest = re.sub(r"\b0[dD][0-9A-Fa-f]{16}\b", "0d3FF0000000000000", rest)
    if not TELLING.search(opcode):
        rest = re.sub(r"(?<=[,{]) ?-?(?:0[xX][0-9A-Fa-f]+|\d+)U?(?= ?[,}]|$)", " 1", rest)
    rest = re.sub(r" ?\+ ?-?\d+ ?\]", "+16]", rest)
    rest = re.sub(r" ?, ?", ", ", rest.strip())
    return f"{opcode} {rest}".strip().replace("{ ", "{").replace(" }", "}")


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
