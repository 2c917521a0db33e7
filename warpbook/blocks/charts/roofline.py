"""The roofline: what a kernel computes a second over what it computes a byte, below the device's measured ceilings."""

from __future__ import annotations

from dataclasses import dataclass

from warpbook.blocks.charts.plot import LINE, MARKERS, Plot
from warpbook.blocks.charts.source import Source
from warpbook.blocks.charts.svg import Scale, figure, in_table, percent, table
from warpbook.book import BookError
from warpbook.numbers import quantity
from warpbook.records.values import Value

CEILINGS = ("copy.rate", "fma32.flops")  # of the article `devices`
WORDS = {
    "en": {
        "title": "Roofline, measured on {device} · {date}",
        "x": "Arithmetic intensity (FLOP/B)",
        "y": "Rate",
        "name": "Kernel",
        "roof": "Roof there",
        "share": "Of the roof",
        "ceiling": "Ceiling",
        "said": "{name}: {rate} at {intensity}, {share} of the roof",
        "stop": ". ",
        "copy": "copy",
        "l2": "L2",
        "read": "reading",
        "shared": "shared memory",
        "fma32": "FP32",
        "fma64": "FP64",
        "fma16": "FP16",
        "mma16": "FP16 mma.sync",
    },
    "zh": {
        "title": "屋顶线（roofline），测自 {device} · {date}",
        "x": "算术强度（FLOP/B）",
        "y": "速率",
        "name": "核函数",
        "roof": "该处的屋顶",
        "share": "与屋顶之比",
        "ceiling": "上限",
        "said": "{name}：算术强度 {intensity}，速率 {rate}，为屋顶的 {share}",
        "stop": "。",
        "copy": "拷贝",
        "l2": "L2",
        "read": "只读",
        "shared": "共享内存",
        "fma32": "FP32",
        "fma64": "FP64",
        "fma16": "FP16",
        "mma16": "FP16 mma.sync",
    },
}


@dataclass(frozen=True)
class Kernel:
    label: str
    intensity: float  # flop/B
    rate: float  # flop/s
    roof: float  # flop/s

    @property
    def share(self) -> str:
        return quantity(100 * self.rate / self.roof, "%")


def roofline(source: Source) -> str:
    words = WORDS[source.language]
    memory, compute = ceilings(source)
    if len(source.names) > len(MARKERS):
        raise BookError(f"{len(source.names)} kernels cannot be distinguished; draw at most {len(MARKERS)}")
    kernels = []
    for name, label in zip(source.names, source.labels(), strict=True):
        intensity, rate = (
            positive(source, f"{name}.{what}", unit) for what, unit in (("intensity", "flop/B"), ("flops", "flop/s"))
        )
        roof = min(memory[0][1].number * intensity, compute[0][1].number)
        kernels.append(Kernel(label, intensity, rate, roof))
    plot = plane(kernels, memory, compute, words)
    draw_ceilings(plot, memory, compute)
    draw_kernels(plot, kernels)
    first = compute[0][1]
    title = source.options.get("title") or words["title"].format(device=first.device, date=first.date)
    spoken = [
        words["said"].format(
            name=k.label, rate=quantity(k.rate, "flop/s"), intensity=in_table(k.intensity, "flop/B"), share=k.share
        )
        for k in kernels
    ]
    return figure(
        plot.html(words["stop"].join([title, *spoken])),
        title,
        numbers(kernels, memory + compute, words),
        source.language,
    )


Named = list[tuple[str, Value]]


def ceilings(source: Source) -> tuple[Named, Named]:
    """Those of memory and those of arithmetic, the one that decides about shares first."""
    words = WORDS[source.language]
    wanted = [name for name in source.options.get("ceilings", ",".join(CEILINGS)).split(",") if name]
    found: Named = []
    for name in wanted:
        full = name if ":" in name else f"devices:{name}"
        short = full.split(":")[1].split(".")[0]
        value = source.value(full)
        if value.number <= 0:
            raise BookError(f'"{full}" is {value.number:g}, which is no ceiling')
        found.append((words.get(short, short), value))
    memory = [one for one in found if one[1].unit == "B/s"]
    compute = [one for one in found if one[1].unit == "flop/s"]
    if not memory or not compute or len(memory) + len(compute) < len(found):
        raise BookError("ceilings must be in B/s and in flop/s, at least one of each")
    return memory, compute


