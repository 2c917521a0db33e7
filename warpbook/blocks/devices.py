"""`{{ devices }}`: every recorded device side by side, what it is and how far it goes."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import PRIMARY, SOFTCUDA, Book, BookError
from warpbook.markup import attribute
from warpbook.numbers import BLANK, hold_together, quantity
from warpbook.records import claims, records
from warpbook.records.values import Answer, Value, Values, element

ARTICLE = "devices"  # its programs measure the ceilings
WORDS = {
    "en": {
        "label": "Devices",
        "softcuda": "no GPU (softcuda)",
        "ceilings": "Ceilings, as measured",
        "published": "{share} of {number} published",
        "predicted": "{share} of {number} counted",
        "choose": "Outputs, charts and numbers on all pages are of",
    },
    "zh": {
        "label": "设备",
        "softcuda": "无 GPU（softcuda）",
        "ceilings": "实测上限",
        "published": "公布值 {number} 的 {share}",
        "predicted": "推算值 {number} 的 {share}",
        "choose": "各页的输出、图表和数字取自",
    },
}
CEILINGS = {  # value: English, Chinese
    "copy.rate": ("copy in device memory, read and written", "显存内拷贝，读写合计"),
    "read.rate": ("read device memory", "显存读取"),
    "write.rate": ("write device memory", "显存写入"),
    "l2.rate": ("read from the L2", "L2 读取"),
    "shared.rate": ("read shared memory, all SMs", "共享内存读取，全部 SM 合计"),
    "fma32.flops": ("FMA, float32", "FMA，float32"),
    "fma64.flops": ("FMA, float64", "FMA，float64"),
    "fma16.flops": ("FMA, pairs of float16", "FMA，float16 成对"),
    "imad.rate": ("multiply-add, int32", "乘加，int32"),
    "mma16.flops": ("tensor cores, float16, mma.sync", "张量核心，float16，mma.sync"),
    "h2d.rate": ("host to device, pinned", "主机到设备，锁页内存"),
    "d2h.rate": ("device to host, pinned", "设备到主机，锁页内存"),
    "both.rate": ("both ways at once, pinned", "双向同时，锁页内存"),
    "pageable.rate": ("host to device, pageable", "主机到设备，可分页内存"),
    "launch.time": ("a launch, one after another", "连续启动，每次"),
    "enqueue.time": ("a launch, for the host that enqueues it", "一次启动，主机入队用时"),
    "wait.time": ("a launch, for a host that waits for it", "一次启动，主机等到完成"),
}
IDENTITY = {  # key of a machine: English, Chinese
    "capability": ("compute capability", "计算能力"),
    "multiprocessors": ("SMs", "SM 数"),
    "l2_bytes": ("L2", "L2"),
    "memory_bytes": ("memory", "显存"),
    "max_sm_clock": ("SM clock at most", "SM 最高频率"),
    "max_memory_clock": ("memory clock at most", "显存最高频率"),
    "power_limit": ("power limit", "功耗上限"),
    "driver": ("driver", "驱动"),
    "cuda": ("CUDA of the driver", "驱动的 CUDA 版本"),
    "compiler": ("compiler", "编译器"),
}
FORMS: dict[str, Callable[[Any], str]] = {  # how those are shown that are not shown as they are
    "l2_bytes": lambda n: f"{n / 2**20:.0f}{BLANK}MiB",
    "memory_bytes": lambda n: f"{n / 2**30:.1f}{BLANK}GiB",
    "power_limit": lambda text: text.replace(".00", ""),
    "compiler": lambda text: text.rpartition(" V")[2],
}


def table(book: Book, language: str, root: str) -> str:
    """One column a device, the primary one first."""
    words, which = WORDS[language], ("en", "zh").index(language)
    columns = [Device(book, device) for device in records.devices(book)]
    known = [key for key in IDENTITY if any(key in one.machine for one in columns)]
    shown = [key for key in CEILINGS if any(one.value(key) for one in columns)]
    if not shown:
        raise BookError(f"no record has a ceiling; {records.remedy(PRIMARY, ARTICLE)}")
    head = "".join(f'<th scope="col">{html.escape(one.name(words))}</th>' for one in columns)
    identities = "".join(line(IDENTITY[key][which], [one.identity(key) for one in columns]) for key in known)
    ceilings = "".join(
        line(CEILINGS[key][which], [one.ceiling(key, language, root) for one in columns]) for key in shown
    )
    part = f'<th scope="rowgroup" colspan="{len(columns) + 1}">{words["ceilings"]}</th>'
    return (
        f'<div class="wb-claims wb-devices" tabindex="0" role="group" aria-label="{words["label"]}">'
        f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(identities)}</tbody>"
        f"<tbody><tr>{part}</tr>{''.join(ceilings)}</tbody></table></div>"
        + choice({one.device: one.name(words) for one in columns}, words["choose"])
    )


def line(label: str, cells: list[str]) -> str:
    return f'<tr><th scope="row">{html.escape(label)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def choice(names: dict[str, str], label: str) -> str:
    """Which device's numbers all pages show (theme/assets/site.js); hidden where there is no script."""
    if len(names) < 2:
        return ""
    return (
        f'<p class="wb-choice" hidden><span id="wb-choice">{label}</span> '
        f'<span class="wb-switch" role="group" aria-labelledby="wb-choice">{buttons(names)}</span></p>'
    )


