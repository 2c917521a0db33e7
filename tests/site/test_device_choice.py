"""Records of several devices side by side: a small book with two GPUs and softcuda, looked at in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from warpbook.book import Book, write_json, write_text
from warpbook.records import records
from warpbook.site.builder import build
from warpbook.source.pages import Page

PAGE = """# Ratios

Both have {{ copy.rate }}, only the H200 has {{ v1.rate }}.

```python
print(6 * 7)
```

{{ chart:ladder }}

{{ claims }}
"""
CONFIG = """INHERIT: {parent}
docs_dir: docs/{language}
nav: [Home: index.md, Ratios: x.md, Devices: devices.md, Ledger: ledger.md]
"""
DEVICES = {  # slug: name, copy.rate, v1.rate
    "nvidia-h200": ("NVIDIA H200", 4e12, 3e12),
    "nvidia-h100": ("NVIDIA H100", 3e12, None),
    "softcuda": ("NVIDIA H200 (softcuda)", None, None),
}


def value(number: float) -> dict:
    return {"value": number, "unit": "B/s", "low": 0.99 * number, "high": 1.01 * number, "second": number}


def claim(name: str, at_least: float, **more: object) -> dict:
    return {
        "en": f"{name} is fast", "zh": f"{name} 很快", "value": name, "at_least": at_least, "predicted": 4.2e12,
        "source": "wires", "source_zh": "数据线", "published": 4.8e12, "published_by": "a data sheet", **more,
    }  # fmt: skip


def record(book: Book, device: str, article: str, page: Page) -> dict:
    """What one device might have said."""
    name, copy, v1 = DEVICES[device]
    rates = {"copy.rate": copy, "v0.rate": copy and copy / 2, "v1.rate": v1}
    entry = {
        "code": "",
        "machine": "m",
        "date": "2026-01-02T00:00:00Z",
        "seconds": 1,
        "stdout": "",
        "values": {key: value(number) for key, number in rates.items() if number},
        "claims": {key: claim(key, 3.5e12) for key, number in rates.items() if number},
    }
    blocks = [{"code": code, "stdout": f"42, says {name}\n"} for code in records.block_hashes(page)]
    return {
        **records.empty(),
        "machines": {
            "m": {"name": name, "softcuda": device == "softcuda", "capability": "9.0", "multiprocessors": 132}
        },
        "programs": {f"{article}/a.py": entry},
        "blocks": {"machine": "m", "date": "2026-01-02T00:00:00Z", "printed": blocks},
    }


@pytest.fixture(scope="module")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book, built with the real theme and the real configuration."""
    small = Book(tmp_path_factory.mktemp("devices"))
    for name in ("theme", "warpbook", "node_modules"):
        (small.root / name).symlink_to(book.root / name)
    for language, name in (("en", "mkdocs.yml"), ("zh", "mkdocs.zh.yml")):
        write_text(small.root / name, CONFIG.format(parent=book.root / name, language=language))
        write_text(small.docs / language / "index.md", "# Home\n")
        write_text(small.docs / language / "x.md", PAGE)
        for table in ("devices", "ledger"):
            write_text(small.docs / language / f"{table}.md", f"# {table}\n\n{{{{ {table} }}}}\n")
    for device in DEVICES:
        for article in ("x", "devices"):
            page = Page(small, small.docs / "en" / f"{article}.md")
            write_json(records.path_of(small, device, article), record(small, device, article, page))
    return build(small, tmp_path_factory.mktemp("built") / "site", strict=False)


def test_devices_are_chosen_and_claims_sorted(
    site: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    look("devices.mjs", serve(site))


def test_a_number_carries_those_of_the_other_devices(site: Path) -> None:
    text = (site / "x" / "index.html").read_text("utf-8")
    assert "NVIDIA H100: 3.00\u00a0TB/s" in text
    assert text.count("data-others") == 1  # v1.rate is the H200's alone
    assert json.dumps("nvidia-h100")[1:-1] in text
