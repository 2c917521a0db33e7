"""The ledger of claims and the table of devices, from records made up here."""

from __future__ import annotations

import re

import pytest

from warpbook.blocks import devices, ledger
from warpbook.blocks.outputs import Outputs
from warpbook.book import Book, BookError
from warpbook.pipeline.extension import parse
from warpbook.records import records
from warpbook.records.values import Values, render
from warpbook.source.pages import Page

DATE = "2026-01-02T03:04:05Z"


def value(number: float, unit: str = "B/s") -> dict:
    return {"value": number, "unit": unit, "low": None, "high": None, "second": number}


def claim(name: str, **more: object) -> dict:
    return {"en": f"{name} is fast", "zh": f"{name} 很快", "value": name, "at_least": 3e12, **more}


def put(book: Book, device: str, article: str, machine: dict, values: dict, claims: dict) -> None:
    entry = {"code": "", "machine": "m", "date": DATE, "stdout": "", "values": values, "claims": claims}
    record = {**records.empty(), "machines": {"m": machine}, "programs": {f"{article}/a.py": entry}}
    record["counters"] = {"x/a.py": {"code": "", "machine": "m", "date": DATE, "launches": []}}
    records.write(book, device, article, record)


@pytest.fixture
def filled(small, write) -> Book:
    """Two GPUs and softcuda; what the H100 does not reach, the H200 does."""
    write("docs/en/x.md", "# Ratios { #x }\n\n{{ copy.rate }}\n")
    write("docs/zh/x.md", "# 比值\n\n{{ copy.rate }}\n")
    write("snippets/devices/a.py", "")  # an article without a page
    claims = {
        "fast": claim("copy.rate", predicted=4e12, source="wires", published=4.8e12, published_by="a < b",
                      published_link="https://example.org/?a&b"),
    }  # fmt: skip
    h200 = {"name": "NVIDIA H200", "l2_bytes": 60 * 2**20, "memory_bytes": 140 * 2**30, "power_limit": "700.00 W"}
    cpu = {"name": "NVIDIA H200 (softcuda)", "softcuda": True, "l2_bytes": 60 * 2**20, "memory_bytes": 2**30}
    for article in ("x", "devices"):
        put(small, "nvidia-h200", article, h200, {"copy.rate": value(4e12), "launch.time": value(2e-6, "s")}, claims)
        put(small, "nvidia-h100", article, {"name": "NVIDIA H100"}, {"copy.rate": value(2.9e12)}, claims)
        put(small, "softcuda", article, cpu, {}, claims)
    return small


def cells(html: str) -> list[list[str]]:
    """The text of each row's cells."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    plain = [[re.sub(r"<[^>]+>", " ", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]
    return [[" ".join(cell.split()).replace("\u00a0", " ") for cell in row] for row in plain]


def test_every_claim_on_every_device_that_can_judge_it(filled):
    made = ledger.table(filled, "en", "../")
    rows = cells(made)
    assert rows[0] == [
        "Article", "Claim", "Predicted", "Published", "Measured", "Held to", "Verdict", "Device", "Date",
    ]  # fmt: skip
    assert rows[3] == [
        "Ratios", "copy.rate is fast", "4.00 TB/s wires", "4.80 TB/s a &lt; b", "4.00 TB/s", "at least 3.00 TB/s",
        "holds", "NVIDIA H200", "2026-01-02",
    ]  # fmt: skip
    assert [(row[0], row[6], row[7]) for row in rows[1:]] == [
        ("devices", "holds", "NVIDIA H200"),
        ("devices", "falls short", "NVIDIA H100"),
        ("Ratios", "holds", "NVIDIA H200"),
        ("Ratios", "falls short", "NVIDIA H100"),
    ]
    assert 'href="../x/"' in made and 'href="../records/nvidia-h100/x.json"' in made
    assert 'href="https://example.org/?a&amp;b"' in made
    counts = re.findall(r"<li>(.*?)</li>", made)
    assert counts == ["2 of 2 claims hold on NVIDIA H200", "0 of 2 claims hold on NVIDIA H100"]


def test_the_ledger_in_chinese(filled):
    rows = cells(ledger.table(filled, "zh", "../"))
    assert rows[3][:2] == ["比值", "copy.rate 很快"]
    assert rows[4][5:7] == ["不低于 3.00 TB/s", "未达到"]


def test_a_choice_of_one_is_none(filled):
    made = ledger.table(filled, "en", "")
    assert re.findall(r'<select name="(\w+)">', made) == ["article", "verdict", "device"]
    (filled.records / "nvidia-h100" / "x.json").unlink()
    (filled.records / "nvidia-h100" / "devices.json").unlink()
    assert re.findall(r'<select name="(\w+)">', ledger.table(filled, "en", "")) == ["article"]


def test_a_column_a_device(filled):
    rows = cells(devices.table(filled, "en", ""))
    assert rows[0] == ["", "NVIDIA H200", "NVIDIA H100", "no GPU (softcuda)"]
    assert ["memory", "140.0 GiB", "–", "–"] in rows  # softcuda's is that of the machine it ran on
    assert ["L2", "60 MiB", "–", "60 MiB"] in rows
    assert ["power limit", "700 W", "–", "–"] in rows
    copy = ["copy in device memory, read and written", "4.00 TB/s 83.3 % of 4.80 TB/s published",
            "2.90 TB/s 60.4 % of 4.80 TB/s published", "–"]  # fmt: skip
    assert copy in rows
    assert ["a launch, one after another", "2.00 µs", "–", "–"] in rows


def test_a_book_without_ceilings_says_what_to_run(small):
    with pytest.raises(BookError) as raised:
        devices.table(small, "en", "")
    assert str(raised.value) == f"no record has a ceiling; {records.remedy('nvidia-h200', 'devices')}"
    with pytest.raises(BookError, match="no record has a claim"):
        ledger.table(small, "en", "")


def test_a_number_lists_the_other_devices_that_have_it(filled):
    made = render("copy.rate", "x", "en", Values(filled), "../")
    assert "NVIDIA H100: 2.90\u00a0TB/s" in made
    assert '"nvidia-h100":[' in made.replace("&quot;", '"') and "softcuda" not in made
    assert "data-others" not in render("launch.time", "x", "en", Values(filled))


def test_every_recorded_device_is_shown_the_primary_first(filled):
    page = Page(filled, filled.docs / "en" / "x.md")
    assert list(Outputs(page, "en").records) == ["nvidia-h200", "nvidia-h100", "softcuda"]


def test_claims_of_each_device_and_one_is_shown(filled, write):
    page = Page(filled, write("docs/en/x.md", "# X\n\n{{ claims }}\n"))
    [(_, made)] = parse(page, "en", Values(filled)).directives
    assert re.findall(r'<div data-device="([\w-]+)"( hidden)?>', made) == [
        ("nvidia-h200", ""),
        ("nvidia-h100", " hidden"),
    ]
