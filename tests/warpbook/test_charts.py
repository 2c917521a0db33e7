"""Charts from records: what they show, their text for screen readers, and errors when they cannot be drawn."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import recorded

from warpbook.blocks.charts import draw
from warpbook.blocks.charts.source import apart
from warpbook.blocks.charts.svg import Scale, on_axis, spaced
from warpbook.book import BookError
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source.pages import Page

KIB = 2.0**10


def program(values=None, series=None, spans=None) -> dict:
    return {
        "values": {name: {"value": number, "unit": unit} for name, (number, unit) in (values or {}).items()},
        "series": series or {},
        "spans": spans or {},
    }


def sweep(*ys: float, unit: str = "B/s", spread: float = 0.0, first: float = 4 * KIB) -> dict:
    kept = {"x": [first * 4**i for i in range(len(ys))], "y": list(ys), "x_unit": "B", "unit": unit}
    return kept | ({"low": [y * (1 - spread) for y in ys], "high": [y * (1 + spread) for y in ys]} if spread else {})


def timeline(*spans: tuple, unit: str = "s") -> dict:
    row, start, stop, label = (list(column) for column in zip(*spans, strict=True))
    return {"row": row, "start": start, "stop": stop, "label": label, "unit": unit}


STREAMS = timeline(
    ("h2d", 0.0, 1e-3, "a"), ("kernel", 1e-3, 1.5e-3, "a"), ("h2d", 1e-3, 2e-3, "b"), ("kernel", 2e-3, 2.5e-3, "b")
)
BLOCKS = timeline(
    *((sm, 100.0 * wave + sm % 7, 100.0 * wave + 110, f"block {sm}") for wave in range(3) for sm in range(131, -1, -1)),
    unit="cycle",
)


@pytest.fixture
def values(small):
    def keep(article: str, **programs: dict) -> None:
        recorded.keep(small, "nvidia-h200", article, programs)

    rates = {
        "copy.rate": (4e12, "B/s"),
        "v0.rate": (1e12, "B/s"),
        "v1.rate": (3e12, "B/s"),
        "torch.rate": (2e12, "B/s"),
    }
    points = {
        "v1.intensity": (0.25, "flop/B"), "v1.flops": (0.8e12, "flop/s"),
        "gemm.intensity": (64.0, "flop/B"), "gemm.flops": (30e12, "flop/s"), "none.intensity": (0.0, "flop/B"),
        "none.flops": (0.0, "flop/s"), "l2.size": (64 * KIB**2, "B"),
    }  # fmt: skip
    curves = {
        "read.sweep": sweep(1e10, 1e11, 1e12, 4e12, spread=0.1),
        "write.sweep": sweep(2e10, 2e11, 1e12, 3e12),
        "latency": sweep(3e-8, 4e-8, 6e-8, unit="s"),
        "zero": sweep(0.0, 1.0, first=0.0),
    }
    timelines = {
        "streams": STREAMS,
        "blocks": BLOCKS,
        "long": timeline(("h2d", 0.0, 5e-3, "")),
        "none": timeline(("h2d", 0.0, 0.0, "")),
        "crowd": timeline(*((0, 0.0, 1.0 + i, "") for i in range(401))),
    }
    keep("x", **{"x/ladder.py": program(rates), "x/sweep.py": program(points, curves, timelines)})
    keep("devices", **{"devices/a.py": program({"copy.rate": (4e12, "B/s"), "fma32.flops": (60e12, "flop/s")})})
    return Values(small)


def texts(made: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", text).replace("\u00a0", " ") for text in re.findall(r"<text.*?</text>", made)]


def rows(made: str) -> list[list[str]]:
    return [
        [re.sub(r"<[^>]+>", "", cell).replace("\u00a0", " ") for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", made)
    ]


def test_the_ladder_is_every_rate_beside_the_copy(values):
    made = draw("ladder", "x", "en", values)
    assert rows(made)[1:] == [
        ["v0", "1.00 TB/s", "25.0 %", "–"],
        ["v1", "3.00 TB/s", "75.0 %", "–"],
        ["torch", "2.00 TB/s", "50.0 %", "–"],
        ["copy", "4.00 TB/s", "100.0 %", "–"],
    ]
    assert made.count("wb-bar--rung") == 2
    assert "各版本在 NVIDIA H200 上的有效带宽" in draw("ladder", "x", "zh", values)


def test_a_ladder_up_to_a_rung_keeps_the_scale_and_marks_the_rung(values):
    whole, part = draw("ladder", "x", "en", values), draw("ladder upto=v1", "x", "en", values)
    widths = [re.findall(r'wb-bar__fill" [^>]*width="([\d.]+%)"', made) for made in (whole, part)]
    assert widths[1] == widths[0][:2]
    assert part.count("wb-bar--rung") == 1 and part.index("wb-bar--rung") > part.index("v0")
    assert "<table" not in part and "The ladder up to v1" in part
    assert "v1 3.00 TB/s, 75.0 %</desc>" in part.replace("\u00a0", " ")
    with pytest.raises(BookError, match='chart:ladder upto=v9: no rung "v9"; there are: v0, v1, torch'):
        draw("ladder upto=v9", "x", "en", values)


def test_a_ladder_of_named_rates_has_their_labels(values):
    named = 'ladder v1.rate v0.rate labels="one|nought"'
    assert [row[0] for row in rows(draw(named, "x", "en", values))[1:]] == ["one", "nought", "copy"]
    part = draw(f"{named} upto=v1", "x", "en", values).replace("\u00a0", " ")
    assert "The ladder up to one" in part and "<desc>one 3.00 TB/s, 75.0 %</desc>" in part
    with pytest.raises(BookError, match='no rung "torch"; there are: v1, v0'):
        draw(f"{named} upto=torch", "x", "en", values)


def test_bars_up_to_one_of_them_keep_the_scale_of_all(values):
    named = "bars v0.rate torch.rate v1.rate"
    whole, part = draw(named, "x", "en", values), draw(f"{named} upto=torch.rate", "x", "en", values)
    widths = [re.findall(r'wb-bar__fill" [^>]*width="([\d.]+%)"', made) for made in (whole, part)]
    assert widths[1] == widths[0][:2] and "<table" not in part
    assert "<desc>v0 1.00 TB/s; torch 2.00 TB/s</desc>" in part.replace("\u00a0", " ")
    with pytest.raises(BookError, match=r'no bar "copy\.rate"; there are: v0\.rate, torch\.rate, v1\.rate'):
        draw(f"{named} upto=copy.rate", "x", "en", values)


def test_a_ladder_of_flops_names_its_reference(values, small):
    rates = {name: (number, "flop/s") for name, number in (("v0.flops", 1e12), ("v1.flops", 3e12), ("lib.flops", 4e12))}
    recorded.keep(small, "nvidia-h200", "y", {"y/ladder.py": program(rates | {"v0.time": (1.0, "s")})})
    whole = draw("ladder reference=lib.flops", "y", "en", Values(small))
    assert [row[0] for row in rows(whole)[1:]] == ["v0", "v1", "lib"]
    assert "Measured on NVIDIA H200; the dashed line is lib" in whole
    part = draw("ladder reference=lib.flops upto=v1", "y", "en", Values(small)).replace("\u00a0", " ")
    assert "v0 1.00 TFLOP/s, 25.0 %; v1 3.00 TFLOP/s, 75.0 %</desc>" in part


def profiled(kernel: str, loads: float, hits: float = 50.0) -> dict:
    metrics = {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": loads / 32,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0,
        "lts__t_sector_hit_rate.pct": hits,
        "dram__bytes_read.sum": 256 * KIB**2,
        "dram__bytes_write.sum": KIB**2,
    }
    return recorded.launch(kernel, metrics)


def test_traffic_counts_additions_to_global_memory_as_stores(small):
    adds = profiled("a", 0)
    adds["metrics"]["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"] = 2 * KIB**2 / 32
    recorded.keep(small, "nvidia-h200", "x", {"x/a.py": {}}, counters={"x/a.py --profile": [adds]})
    made = draw("traffic a", "x", "en", Values(small)).replace("\u00a0", " ")
    assert rows(made)[1:] == [["a", "0 B", "2 MiB", "50.0 %", "256 MiB", "1 MiB"]]
    assert "stored, added" in made


def test_traffic_is_drawn_as_the_counters_have_it(small):
    launches = [profiled("a", 2040 * KIB**2, 80.01), profiled("b", 256 * KIB**2)]
    recorded.keep(small, "nvidia-h200", "x", {"x/a.py": {}}, counters={"x/a.py --profile": launches})
    made = draw("traffic a b", "x", "zh", Values(small)).replace("\u00a0", " ")
    assert rows(made)[1:] == [
        ["a", "1.99 GiB", "0 B", "80.0 %", "256 MiB", "1 MiB"],
        ["b", "256 MiB", "0 B", "50.0 %", "256 MiB", "1 MiB"],
    ]
    assert "加载" in made and "命中 80.0 %" in made and made.count("var(--wb-bar)") == 4
    with pytest.raises(BookError, match='chart:traffic c: no counters of a kernel "c"'):
        draw("traffic c", "x", "en", Values(small))
    with pytest.raises(BookError, match="4 kernels do not fit side by side"):
        draw("traffic a b a b", "x", "en", Values(small))


def test_traffic_says_what_was_not_counted(small):
    lacks = profiled("a", 256 * KIB**2)
    del lacks["metrics"]["dram__bytes_write.sum"]
    recorded.keep(small, "nvidia-h200", "x", {"x/a.py": {}}, counters={"x/a.py --profile": [lacks]})
    made = draw("traffic a", "x", "en", Values(small)).replace("\u00a0", " ")
    assert rows(made)[1:] == [["a", "256 MiB", "0 B", "50.0 %", "256 MiB", "–"]]
    assert "not counted" in made and made.count("var(--wb-reference)") == 1


def test_bars_are_values_by_name(values):
    made = draw(
        'bars v0.rate torch.rate reference=copy.rate labels="naïve|torch" title="Two & the copy"', "x", "en", values
    )
    assert [row[0] for row in rows(made)] == ["Name", "naïve", "torch", "copy"]
    assert "copy 4.00 TB/s" in texts(made)
    assert "<figcaption>Two &amp; the copy</figcaption>" in made
    assert "wb-reference" not in draw("bars v0.rate torch.rate", "x", "en", values)


def test_bars_that_begin_above_zero_say_how_much_they_exaggerate(values):
    honest = draw("bars v0.rate torch.rate", "x", "en", values)
    made = draw("bars v0.rate torch.rate cut=0.9 title=Cut", "x", "en", values)
    assert (
        "Cut; the bars begin at 900\u00a0GB/s and not at 0, so they exaggerate the difference: lie factor 10.0" in made
    )
    lengths = [
        [float(share) for share in re.findall(r'wb-bar__fill" x="0" [^>]*width="([\d.]+)%"', chart)]
        for chart in (honest, made)
    ]
    changes = [(torch - v0) / v0 for v0, torch in lengths]  # 1 and 2 TB/s: 100 % in the data
    assert changes == [pytest.approx(1.0, rel=0.01), pytest.approx(10.0, rel=0.01)]
    assert rows(made) == rows(honest)
    assert "谎言系数 10.0" in draw("bars v0.rate torch.rate cut=0.9", "x", "zh", values)


def test_a_part_of_a_curve_says_how_many_points_are_left_out(values):
    made = draw("curve read.sweep write.sweep within=4096,20000 title=Part", "x", "en", values)
    assert "Part; only 4 of 8 recorded points are shown; the band is the spread" in made
    assert [row[0] for row in rows(made)] == ["Size", "4 KiB", "16 KiB"]
    assert "shown" not in draw("curve read.sweep within=0,1e9", "x", "en", values)


def trial(effect: float, low: float, high: float, predicted: int) -> dict:
    return {
        "effect": {"value": effect, "unit": "%", "low": low, "high": high},
        "seeds": {"value": 10.0, "unit": "count"},
        "predicted": {"value": float(predicted), "unit": "count"},
    }


def test_a_trick_s_verdict_is_whether_its_interval_leaves_out_zero(small):
    tried = {"up": trial(3.6, 0.3, 7.0, 1), "flat": trial(-0.04, -0.4, 0.4, 1), "down": trial(-12, -20, -4, 0)}
    kept = {f"{name}.{key}": value for name, one in tried.items() for key, value in one.items()}
    kept |= {"bare.effect": {"value": 1.0, "unit": "%"}}
    recorded.keep(small, "nvidia-h200", "z", {"z/tricks.py": {"values": kept, "series": {}, "spans": {}}})
    made = draw('trials up flat down labels="Up|Flat|Down"', "z", "en", Values(small))
    assert rows(made)[1:] == [
        ["Up", "+3.6", "+0.3 to +7.0", "10", "helped here", "helped here"],
        ["Flat", "0.0", "−0.4 to +0.4", "10", "helped here", "no difference we could see"],
        ["Down", "−12.0", "−20.0 to −4.0", "10", "no difference we could see", "hurt"],
    ]
    assert {"+3.6 · helped", "0.0 · no difference", "−12.0 · hurt", "−10", "0", "+1"} <= set(texts(made))
    assert "看不出差别" in draw("trials flat", "z", "zh", Values(small))
    with pytest.raises(BookError, match=r'"bare\.effect" has no interval'):
        draw("trials bare", "z", "en", Values(small))


def test_a_curve_has_axes_with_units_a_band_and_its_numbers(values):
    made = draw("curve read.sweep write.sweep reference=copy.rate at=l2.size", "x", "en", values)
    said = texts(made)
    assert {"4 KiB", "32 KiB", "256 KiB", "10 GB/s", "100 GB/s", "1 TB/s"} <= set(said)  # logarithmic, from the range
    assert {"read", "write", "copy 4.00 TB/s", "L2 64 MiB", "Size"} <= set(said)
    assert made.count("wb-band") == 1  # only one series has a spread
    assert rows(made)[:2] == [
        ["Size", "read", "write"],
        ["4 KiB", "10.0 GB/s (9.00 GB/s – 11.0 GB/s)", "20.0 GB/s"],
    ]
    assert "measured on NVIDIA H200 · 2026-01-02; the band is the spread; dashed: copy, L2" in made


def test_a_curve_is_heard_too(values):
    made = draw('curve latency labels="延迟" title="加载延迟"', "x", "zh", values).replace("\u00a0", " ")
    assert (
        'role="img" aria-label="加载延迟。延迟：4 KiB 处 30.0 ns，64 KiB 处 60.0 ns，介于 30.0 ns 与 60.0 ns 之间"'
        in made
    )


def test_a_curve_s_scale_is_the_range_s_or_the_page_s(values):
    assert "0" in texts(draw("curve latency", "x", "en", values))  # twice as much: linear, from zero
    assert "0" not in texts(draw("curve latency y=log", "x", "en", values))
    assert "0" in texts(draw("curve read.sweep y=linear", "x", "en", values))


def test_a_scale_near_the_numbers_is_owned_up_to(values):
    near = draw("curve latency y=near", "x", "en", values)
    assert "0" not in texts(near) and near.count("the vertical axis does not begin at 0") == 2  # seen and heard
    assert "does not begin" not in draw("curve latency", "x", "en", values)


def test_series_are_told_apart_by_more_than_colour(values):
    made = draw("curve read.sweep write.sweep", "x", "en", values)
    markers = [set(re.findall(rf'<svg class="wb-marker[^"]*wb-s{kind}"[^>]*>(<.*?/>)', made)) for kind in (0, 1)]
    assert [len(found) for found in markers] == [1, 1]
    assert markers[0] != markers[1]
    long = draw(
        'curve read.sweep write.sweep labels="with loads of sixteen bytes|through the cache"', "x", "en", values
    )
    assert '<ul class="wb-legend">' in long  # names too long for a telephone's margin


def test_a_roofline_has_the_device_s_ceilings(values):
    made = draw("roofline v1 gemm", "x", "en", values)
    assert {"copy 4.00 TB/s", "FP32 60.0 TFLOP/s", "v1", "gemm", "Arithmetic intensity (FLOP/B)"} <= set(texts(made))
    assert rows(made)[1:3] == [
        ["v1", "0.250 FLOP/B", "800 GFLOP/s", "1.00 TFLOP/s", "80.0 %"],
        ["gemm", "64.0 FLOP/B", "30.0 TFLOP/s", "60.0 TFLOP/s", "50.0 %"],
    ]
    assert "屋顶线" in draw("roofline v1", "x", "zh", values)


def test_a_timeline_is_a_bar_a_span_in_the_row_that_did_the_work(values):
    made = draw('timeline streams title="Two chunks"', "x", "en", values)
    assert {"h2d", "kernel", "0", "0.5 ms", "2.5 ms", "Time"} <= set(texts(made))
    assert "<figcaption>Two chunks; measured on NVIDIA H200 · <time>2026-01-02</time></figcaption>" in made
    assert rows(made) == [
        ["Row", "What", "Start", "End", "Duration"],
        ["h2d", "a", "0.000 ms", "1.000 ms", "1.000 ms"],
        ["h2d", "b", "1.000 ms", "2.000 ms", "1.000 ms"],
        ["kernel", "a", "1.000 ms", "1.500 ms", "0.500 ms"],
        ["kernel", "b", "2.000 ms", "2.500 ms", "0.500 ms"],
    ]
    assert "h2d, b: 1.000 ms – 2.000 ms</title>" in made.replace("\u00a0", " ")
    bars = re.findall(r'<rect class="wb-span wb-s(\d)" x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"', made)
    assert [(kind, x, width) for kind, x, y, width in bars] == [
        ("0", "0.00", "40.00"), ("1", "40.00", "40.00"), ("0", "40.00", "20.00"), ("1", "80.00", "20.00")
    ]  # fmt: skip
    assert len({y for _, _, y, _ in bars}) == 2  # what only touches does not overlap


def test_a_timeline_s_labels_are_told_apart_by_more_than_colour(values):
    made = draw("timeline streams", "x", "en", values)
    assert '<ul class="wb-legend">' in made
    patterns = re.findall(r'<pattern id="([^"]+)"', made)
    assert len(patterns) == 1  # the first label's bars are solid
    assert made.count(f'fill="url(#{patterns[0]})"') == 3  # two bars, and the legend
    many = draw("timeline blocks rows=0-7", "x", "en", values)
    assert "wb-legend" not in many and "block 3" in texts(many)  # too many for colours: in the bars themselves


def test_a_timeline_speaks_the_page_s_language(values):
    asked = 'timeline streams rows="kernel=核函数|h2d=拷入" labels="b=第二块" xlabel=时刻 title=重叠'
    made = draw(asked, "x", "zh", values).replace("\u00a0", " ")
    assert [row[:2] for row in rows(made)] == [
        ["行", "工作"], ["核函数", "a"], ["核函数", "第二块"], ["拷入", "a"], ["拷入", "第二块"]
    ]  # fmt: skip
    assert "时刻" in texts(made)
    assert "重叠；测自 NVIDIA H200 · 2026-01-02。核函数：2 段，从 1.000 ms 到 2.500 ms，占用 40.0 % 的时间" in made


def test_two_timelines_are_compared_on_one_scale(values):
    made = draw("timeline streams scale=long", "x", "en", values)
    assert {"0", "1 ms", "5 ms"} <= set(texts(made))
    bars = re.findall(r'<rect class="wb-span wb-s\d" x="([\d.]+)%" y="\d+" width="([\d.]+)%"', made)
    assert bars[0] == ("0.00", "20.00")  # 1 ms of 5
    assert "busy 80.0\u00a0% of the time" in made  # of its own 2.5 ms, all the same


def test_many_rows_become_thin_and_some_are_named(values):
    made = draw("timeline blocks rowlabel=SM", "x", "en", values).replace("\u00a0", " ")
    assert {"0", "8", "128", "SM", "Clock cycles"} <= set(texts(made))
    assert "1" not in texts(made)
    high = int(re.search(r'height="(\d+)"><defs>', made)[1])
    assert 132 * 2 < high < 1200  # waves overlap, so each row is two bars high
    assert [row[0] for row in rows(made)] == ["SM", *(f"SM {sm}" for sm in range(132))]  # numbered ones in order
    assert rows(made)[1] == ["SM 0", "3", "0 cycles", "310 cycles", "100.0 %"]
    assert "132 rows with 396 spans, from 0 cycles to 310 cycles, busy 99.0 % of the time on average" in made


def test_a_row_that_did_nothing_is_shown_if_asked_for(values):
    made = draw("timeline blocks rows=130-133 rowlabel=SM", "x", "en", values).replace("\u00a0", " ")
    assert {"SM 130", "SM 131", "SM 132", "SM 133"} <= set(texts(made))


@pytest.mark.parametrize(
    "chart",
    [
        "ladder",
        "bars v0.rate v1.rate",
        "curve read.sweep write.sweep reference=copy.rate",
        "roofline v1 gemm",
        "timeline streams",
        "timeline blocks rowlabel=SM",
        "timeline blocks rows=0-3",
    ],
)
def test_drawings_are_well_formed_and_keep_their_text_s_size(values, chart):
    made = draw(chart, "x", "zh", values)
    root = ElementTree.fromstring(made.replace("&nbsp;", " "))
    for svg in root.iter("svg"):
        assert "viewBox" not in svg.attrib or not list(svg.iter("text"))
    assert root.find(".//*[@role='img']").get("aria-label")
    assert root.find("details/table") is not None


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        ("pie", 'no chart "pie"; there are: ladder, bars, curve, roofline, timeline, heatmap, graph, traffic, trials'),
        ('curve a title="x', 'chart:curve a title="x: a quotation mark is not closed'),
        ("curve", "chart:curve: names nothing to draw"),
        ("curve a", 'chart:curve a: no series "a" in records/nvidia-h200/x.json; there are: latency, read.sweep, '
                    "write.sweep, zero"),
        ("curve latency z=1", 'chart:curve latency z=1: no option "z"; there are: title, labels, reference, at, x, y, '
                              "xlabel, ylabel, within"),
        ("curve latency within=1", "chart:curve latency within=1: within=1 is not two numbers with a comma between "
                                   "them"),
        ("curve latency within=1,2", "chart:curve latency within=1,2: within=1,2 leaves no point of a series"),
        ("bars v0.rate v1.rate cut=2", "chart:bars v0.rate v1.rate cut=2: cut=2 is no number between 0 and 1, a share "
                                       "of the smallest value"),
        ("bars v0.rate v0.rate cut=0.9", "chart:bars v0.rate v0.rate cut=0.9: cut= needs two different values, and "
                                         "none of them 0"),
        ("bars v0.rate v1.rate cut=0.9 upto=v0.rate", "chart:bars v0.rate v1.rate cut=0.9 upto=v0.rate: cut= is for "
                                                      "bars without reference= and upto="),
        ("curve latency read.sweep", 'chart:curve latency read.sweep: "read.sweep" is in B/s where "latency" is in s'),
        ("curve latency y=big", "chart:curve latency y=big: y=big is none of y=log, y=linear, y=near"),
        ("curve latency at=copy.rate", 'chart:curve latency at=copy.rate: "copy.rate" is in B/s, the axis in B'),
        ("curve zero", "chart:curve zero: x has 0, which a logarithmic axis cannot show; write x=linear"),
        ("curve latency labels=a|b", "chart:curve latency labels=a|b: 2 labels, 1 names; divide them with |"),
        ("bars v0.rate v1.flops", 'chart:bars v0.rate v1.flops: "v1.flops" is in flop/s and "v0.rate" in B/s'),
        ("timeline a", 'chart:timeline a: no timeline "a" in records/nvidia-h200/x.json; there are: blocks, crowd, '
                       "long, none, streams"),
        ("timeline streams blocks", "chart:timeline streams blocks: a timeline shows one name"),
        ("timeline streams rows=d2h", 'chart:timeline streams rows=d2h: no row "d2h"; there are: h2d, kernel'),
        ("timeline blocks rows=132-140", "chart:timeline blocks rows=132-140: rows=132-140: none of them did anything"),
        ("timeline streams labels=c=三", 'chart:timeline streams labels=c=三: no label "c"; there are: a, b'),
        ("timeline streams scale=blocks", 'chart:timeline streams scale=blocks: "blocks" is in cycle, the axis in s'),
        ("timeline none", 'chart:timeline none: "none" lasts no time at all'),
        ("timeline crowd", "chart:timeline crowd: 401 bars on top of one another cannot be distinguished; choose rows "
                           "with rows="),
        ("roofline none", 'chart:roofline none: "none.intensity" is 0, which a roofline cannot show'),
        ("roofline v1 ceilings=copy.rate", "chart:roofline v1 ceilings=copy.rate: ceilings must be in B/s and in "
                                           "flop/s, at least one of each"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_in_one_line(values, chart, said):
    with pytest.raises(BookError) as raised:
        draw(chart, "x", "en", values)
    assert str(raised.value) == said


def test_it_is_told_with_the_page(small, write, values):
    page = Page(small, write("docs/en/x.md", "# X\n\n{{ chart:curve none }}\n"))
    (problem,) = parse(page, "en", values).problems
    assert problem.startswith('docs/en/x.md:3: chart:curve none: no series "none" in records/nvidia-h200/x.json')


# -- parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "base"),
    [
        (Scale(4096.0, 2.0**31, 2), [2.0**12, 2.0**15, 2.0**18, 2.0**21, 2.0**24, 2.0**27, 2.0**30]),
        (Scale(1e9, 5e12, 10), [1e9, 1e10, 1e11, 1e12]),
        (Scale(3e-8, 6e-7, 10), [5e-8, 1e-7, 2e-7, 5e-7]),
        (Scale(0.0, 4.7, 0), [0.0, 1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_ticks_are_round_and_few(scale, base):
    assert scale.ticks() == pytest.approx(base)


@pytest.mark.parametrize(
    ("number", "unit", "shown"),
    [
        (2.0**16, "B", "64 KiB"), (2.0**30, "B", "1 GiB"), (512.0, "B", "512 B"), (4e12, "B/s", "4 TB/s"),
        (2e14, "flop/s", "200 TFLOP/s"), (2.5e-7, "s", "250 ns"), (0.0, "s", "0"),
        (1024.0, "count", "1024"), (2.0**20, "count", "2²⁰"),
        (0.25, "1", "0.25"), (2e10, "1/s", "20 G/s"), (1e-10, "1", "10⁻¹⁰"), (2.5e10, "1", "2.5 × 10¹⁰"),
    ],
)  # fmt: skip
def test_numbers_on_an_axis(number, unit, shown):
    assert on_axis(number, unit, 2).replace("\u00a0", " ") == shown


def test_labels_make_room_for_one_another():
    assert spaced([10, 12, 50], 15, 0, 100) == [10, 25, 50]
    assert spaced([95, 96, 97], 15, 0, 100) == [70, 85, 100]


def test_names_are_cut_to_what_tells_them_apart():
    assert apart(("a.time", "b.time")) == ["a", "b"]
    assert apart(("sweep.a.rate", "sweep.b.rate")) == ["a", "b"]
    assert apart(("latency",)) == ["latency"]
