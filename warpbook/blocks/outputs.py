"""What the recorded devices printed: a box under each block that prints, and where `{{ output:ladder.py }}` stands."""

from __future__ import annotations

import html
from typing import Any

from warpbook import reads
from warpbook.blocks import devices
from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.records import packages, records
from warpbook.source.pages import Page

LONG = 15  # lines of the longest output that is not folded; of a folded one theme/style/code.css shows twelve
WORDS = {
    "en": {
        "output": "Output",
        "of": "Output: {}",
        "softcuda": "no GPU (softcuda)",
        "device": "printed by",
        "all": "All {} lines",
        "tried": "{} (this book was tried with {})",
    },
    "zh": {
        "output": "输出",
        "of": "输出：{}",
        "softcuda": "无 GPU（softcuda）",
        "device": "输出设备",
        "all": "全部 {} 行",
        "tried": "{}（本书所用版本为 {}）",
    },
}


def versions(book: Book, part: dict[str, Any], language: str) -> str:
    """Which PyTorch and Triton made a part of a record, if any; and which the book was tried with, if others."""
    used, others = packages.named(part), packages.untried(book, part)
    return WORDS[language]["tried"].format(used, packages.named({"packages": others})) if others else used


class Outputs:
    """What the recorded devices printed for a page's blocks."""

    def __init__(self, page: Page, language: str) -> None:
        self.page, self.language, self.words = page, language, WORDS[language]
        self.records = {
            device: record
            for device in records.devices(page.book)
            if (record := records.look(page.book, device, page.article)) is not None
        }

        self.hashes = records.block_hashes(page)

    def problems(self) -> list[str]:
        """What softcuda, which everybody has, has not run since it changed. What waits for a GPU is left out."""
        kept = self.records.get(SOFTCUDA)
        if kept is None or [entry["code"] for entry in kept["blocks"]["printed"]] != self.hashes:
            return records.stale(self.page.book, SOFTCUDA, self.page.article)[:1] if self.hashes else []
        return []

    def box(self, index: int) -> str:
        """What the devices printed that ran this very block."""
        parts = {
            device: printed[index]
            for device, record in self.records.items()
            if index < len(printed := record["blocks"]["printed"]) and printed[index]["code"] == self.hashes[index]
        }
        return self.html(parts)

    def of_program(self, program: str) -> str:
        name = program if "/" in program else f"{self.page.article}/{program}"
        path = self.page.book.snippets / name
        if not reads.is_file(path):
            raise BookError(f"there is no snippets/{name}")
        code = records.program_hash(self.page.book, path)
        parts = {
            device: kept
            for device, record in self.records.items()
            if (kept := record["programs"].get(name)) and kept["code"] == code
        }
        if not parts:
            raise BookError(f'no record has an output of "{name}"; {records.remedy(SOFTCUDA, self.page.article)}')
        return self.html(parts)

    def html(self, parts: dict[str, dict[str, Any]]) -> str:
        texts = {device: text for device, part in parts.items() if (text := part["stdout"].rstrip())}
        if not texts:
            return ""
        names = {
            device: self.words["softcuda"]
            if device == SOFTCUDA
            else records.device_name(self.records[device]) or device
            for device in texts
        }
        first, *others = texts
        panes = [
            f'<pre class="wb-output__text" data-device="{d}" tabindex="0" role="group" '
            f'aria-label="{self.words["of"].format(html.escape(names[d]))}"{"" if d == first else " hidden"}>'
            f"<samp>{html.escape(t)}</samp></pre>{self.fold(t)}"
            for d, t in texts.items()
        ]
        switch = (
            f'<div class="wb-switch" role="group" aria-label="{self.words["device"]}">{devices.buttons(names)}</div>'
        )
        used = dict.fromkeys(filter(None, (versions(self.page.book, parts[d], self.language) for d in texts)))
        made_by = [*used] if others else [names[first], *used]
        label = f'<span class="wb-output__device">{html.escape(" · ".join(made_by))}</span>' if made_by else ""
        return (
            f'<div class="wb-output" data-search-exclude><details open><summary>{self.words["output"]}'
            f"{label}</summary>{''.join(panes)}</details>{switch if others else ''}</div>"
        )

    def fold(self, text: str) -> str:
        """What stands under a long output, of which only the first lines are shown until this is opened."""
        lines = text.count("\n") + 1
        if lines <= LONG:
            return ""
        return f'<details class="wb-output__fold"><summary>{self.words["all"].format(lines)}</summary></details>'
