"""Line counters beside a kernel: what each line of a listing asks of the hardware in one launch.

An author writes, under a listing of CUDA code and on a line of its own,

    {{ lines:reduce_v0 }}             the kernel's first launch by the page's own blocks
    {{ lines:reduce_v0#2 }}           its second
    {{ lines:rolled_v0@branch.py }}   its first launch by a program of the article

A kernel may be Triton's as well, in a listing of Python.
`make record` runs the page, and each such program, under `softcuda profile` and keeps the counts of these launches in
records/softcuda/lines/<article>.json, with the hash of the code that made them and the text of each line. The tests run
them again: they are the same in every run, so they must be equal.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from warpbook import reads
from warpbook.blocks.outputs import versions
from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.records import records
from warpbook.records.lines import Counts, Wanted, parse, place, read
from warpbook.source import comments
from warpbook.source.pages import Block, Line, Page

# -- the record --------------------------------------------------------------------------------------------------------


# -- the fold-out ------------------------------------------------------------------------------------------------------

WORDS = {
    "en": {
        "summary": "Line by line",
        "launch": "launch {}",
        "comma": ", ",
        "equal": "as on the GPU",
        "counted": "counted on PTX",
        "line": "line",
        "source": "source",
        "requests": "requests",
        "sectors": "sectors each",
        "conflicts": "bank conflicts",
        "warps": "warp instructions",
        "lanes": "active lanes",
        "diverged": "diverged",
        "total": "all",
        "made": " Made with {}.",
        "legend": "{kernel}, {launch}grid {grid}, block {block}, counted by softcuda. "
        '<a href="{root}profile-your-kernel/#lines">What each column means</a>',
    },
    "zh": {
        "summary": "逐行计数",
        "launch": "第 {} 次启动",
        "comma": "，",
        "equal": "与 GPU 一致",
        "counted": "按 PTX 计数",
        "line": "行",
        "source": "源代码",
        "requests": "请求",
        "sectors": "扇区/请求",
        "conflicts": "bank 冲突",
        "warps": "线程束指令",
        "lanes": "活跃 lane",
        "diverged": "分化的分支",
        "total": "合计",
        "made": "所用版本：{}。",
        "legend": "{kernel}，{launch}网格 {grid}，线程块 {block}，由 softcuda 计数。"
        '<a href="{root}profile-your-kernel/#lines">各列的含义</a>',
    },
}
EQUAL = ("requests", "sectors", "conflicts")
COUNTED = ("warps", "lanes", "diverged")


def cell(column: str, counts: Counts, words: dict[str, str]) -> str:
    """One count as a reader sees it; empty where the line has nothing of the kind."""
    get = counts.get
    if column == "sectors":
        return f"{get('sectors', 0) / counts['requests']:.1f}" if get("requests") else ""
    if column == "conflicts":
        return f"{get('conflicts', 0):,}" if get("shared") else ""
    if column == "lanes":
        return f"{get('lanes', 0) / counts['warps']:.1f}" if get("warps") else ""
    if column == "diverged":
        return f"{100 * get('diverged', 0) / counts['branches']:.0f} %" if get("branches") else ""
    return f"{counts[column]:,}" if get(column) else ""


def fold_out(page: Page, language: str, one: Wanted, listing: Block | None, root: str) -> str:
    """The listing's lines with their counts, under it and folded."""
    book, words = page.book, WORDS[language]
    root = f"{root.rstrip('/')}/" if root else ""
    if listing is None or not shows_kernel(listing):
        raise BookError(f"lines of {one.kernel} stand under no listing of a kernel")
    what = f"snippets/{one.program}" if one.program else "the page"
    entry = read(book, page.article).get(one.program, {})
    if one.key not in entry.get("launches", {}):
        raise BookError(f"no lines of {one.key} in {what}; {records.remedy(SOFTCUDA, page.article)}")
    launch = entry["launches"][one.key]
    shown = lines_of(page, listing.lines, launch)
    if not shown:
        raise BookError(f"no line of this listing was run by launch {one.key} in {what}")
    table = drawn(shown, launch["total"], (*EQUAL, *COUNTED), words, root)
    which = words["launch"].format(one.launch) if one.launch > 1 else ""
    legend = words["legend"].format(
        kernel=f"<code>{one.kernel}</code>",
        launch=f"{which}{words['comma']}" if which else "",
        grid="×".join(map(str, launch["grid"])),
        block="×".join(map(str, launch["block"])),
        root=root,
    )
    if used := versions(book, entry, language):
        legend += words["made"].format(html.escape(used))
    name = f"{one.kernel} · {which}" if which else one.kernel
    label = f"{words['summary']}: {name}"
    return (
        f'<div class="wb-lines" data-search-exclude><details><summary>{words["summary"]}'
        f'<span class="wb-lines__kernel"> · {name}</span></summary>'
        f'<div class="wb-lines__view" tabindex="0" role="group" aria-label="{label}">{table}</div>'
        f'<p class="wb-lines__legend">{legend}</p></details></div>'
    )


def shows_kernel(listing: Block) -> bool:
    """Whether lines of the listing may have been counted: CUDA, or Python, which is text where it is not run."""
    return listing.language in ("cuda", "cpp", "c", "python") or any(one.file.endswith(".py") for one in listing.lines)


