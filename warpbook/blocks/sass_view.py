"""SASS beside a kernel: each line of a listing with the machine instructions that the compiler made of it, folded.

An author writes {{ sass:FILE.cu:KERNEL }} under a listing of that file; records/sass.py says more. `warpbook sass`
prints the same for any kernel, without a page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from warpbook import reads
from warpbook.book import Book, BookError
from warpbook.records import sass
from warpbook.records.sass import Instruction, Wanted
from warpbook.source.pages import Block, Page

WORDS = {
    "en": {
        "summary": "SASS",
        "registers": "{} registers",
        "spills": "{} bytes spilled",
        "no_spills": "no spills",
        "comma": ", ",
        "elsewhere": "from elsewhere",
        "legend": "{kernel}: {instructions} instructions, of these {counts}{loop}. "
        "Compiled by nvcc {compiler} for {arch}. The first column is the address in the program; "
        "L1, L2, … are targets of branches.",
        "loop": "; its longest inner loop has {}",
        "float": "{} floating-point",
        "memory": "{} memory",
        "control": "{} control flow",
        "other": "{} others",
    },
    "zh": {
        "summary": "SASS",
        "registers": "{} 个寄存器",
        "spills": "溢出 {} 字节",
        "no_spills": "没有溢出",
        "comma": "，",
        "elsewhere": "来自别处的代码",
        "legend": "{kernel}：共 {instructions} 条指令，其中{counts}{loop}。"
        "由 nvcc {compiler} 为 {arch} 编译。第一列是指令地址，L1、L2…是分支目标。",
        "loop": "；最长的内层循环有 {} 条",
        "float": "浮点 {} 条",
        "memory": "访存 {} 条",
        "control": "控制流 {} 条",
        "other": "其他 {} 条",
    },
}
KINDS = ("float", "memory", "control", "other")
Row = tuple[int, str, list[Instruction]]  # number and text of a source line, and its instructions; 0: of none


def rows(lines: Iterable[tuple[int, str]], instructions: list[Instruction]) -> list[Row]:
    """The lines with their instructions, from the first that has any to the last; then those of no line shown.

    An instruction of a function that was put in for its call stands at the line of the function if that is shown,
    else at the line of the call.
    """
    shown = list(lines)
    numbers = {number for number, _ in shown}
    of: dict[int, list[Instruction]] = {}
    for each in instructions:
        of.setdefault(next((n for n in each.lines if n in numbers), 0), []).append(each)
    used = [i for i, (number, _) in enumerate(shown) if number in of]
    if not used:
        return []
    body = [(n, text, of.get(n, [])) for n, text in shown[used[0] : used[-1] + 1] if text.strip()]
    return body + ([(0, "", of[0])] if 0 in of else [])


def summary(entry: dict[str, Any], words: dict[str, str]) -> str:
    spilled = sass.count(entry, "spills")
    return words["comma"].join(
        (
            words["registers"].format(entry["registers"]),
            words["spills"].format(spilled) if spilled else words["no_spills"],
        )
    )


def counted(instructions: list[Instruction], words: dict[str, str]) -> str:
    number = {kind: sum(each.kind == kind for each in instructions) for kind in KINDS}
    return words["comma"].join(words[kind].format(number[kind]) for kind in KINDS if number[kind])


# -- on a page ---------------------------------------------------------------------------------------------------------


def fold_out(page: Page, language: str, one: Wanted, listing: Block | None) -> str:
    """The lines of the listing beside their SASS, under it and folded."""
    file, words = f"snippets/{one.file}", WORDS[language]
    if listing is None or not any(line.file == file for line in listing.lines):
        raise BookError(f"SASS of {one.kernel} stands under no listing of {file}")
    entry = sass.entry_of(page.book, page.article, one)
    if entry["code"] != sass.code_of(page.book, one) or sass.moved(page.book, one, entry):
        raise BookError(f"{file} has changed since its SASS was recorded; {sass.remedy(page.article)}")
    instructions = sass.instructions_of(entry)
    found = rows([(line.number, line.text.rstrip()) for line in listing.lines if line.file == file], instructions)
    if not found:
        raise BookError(f"no line of this listing became an instruction of {one.kernel}")
    options = "".join(f" {name}={value}" for name, value in one.options if name != "arch")
    name = f"{one.kernel}{options}"
    loop = sass.main_loop(instructions)
    legend = words["legend"].format(
        kernel=f"<code>{html.escape(name)}</code>",
        instructions=len(instructions),
        counts=counted(instructions, words),
        loop=words["loop"].format(len(loop)) if loop else "",
        compiler=entry["compiler"],
        arch=entry["architecture"],
    )
    return (
        f'<div class="wb-lines" data-search-exclude><details><summary>{words["summary"]}'
        f'<span class="wb-lines__kernel"> · {html.escape(name)}</span> · {summary(entry, words)}</summary>'
        f'<div class="wb-lines__view" tabindex="0" role="group" aria-label="{words["summary"]}: {html.escape(name)}">'
        f'<pre class="wb-sass">{drawn(found, words)}</pre></div>'
        f'<p class="wb-lines__legend">{legend}</p></details></div>'
    )


def drawn(found: list[Row], words: dict[str, str]) -> str:
    """The rows as two cells each, whose text reads as a listing where no style sheet puts them side by side."""
    wide = max(len(str(number)) for number, _, _ in found)
    indent = min((len(text) - len(text.lstrip()) for number, text, _ in found if number), default=0)
    out = []
    for number, text, instructions in found:
        source = f"{number:>{wide}} {html.escape(text[indent:])}" if number else words["elsewhere"]
        out.append(f"<span>{source}\n</span><samp>{''.join(map(marked, instructions))}</samp>")
    return "".join(out)


def marked(one: Instruction) -> str:
    """An instruction on an indented line: address, label, predicate, the opcode marked by its kind, operands."""
    kind = f' class="{one.kind[0]}"' if one.kind != "other" else ""
    predicate = f"{one.predicate} " if one.predicate else ""
    operands = f" {html.escape(one.operands)}" if one.operands else ""
    return f"    {one.address:04x} {one.label:3} {predicate}<b{kind}>{one.opcode}</b>{operands}\n"


# -- in a terminal -----------------------------------------------------------------------------------------------------


def text(book: Book, one: Wanted, width: int = 48) -> str:
    """`warpbook sass`: source lines, and beside them their instructions."""
    entry, words = sass.disassemble(book, one), WORDS["en"]
    instructions = sass.instructions_of(entry)
    source = reads.text(book.snippets / one.file).splitlines()
    used = [number for each in instructions for number in each.lines]
    lines = [(n, source[n - 1]) for n in range(min(used, default=1), max(used, default=0) + 1)]
    lines = [(n, line) for n, line in lines if n in used]
    out = [f"{one.key}: {summary(entry, words)}; nvcc {entry['compiler']}, {entry['architecture']}"]
    out.append(f"{len(instructions)} instructions: {counted(instructions, words)}")
    for number, line, of in rows(lines, instructions) or [(0, "", instructions)]:
        left = f"{number:4} {line}" if number else f"     ({words['elsewhere']})"
        for i, each in enumerate(of):
            out.append(f"{left[:width] if not i else '':{width}} {each.address:04x} {each.label:3} {each.text}")
    return "\n".join(out)
