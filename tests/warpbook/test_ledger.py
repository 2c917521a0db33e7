"""The ledger of claims and the table of devices, from records made up here."""

from __future__ import annotations

import re

import pytest
from recorded import keep, value

from warpbook.blocks import claim_table, devices, ledger
from warpbook.blocks.outputs import Outputs
from warpbook.book import Book, BookError
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records import records
from warpbook.records.values import Values, render
from warpbook.source.pages import Page

CLAIM = """
[a.fast]
en = "copy.rate is fast"
zh = "copy.rate 很快"
value = "copy.rate"
predicted = 4e12
source = "wires"
published = 4.8e12
published_by = "a < b"
published_link = "https://example.org/?a&b"
at_least = 3e12

[a.slow]
en = "a launch is slow"
zh = "启动很慢"
value = "launch.time"
predicted = 1e-6
at_most = 3e-6
"""


@pytest.fixture
def filled(small, write) -> Book:
    """Two GPUs and softcuda; what the H100 does not reach, the H200 does."""
    write("docs/en/x.md", "# Ratios { #x }\n\n{{ copy.rate }}\n")
    write("docs/zh/x.md", "# 比值\n\n{{ copy.rate }}\n")
    h200 = {"l2_bytes": 60 * 2**20, "memory_bytes": 140 * 2**30, "power_limit": "700.00 W"}
    cpu = {"name": "NVIDIA H200 (softcuda)", "l2_bytes": 60 * 2**20}
    for article in ("x", "devices"):  # the second has no page
        write(f"snippets/{article}/claims.toml", CLAIM)
        fast, slow = ({"values": {"copy.rate": value(n), "launch.time": value(t, "s")}} for n, t in RATES)
        keep(small, "nvidia-h200", article, {f"{article}/a.py": fast}, machine=h200)
        keep(small, "nvidia-h100", article, {f"{article}/a.py": slow}, machine={"name": "NVIDIA H100"})
        keep(small, "softcuda", article, {f"{article}/a.py": {}}, machine=cpu)
    return small


RATES = ((4e12, 2.5e-6), (2.9e12, 1.5e-6))


def cells(html: str) -> list[list[str]]:
    """The text of each row's cells."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    plain = [[re.sub(r"<[^>]+>", " ", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]
    return [[" ".join(cell.split()).replace("\u00a0", " ") for cell in row] for row in plain]


def test_a_device_that_has_not_run_an_article_is_named_without_a_link(filled):
    """The article's record does not exist yet, so there is nothing to link to."""
    made = ledger.table(filled, "en", "../")
    assert "../records/nvidia-h200/x.json" in made
    (filled.records / "nvidia-h200" / "x.json").unlink()
    made = ledger.table(filled, "en", "../")
    assert "../records/nvidia-h200/x.json" not in made and "../records/nvidia-h200/devices.json" in made
    waiting = [row for row in cells(made.split("<details")[0]) if row[0] == "Ratios" and row[6] != "NVIDIA H100"]
    assert waiting and all("not yet measured" in row[3] and row[6] for row in waiting)


def test_a_new_article_has_claims_that_wait_and_neither_a_score_nor_gates(filled, write):
    write("docs/en/new.md", "# New\n\n{{ claims }}\n")
    write("snippets/new/a.py", "")
    write("snippets/new/claims.toml", CLAIM.partition("[a.slow]")[0].replace("at_least = 3e12\n", ""))
    made = claim_table.claim_table(Page(filled, filled.docs / "en/new.md"), "en", "nvidia-h200")
    assert '<p class="wb-score">1 claims are not yet measured on a GPU.</p>' in made.replace("\u00a0", " ")
    assert "wb-gates" not in made


def test_every_claim_on_every_device_with_what_became_of_its_prediction(filled):
    made = ledger.table(filled, "en", "../")
    claims, gates = made.split("<details")
    rows = cells(claims)
    assert rows[0] == [
        "Article", "Claim", "Predicted", "Measured", "Prediction", "Published", "Device", "Date",
    ]  # fmt: skip
    assert rows[5] == [
        "Ratios", "copy.rate is fast", "4.00 TB/s wires", "4.00 TB/s", "within 25 %", "4.80 TB/s a &lt; b",
        "NVIDIA H200", "2026-01-02",
    ]  # fmt: skip
    assert [(row[0], row[4], row[6]) for row in rows[5:]] == [
        ("Ratios", "within 25 %", "NVIDIA H200"),
        ("Ratios", "off", "NVIDIA H200"),
        ("Ratios", "within 2×", "NVIDIA H100"),
        ("Ratios", "within 2×", "NVIDIA H100"),
    ]
    assert 'href="../x/"' in made and 'href="../records/nvidia-h100/x.json"' in made
    assert 'href="https://example.org/?a&amp;b"' in made
    assert "Regression gates: 6 of 8 hold" in gates.replace("\u00a0", " ")
    assert ["Ratios", "copy.rate is fast", "at least 3.00 TB/s", "2.90 TB/s", "falls short", "NVIDIA H100"] in cells(
        gates
    )