def drawn(
    shown: list[tuple[int, str, Counts]],
    total: Counts,
    of: Iterable[str],
    words: dict[str, str],
    root: str,
    codes: list[str] | None = None,
) -> str:
    """The table: a row a line, those columns of `of` that have a count, the source.

    `codes` are its lines as HTML, for an excerpt: that has no groups, and a class for each column, to leave some out.
    """
    columns = [c for c in of if any(cell(c, counts, words) for _, _, counts in shown)]
    groups = [(name, [c for c in columns if c in of]) for name, of in (("equal", EQUAL), ("counted", COUNTED))]
    head = "<td></td>" + "".join(
        f'<th scope="colgroup" colspan="{len(of)}" class="wb-lines__group">{words[name]}</th>'
        for name, of in groups
        if of
    )
    first = {of[0] for _, of in groups if of}

    def classes(column: str) -> str:
        if codes:
            return f' class="wb-lines__{column}"'
        return ' class="wb-lines__first"' if column in first else ""

    names = f'<th scope="col">{words["line"]}</th>'
    names += "".join(
        f'<th scope="col"{classes(c)}><a href="{root}profile-your-kernel/#{c}">{words[c]}</a></th>' for c in columns
    )
    names += f'<th scope="col" class="wb-lines__source">{words["source"]}</th>'
    groups_row = "" if codes else f"<tr>{head}<td></td></tr>"
    shown_codes = codes or [html.escape(text.strip()) for _, text, _ in shown]
    body = "".join(
        f'<tr><th scope="row">{number}</th>'
        + "".join(numbers(c, counts, total, words, classes(c)) for c in columns)
        + f'<td class="wb-lines__source"><code>{code}</code></td></tr>'
        for (number, _, counts), code in zip(shown, shown_codes, strict=True)
    )
    foot = f'<tr><th scope="row">{words["total"]}</th>'
    foot += "".join(f"<td{classes(c)}>{cell(c, total, words)}</td>" for c in columns) + "<td></td></tr>"
    return f"<table><thead>{groups_row}<tr>{names}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"


def numbers(column: str, counts: Counts, total: Counts, words: dict[str, str], classes: str) -> str:
    """A cell; behind the instructions, the line's share of them."""
    text = cell(column, counts, words)
    if column != "warps" or not text:
        return f"<td{classes}>{text}</td>"
    share = 100 * counts["warps"] / total["warps"]
    return f'<td{classes}><span class="wb-lines__share" style="--share: {share:.1f}%">{text}</span></td>'


EXCERPT = ("sectors", "conflicts", "warps", "lanes", "diverged")


def excerpt(book: Book, text: str, language: str, root: str) -> str:
    """`counters:ARTICLE:KERNEL`: an article's kernel with its counters, unfolded and coloured, for another page."""
    words, (article, _, name) = WORDS[language], text.partition(":")
    path = book.page_of(article, language)
    one = parse(Page(book, path), f"{{{{ lines:{name} }}}}") if path else None
    if path is None or one is None:
        raise BookError(f'"counters:{text}" is not counters:ARTICLE:KERNEL')
    launch = read(book, article).get(one.program, {}).get("launches", {}).get(one.key)
    if launch is None or len(launch["lines"]) != 1:
        raise BookError(f"no lines of {name} in {article} that lie in one file; {records.remedy(SOFTCUDA, article)}")
    [(file, lines)] = launch["lines"].items()
    if not reads.is_file(book.root / file):
        raise BookError(f"{name} in {article} is written on its page; put it into a file, to show it on another")
    first, last = min(map(int, lines)), max(map(int, lines))
    source = reads.text(book.root / file).splitlines()[first - 1 : last]
    listed = comments.shown(book, (Line(text, file, first + i, 0) for i, text in enumerate(source)), language)
    shown = lines_of(Page(book, path), listed, launch)
    lexer = get_lexer_by_name("python" if file.endswith(".py") else "cuda")
    coloured = highlight("\n".join(line.text for line in listed), lexer, HtmlFormatter(nowrap=True)).split("\n")
    root = f"{root.rstrip('/')}/" if root else ""
    table = drawn(shown, launch["total"], EXCERPT, words, root, coloured[: len(shown)])
    label = f"{words['summary']}: {one.kernel}"
    return (
        f'<div class="wb-lines wb-lines--open" data-search-exclude>'
        f'<div class="wb-lines__view" tabindex="0" role="group" aria-label="{label}">{table}</div></div>'
    )


def lines_of(page: Page, listing: Iterable[Line], launch: dict[str, Any]) -> list[tuple[int, str, Counts]]:
    """(number, text, counts) from the first counted line of the listing to the last; a page's own lines from 1 on."""
    rows: list[tuple[int, str, Counts]] = []
    for line in listing:
        file, number = place(page, line)
        counts = launch["lines"].get(file, {}).get(number, {})
        if counts and counts["source"] != (line.written or line.text).strip():
            raise BookError(f"{line.file}:{line.number} has changed since its lines were counted")
        rows.append((int(number), line.text.rstrip(), {k: v for k, v in counts.items() if k != "source"}))
    counted = [i for i, row in enumerate(rows) if row[2]]
    return rows[counted[0] : counted[-1] + 1] if counted else []
