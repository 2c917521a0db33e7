"""Numbers in prose: digits, units, where they come from, and names that are not there."""

from __future__ import annotations

import pytest
import recorded

from warpbook.book import BookError
from warpbook.exports import plain
from warpbook.numbers import quantity
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values, render, substitute
from warpbook.source.pages import Page


@pytest.mark.parametrize(
    ("number", "unit", "shown"),
    [
        (4.134e12, "B/s", "4.13\u00a0TB/s"),
        (9.996e11, "B/s", "1.00\u00a0TB/s"),
        (4.2e11, "B/s", "420\u00a0GB/s"),
        (0.000257, "s", "257\u00a0µs"),
        (2.0e-9, "s", "2.00\u00a0ns"),
        (16.7e12, "1/s", "16.7\u00a0T/s"),
        (13.31, "x", "13.3×"),
        (1.0, "x", "1.00×"),
        (98.123, "%", "98.1\u00a0%"),
        (-0.04, "%", "0.0\u00a0%"),
        (-0.94, "%", "-0.9\u00a0%"),
        (4096, "count", "4096"),
        (1048576, "count", "1\u202f048\u202f576"),
        (366093152 / 67108864, "count", "5.46"),  # instructions a symbol: "5" would be what was predicted
        (0, "B/s", "0\u00a0B/s"),
        (0.4, "1", "0.400"),
        (13.71, "1", "13.7"),
        (1.2031e-5, "1", "1.20\u00a0×\u00a010⁻⁵"),
        (23777.15, "1", "23\u202f777"),
    ],
)
def test_digits_and_units(number, unit, shown):
    assert quantity(number, unit) == shown


def entry(**values: float) -> dict:
    return {"values": {k.replace("_", "."): {"value": v, "unit": "s"} for k, v in values.items()}}


METRICS = {
    "smsp__inst.sum": 12345,
    "lts__hit.pct": 80.17,
    "l1tex__busy.avg.pct_of_peak_sustained": 60.13,
    "stalls.ratio": 3.56,
}


@pytest.fixture
def values(small):
    programs = {"x/a.py": entry(v0_time=4e-3, v1_time=1e-3, twice=1), "x/b.py": entry(twice=1)}
    recorded.keep(small, "nvidia-h200", "x", programs, counters={"x/a.py": [recorded.launch("k", METRICS)]})
    return Values(small)


def test_a_count_of_softcuda_stands_beside_any_devices_numbers(small):
    counts = {"softcuda__passes.sum": 32}
    recorded.keep(small, "nvidia-h200", "x", {"x/a.py": {}}, counters={"x/a.py": [recorded.launch("k", METRICS)]})
    recorded.keep(small, "softcuda", "x", {"x/a.py": {}}, counters={"x/a.py": [recorded.launch("k", counts)]})
    for device in ("nvidia-h200", "softcuda"):
        made = render("softcuda#k.softcuda__passes.sum", "x", "en", Values(small, device))
        assert ">32</a>" in made and "counted by" in made and "records/softcuda/x.json" in made
    assert ">4</a>" in render("softcuda#k.softcuda__passes.sum / 8", "x", "en", Values(small))
    with pytest.raises(BookError, match=r'kernel "k" was not asked for "stalls\.ratio"'):
        render("softcuda#k.stalls.ratio", "x", "en", Values(small))


def test_a_value_says_where_it_was_measured(values):
    made = render("v0.time", "x", "en", values, "../")
    assert ">4.00\u00a0ms</a>" in made
    assert "measured on NVIDIA H200 · 2026-01-02" in made
    assert 'href="../records/nvidia-h200/x.json"' in made
    assert "测自" in render("v0.time", "x", "zh", values)


def test_ratios_shares_counters_and_other_articles(values):
    assert ">4.00×</a>" in render("v0.time / v1.time", "x", "en", values)
    assert ">25.0\u00a0%</a>" in render("v1.time % v0.time", "x", "en", values)
    assert ">12\u202f345</a>" in render("#k.smsp__inst.sum", "x", "en", values)
    assert ">1.00\u00a0ms</a>" in render("x:v1.time", "y", "en", values)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2 GiB / v0.time", "537\u00a0GB/s"),  # v0.time is 4 ms
        ("1 s / v1.time", "1000×"),
        ("v0.time / 2", "2.00\u00a0ms"),
    ],
)
def test_a_quantity_may_stand_beside_a_name(values, text, shown):
    assert f">{shown}</a>" in render(text, "x", "en", values)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("#k.lts__hit.pct", "80.2\u00a0%"),
        ("#k.l1tex__busy.avg.pct_of_peak_sustained", "60.1\u00a0%"),
        ("#k.stalls.ratio", "3.56"),
    ],
)
def test_a_counters_unit_is_in_its_name(values, name, shown):
    assert f">{shown}</a>" in render(name, "x", "en", values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v2.time", 'no value "v2.time" in records/nvidia-h200/x.json; did you mean "v1.time"?'),
        ("twice", '"twice" is recorded by x/a.py and x/b.py; give one of them another name'),
        ("#none.smsp__inst.sum", 'no counters of a kernel "none"; there are: k'),
        (
            "y:a",
            'there is no article "y"; there are: x',
        ),
        ("2 GiB / 1 s", '"2 GiB / 1 s" names nothing recorded'),
        ("2 flop / speed", 'no value "speed" in records/nvidia-h200/x.json; there are: twice, v0.time, v1.time'),
        ("v0.time % 2 B", '"v0.time % 2 B" compares s with B'),
        ("a + b", '"a + b" is not a name of a value'),
    ],
)
def test_a_name_that_is_not_there(values, text, said):
    with pytest.raises(BookError) as raised:
        render(text, "x", "en", values)
    assert str(raised.value) == said


def test_code_and_mathematics_are_left_alone():
    text = "`{{ a }}` and $x_{{ b }}$ but {{ c }} and \\frac{{a}}{b}"
    assert substitute(text, str.upper) == "`{{ a }}` and $x_{{ b }}$ but C and \\frac{{a}}{b}"


def test_an_unknown_name_is_told_with_page_and_line(small, write, values):
    page = Page(small, write("docs/en/x.md", "# X\n\nIt took {{ nothing }}.\n"))
    made = parse(page, "en", values)
    assert made.problems == [
        'docs/en/x.md:3: no value "nothing" in records/nvidia-h200/x.json; there are: twice, v0.time, v1.time'
    ]


def test_a_line_break_between_han_characters_is_no_blank(small, write, values):
    page = Page(small, write("docs/zh/x.md", "# 标题\n正文第一行，\n第二行\nLatin\n汉字。\nv2 快。\n1. 一\n"))
    assert plain.flat(parse(page, "zh", values))[0] == "# 标题\n正文第一行，第二行\nLatin\n汉字。v2 快。\n1. 一\n"


def test_a_number_written_by_hand_does_not_break():
    said = substitute("262 144 blocks, 1.2 µs, 5 %, 2 倍; `262 144` and $1 000$ stay", str)
    assert said == "262\u202f144 blocks, 1.2\u00a0µs, 5\u00a0%, 2\u00a0倍; `262 144` and $1 000$ stay"
    assert substitute("2 GiB in {{ 2 GiB / a.rate }}", str) == "2\u00a0GiB in 2 GiB / a.rate"
