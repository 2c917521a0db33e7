"""Records of several devices side by side: a small book with two GPUs and softcuda, looked at in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import recorded

from warpbook.book import Book, write_text
from warpbook.site.builder import build

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
    return recorded.value(number) | {"low": 0.99 * number, "high": 1.01 * number}


CLAIM = """
[a."{name}"]
en = "{name} is fast"
zh = "{name} 很快"
value = "{name}"
at_least = 3.5e12
predicted = 4.2e12
source = "wires"
source_zh = "数据线"
published = 4.8e12
published_by = "a data sheet"
"""


def keep(book: Book, device: str, article: str) -> None:
    """What one device might have said."""
    name, copy, v1 = DEVICES[device]
    rates = {"copy.rate": copy, "v0.rate": copy and copy / 2, "v1.rate": v1}
    values = {key: value(number) for key, number in rates.items() if number}
    machine = {"name": name, "capability": "9.0", "multiprocessors": 132}
    printed = [f"42, says {name}\n"] if article == "x" else []
    recorded.keep(book, device, article, {f"{article}/a.py": {"values": values}}, machine=machine, printed=printed)


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
    for article in ("x", "devices"):
        claims = (CLAIM.format(name=name) for name in ("copy.rate", "v0.rate", "v1.rate"))
        write_text(small.snippets / article / "claims.toml", "".join(claims))
        for device in DEVICES:
            keep(small, device, article)
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