def buttons(names: dict[str, str]) -> str:
    """One for each device, the first one pressed."""
    first = next(iter(names))
    return "".join(
        f'<button type="button" data-device="{device}" aria-pressed="{str(device == first).lower()}">'
        f"{html.escape(name)}</button>"
        for device, name in names.items()
    )


class Device:
    """One column: the machine of the newest part of the device's records, and its ceilings."""

    def __init__(self, book: Book, device: str) -> None:
        self.device, self.values = device, Values(book, device, alone=True)
        self.claims = {one.claim.value: one for one in reversed(claims.judged(book, device, ARTICLE))}
        articles = [Path(path).stem for path in reads.listed(book.records / device, "*.json")]
        held = {article: record for article in articles if (record := records.look(book, device, article))}
        parts = [
            (article == ARTICLE, str(part.get("date", "")), record["machines"][part["machine"]])
            for article, record in held.items()
            for part in records.parts(record)
            if part.get("machine") in record["machines"]
        ]
        self.machine: dict[str, Any] = max(parts, key=lambda part: part[:2])[2] if parts else {}

    def name(self, words: dict[str, str]) -> str:
        return words["softcuda"] if self.device == SOFTCUDA else str(self.machine.get("name", self.device))

    def identity(self, key: str) -> str:
        known = self.machine.get(key)
        if known is None:
            return "–"
        return html.escape(hold_together(FORMS.get(key, str)(known)))

    def value(self, key: str) -> Value | None:
        try:
            return self.values.get(key, ARTICLE)
        except BookError:
            return None

    def ceiling(self, key: str, language: str, root: str) -> str:
        """The measured number and, small beneath it, its share of the published or of the counted one."""
        value, one = self.value(key), self.claims.get(key)
        if value is None:
            return "–"
        shown = f"<strong>{element(Answer(value.number, value.unit, (value,)), {}, language, root)}</strong>"
        kind = next((kind for kind in ("published", "predicted") if one and getattr(one.claim, kind)), None)
        if one is None or kind is None or value.unit == "s":
            return shown
        share = quantity(100 * value.number / getattr(one.claim, kind), "%")
        said = html.escape(WORDS[language][kind].format(share=share, number=one.shown(kind)))
        if kind == "published" and one.claim.published_link:
            by = attribute("title", one.claim.text("published_by", language))
            said = f"<a{attribute('href', one.claim.published_link)}{by}>{said}</a>"
        return f"{shown}<small>{said}</small>"