def positive(source: Source, name: str, unit: str) -> float:
    value = source.value(name)
    if value.unit != unit:
        raise BookError(f'"{name}" is in {value.unit}, not in {unit}')
    if value.number <= 0:
        raise BookError(f'"{name}" is {value.number:g}, which a roofline cannot show')
    return value.number


def plane(kernels: list[Kernel], memory: Named, compute: Named, words: dict[str, str]) -> Plot:
    """Wide enough for all kernels and for every corner of the roof."""
    slow, fast = (pick(value.number for _, value in memory) for pick in (min, max))
    low, high = (pick(value.number for _, value in compute) for pick in (min, max))
    xs = [low / fast, high / slow, *(k.intensity for k in kernels)]
    x = Scale(min(xs) / 4, max(xs) * 4, 2)
    ys = [low, high * 1.6, *(k.rate / 2 for k in kernels), slow * min(k.intensity for k in kernels)]
    return Plot(x, Scale(min(ys), max(ys), 10), "flop/B", "flop/s", words["x"], words["y"])


def draw_ceilings(plot: Plot, memory: Named, compute: Named) -> None:
    top = max(value.number for _, value in compute)
    fast = max(value.number for _, value in memory)
    for i, (label, value) in enumerate(sorted(memory, key=lambda one: one[1].number)):
        left = max(plot.x.low, plot.y.low / value.number)
        right = min(top / value.number, plot.x.high)
        plot.line([(left, left * value.number), (right, right * value.number)], "wb-ceiling")
        at = left * (right / left) ** (0.3 if i == 0 else 0.35 + 0.2 * i)  # the slowest is named below, others above
        said, y = f"{label} {quantity(value.number, value.unit)}", plot.down(at * value.number)
        side: tuple[str, float] = ("start", 10) if i == 0 else ("end", -10)
        plot.text(percent(plot.across(at)), y + 8 if i == 0 else y, said, side[0], "wb-ceiling__label", side[1])
    for label, value in compute:
        plot.line([(value.number / fast, value.number), (plot.x.high, value.number)], "wb-ceiling")
        said = f"{label} {quantity(value.number, value.unit)}"
        plot.text("100%", plot.down(value.number) - 7, said, "end", "wb-ceiling__label")


def draw_kernels(plot: Plot, kernels: list[Kernel]) -> None:
    """Markers first, then their names, each moved down where it would cover another."""
    placed: list[tuple[float, float]] = []
    for kind, kernel in enumerate(kernels):
        title = (
            f"{kernel.label}: {quantity(kernel.rate, 'flop/s')}, {in_table(kernel.intensity, 'flop/B')}, {kernel.share}"
        )
        plot.marker(kind, kernel.intensity, kernel.rate, title)
    for kind, kernel in sorted(enumerate(kernels), key=lambda one: -one[1].rate):
        across, y = plot.across(kernel.intensity), plot.down(kernel.rate) + 4
        while any(abs(across - other) < 0.25 and abs(y - at) < LINE - 1 for other, at in placed):
            y += LINE - 1
        placed.append((across, y))
        right = across < 0.7
        plot.text(
            percent(across),
            y,
            kernel.label,
            "start" if right else "end",
            f"wb-point__label wb-s{kind}",
            8 if right else -8,
        )


def numbers(kernels: list[Kernel], ceilings: Named, words: dict[str, str]) -> str:
    points = [
        (k.label, in_table(k.intensity, "flop/B"), quantity(k.rate, "flop/s"), quantity(k.roof, "flop/s"), k.share)
        for k in kernels
    ]
    lines = [(label, quantity(value.number, value.unit)) for label, value in ceilings]
    return table([words[key] for key in ("name", "x", "y", "roof", "share")], points) + table(
        [words["ceiling"], ""], lines
    )
