"""Records for tests' small books: complete, as the schema wants them, and fresh, as pages want them."""

from __future__ import annotations

from typing import Any

from warpbook.book import SOFTCUDA, Book, write_text
from warpbook.records import records
from warpbook.source.pages import Page

DATE = "2026-01-02T03:04:05Z"


def keep(
    book: Book,
    device: str,
    article: str,
    programs: dict[str, dict[str, Any]] | None = None,
    *,
    machine: dict[str, Any] | None = None,
    printed: list[str] | None = None,
    counters: dict[str, list[dict[str, Any]]] | None = None,
) -> None:
    """Write the article's record of a device.

    `programs`: by name ("x/a.py"), what each recorded: values, series, …; a program that does not exist yet is made,
    empty. `printed`: by the Python blocks of the article's page. `counters`: by command, its launches.
    """
    made = {"machine": "one", "date": DATE}
    record = records.empty()
    record["machines"]["one"] = {"name": "NVIDIA H200", "softcuda": device == SOFTCUDA} | (machine or {})
    for name, kept in (programs or {}).items():
        path = book.snippets / name
        if not path.exists():
            write_text(path, "")
        record["programs"][name] = {
            "code": records.program_hash(book, path), **made, "stdout": "", "values": {}, **kept
        }  # fmt: skip
    page_path = book.page_of(article, "en")
    page = Page(book, page_path) if page_path else None
    if printed:
        assert page
        listed = [{"code": c, "stdout": t} for c, t in zip(records.block_hashes(page), printed, strict=True)]
        record["blocks"] = {**made, "printed": listed}
    for command, launches in (counters or {}).items():
        metrics = page.metrics if page else []
        code = records.counters_hash(book, command, metrics)
        record["counters"][command] = {"code": code, **made, "launches": launches}
    records.write(book, device, article, record)


def value(number: float, unit: str = "B/s") -> dict[str, Any]:
    return {"value": number, "unit": unit, "low": None, "high": None, "second": number}


def launch(kernel: str, metrics: dict[str, float]) -> dict[str, Any]:
    return {"kernel": kernel, "grid": [1, 1, 1], "block": [32, 1, 1], "metrics": metrics}
