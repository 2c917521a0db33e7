"""The memory hierarchy with a kernel's traffic on it, as the counters of its first profiled launch say.

The same drawing on every page: SM, L1, L2 and DRAM from top to bottom, one column for each kernel, arrows as wide as
the bytes that they carry. Between SM and L1 that is the sectors of global loads and stores, 32 bytes each; atomic
additions are stores, too, where they were counted. No recorded metric counts the bytes between L1 and L2, so that link
has no number; the L2 shows its hit rate. Where a record lacks the bytes written to DRAM, the drawing says so.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

from warpbook.blocks.charts.source import Source
from warpbook.blocks.charts.svg import BINARY, figure, sheet, table
from warpbook.book import BookError
from warpbook.numbers import BLANK, quantity
from warpbook.records.records import PendingError

SECTOR = 32  # bytes
WIDTH, GAP, BOX, LINK, SHORT = 172, 12, 30, 64, 24  # units: a column, between columns, a box, a link, one not counted
WIDEST = 18  # units: the arrow with the most bytes
MOST = 3  # kernels side by side
CACHE = 0.08  # how dark a cache is
COLOURS = {"load": "--wb-bar", "store": "--wb-reference"}
WORDS = {
    "en": {
        "title": "Traffic of one launch on {device} · {date}, counted in hardware; arrows are as wide as their bytes",
        "load": "loaded",
        "store": "stored",
        "add": "stored, added",
        "sm": "SMs: registers",
        "hits": "{share} hits",
        "name": "Kernel",
        "rate": "L2 hits",
        "unknown": "not counted",
    },
    "zh": {
        "title": "一次启动的访存流量，{device} · {date}，硬件计数；箭头的粗细与字节数成正比",
        "load": "加载",
        "store": "存储",
        "add": "存储、原子加",
        "sm": "SM：寄存器",
        "hits": "命中 {share}",
        "name": "核函数",
        "rate": "L2 命中率",
        "unknown": "没有计数",
    },
}


@dataclass(frozen=True)
class Moved:
    """Bytes that one launch of a kernel moved, and the L2's hit rate in percent; None where nothing was counted."""

    label: str
    loaded: float
    stored: float  # added included
    added: float
    hits: float
    read: float
    written: float | None


def traffic(source: Source) -> str:
    """One column for each kernel named. Raises BookError for a kernel that was not profiled."""
    words = WORDS[source.language]
    if len(source.names) > MOST:
        raise BookError(f"{len(source.names)} kernels do not fit side by side; draw at most {MOST}")
    kernels = [moved(source, *pair) for pair in zip(source.names, source.labels(), strict=True)]
    most = max(max(k.loaded, k.stored, k.read, k.written or 0.0) for k in kernels) or 1.0
    first = source.value(f"#{source.names[0]}.dram__bytes_read.sum")
    title = source.options.get("title") or words["title"].format(device=first.device, date=first.date)
    columns = [column(kernel, i * (WIDTH + GAP), most, words) for i, kernel in enumerate(kernels)]
    width = len(kernels) * (WIDTH + GAP) - GAP
    height = 24 + 4 * BOX + 2 * LINK + SHORT + 2
    rows = [
        [k.label, size(k.loaded), size(k.stored), quantity(k.hits, "%"), size(k.read), size(k.written)] for k in kernels
    ]
    data = table([words["name"], "SM ← L1", "SM → L1", words["rate"], "L2 ← DRAM", "L2 → DRAM"], rows)
    return figure(sheet(width, height, "".join(columns), title), title, data, source.language)


def moved(source: Source, kernel: str, label: str) -> Moved:
    def counted(metric: str) -> float:
        return source.value(f"#{kernel}.{metric}").number

    def counted_if_asked(metric: str) -> float | None:  # records of most pages lack atomics
        try:
            return counted(metric)
        except PendingError:
            raise
        except BookError:
            return None

    added = SECTOR * sum(
        counted_if_asked(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum") or 0.0 for op in ("red", "atom")
    )
    return Moved(
        label,
        SECTOR * counted("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
        SECTOR * counted("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") + added,
        added,
        counted("lts__t_sector_hit_rate.pct"),
        counted("dram__bytes_read.sum"),
        counted_if_asked("dram__bytes_write.sum"),
    )


def size(number: float | None) -> str:
    """Bytes to three digits: 256 MiB, 1.99 GiB."""
    if number is None:
        return "–"
    for unit, prefix in BINARY:
        if number >= unit * 0.9995:
            return f"{number / unit:.3g}{BLANK}{prefix}"
    return f"{number:.3g}{BLANK}B"


def column(kernel: Moved, x: float, most: float, words: dict[str, str]) -> str:
    middle = x + WIDTH / 2
    out = [f'<text class="wb-node__name" x="{middle:g}" y="14" text-anchor="middle">{html.escape(kernel.label)}</text>']

    def box(y: float, said: str, shade: float = 0) -> float:
        out.append(
            f'<rect x="{x + 0.5:g}" y="{y:g}" width="{WIDTH - 1}" height="{BOX}" rx="3" fill="currentColor" '
            f'fill-opacity="{shade:g}" stroke="currentColor" stroke-opacity=".6"/>'
            f'<text x="{middle:g}" y="{y + 20:g}" text-anchor="middle">{html.escape(said)}</text>'
        )
        return y + BOX

    def link(y: float, up: float, down: float | None, below: str = "store") -> float:
        for at, number, kind, name in ((x + 13, up, "load", "load"), (x + WIDTH / 2 + 11, down, "store", below)):
            tip, tail = (y + 2, y + LINK - 2) if kind == "load" else (y + LINK - 2, y + 2)
            if number is None:
                out.append(f'<text x="{at:g}" y="{y + LINK / 2 + 13:g}">{words["unknown"]}</text>')
                continue
            out.append(arrow(at, tail, tip, WIDEST * number / most, kind))
            out.append(
                f'<text class="wb-node__name" x="{at + 13:g}" y="{y + LINK / 2 - 3:g}">{size(number)}</text>'
                f'<text x="{at + 13:g}" y="{y + LINK / 2 + 13:g}">{words[name]}</text>'
            )
        return y + LINK

    y = box(24, words["sm"])
    y = link(y, kernel.loaded, kernel.stored, "add" if kernel.added else "store")
    y = box(y, "L1", CACHE)
    out.append(f'<path class="wb-edge" stroke-dasharray="3 3" d="M{middle:g} {y:g}v{SHORT}"/>')
    y = box(y + SHORT, f"L2: {words['hits'].format(share=quantity(kernel.hits, '%'))}", CACHE)
    y = link(y, kernel.read, kernel.written)
    box(y, "DRAM")
    return "".join(out)


def arrow(x: float, tail: float, tip: float, width: float, kind: str) -> str:
    """From `tail` to `tip`, upright, centred on x."""
    half = max(width, 1) / 2
    neck = tip + (10 if tip < tail else -10)
    head = half + 3
    shaft = f"M{x - half:.1f} {tail:g}V{neck:g}H{x - head:.1f}"
    point = f"L{x:g} {tip:g}L{x + head:.1f} {neck:g}H{x + half:.1f}V{tail:g}z"
    return f'<path fill="var({COLOURS[kind]})" d="{shaft}{point}"/>'