def test_the_score_of_the_primary_device_is_the_first_line(filled):
    made = ledger.scores(filled, "en").replace("\u00a0", " ")
    assert re.findall(r'<p class="wb-score">(.*?)</p>', made) == [
        "NVIDIA H200: of 4 predictions made before measuring, 2 came within 25 %, 0 within a factor of 2, "
        "and 2 were off by more.",
        "NVIDIA H100: of 4 predictions made before measuring, 0 came within 25 %, 4 within a factor of 2, "
        "and 0 were off by more.",
    ]


def test_the_ledger_in_chinese(filled):
    rows = cells(ledger.table(filled, "zh", "../"))
    assert rows[5][:2] == ["比值", "copy.rate 很快"]
    assert rows[7][4] == "相差不到 2 倍"
    assert ["比值", "copy.rate 很快", "不低于 3.00 TB/s", "2.90 TB/s", "未达到", "NVIDIA H100"] in rows


def test_a_claim_whose_program_has_changed_is_pending(filled, write):
    write("snippets/x/a.py", "CHANGED = 1\n")
    made = ledger.table(filled, "en", "../")
    assert [row[3:5] for row in cells(made)[5:7]] == [["not yet measured on a GPU", "–"]] * 2
    assert "2 claims are not yet measured on a GPU." in ledger.scores(filled, "en")
    assert 'data-prediction="pending"' in made


def test_a_choice_of_one_is_none(filled, write):
    made = ledger.table(filled, "en", "")
    assert re.findall(r'<select name="(\w+)">', made) == ["article", "prediction", "device"]
    for article in ("x", "devices"):
        (filled.records / "nvidia-h100" / f"{article}.json").unlink()
        write(f"snippets/{article}/claims.toml", CLAIM.partition("[a.slow]")[0])
    # One device, which reached every prediction that is left.
    assert re.findall(r'<select name="(\w+)">', ledger.table(filled, "en", "")) == ["article"]


def test_a_goal_stands_beneath_its_number_and_in_the_score(filled, write):
    goals = CLAIM.replace("at_least", "goal_at_least = 3e12\nat_least").replace(
        "at_most", "goal_at_most = 2e-6\nat_most"
    )
    write("snippets/x/claims.toml", goals)
    page = Page(filled, filled.docs / "en/x.md")
    made = claim_table.claim_table(page, "en", "nvidia-h200")
    rows = cells(made.partition("<details")[0])
    assert [row[2] for row in rows[1:]] == [
        "4.00 TB/s goal: at least 3.00 TB/s, met", "2.50 µs goal: at most 2.00 µs, missed",
    ]  # fmt: skip
    assert "goal" not in made.partition("<details")[2]
    assert "off by more. Goals set before measuring: 1 of 2 met.</p>" in made.replace("\u00a0", " ")
    whole = ledger.table(filled, "zh", "../")
    assert [row[3] for row in cells(whole)[5:7]] == [
        "4.00 TB/s 目标：不低于 3.00 TB/s， 达到", "2.50 µs 目标：不高于 2.00 µs， 未达到",
    ]  # fmt: skip
    assert 'data-goal="missed"' in whole and '<select name="goal">' in whole
    assert "测量之前共设定 2 个目标，达到 1 个。" in ledger.scores(filled, "zh").replace("\u00a0", " ")
    assert "4.00 TB/s goal: at least 3.00 TB/s, met |" in plain.of_html(made).replace("**", "").replace("\u00a0", " ")
    write("snippets/x/a.py", "CHANGED = 1\n")
    waiting = cells(claim_table.claim_table(page, "en", "nvidia-h200"))[1]
    assert waiting[2] == "not yet measured on a GPU goal: at least 3.00 TB/s"


def test_a_column_a_device(filled):
    rows = cells(devices.table(filled, "en", ""))
    assert rows[0] == ["", "NVIDIA H200", "NVIDIA H100", "no GPU (softcuda)"]
    assert ["memory", "140.0 GiB", "–", "–"] in rows
    assert ["L2", "60 MiB", "–", "60 MiB"] in rows
    assert ["power limit", "700 W", "–", "–"] in rows
    copy = ["copy in device memory, read and written", "4.00 TB/s 83.3 % of 4.80 TB/s published",
            "2.90 TB/s 60.4 % of 4.80 TB/s published", "–"]  # fmt: skip
    assert copy in rows
    assert ["a launch, one after another", "2.50 µs", "1.50 µs", "–"] in rows


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
