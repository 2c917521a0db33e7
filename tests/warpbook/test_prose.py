"""Numbers typed into prose: which are told, which are not, and how a page says what a number is instead."""

from __future__ import annotations

import pytest

from warpbook.pipeline.extension import parse
from warpbook.records import records
from warpbook.records.values import Values
from warpbook.source.pages import Page
from warpbook.source.prose import bare


def told(small, write, text: str, language: str = "en") -> list[str]:
    """What is told of a page, each in the words of the page."""
    page = Page(small, write(f"docs/{language}/x.md", text + "\n"))
    return [line.split('"')[1] for line in bare(page)]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        # time
        ("It takes 3.2 µs.", ["3.2 µs"]),
        ("It takes 3.2 μs, 5us or 1,200 ns.", ["3.2 μs", "5us", "1,200 ns"]),
        ("It takes **3.2** ms, or *0.5 s*.", ["3.2 ms", "0.5 s"]),
        ("It takes 3.5s, and 12 seconds before.", ["3.5s", "12 seconds"]),
        ("A launch of 2.5-millisecond kernels", ["2.5-millisecond"]),
        ("It takes 3.2\nms on two lines.", ["3.2 ms"]),
        ("between 3 and 5 ms, 3–5 ms, 3 to 5 ms", ["3 and 5 ms", "3–5 ms", "3 to 5 ms"]),
        ("a latency of 29 cycles", ["29 cycles"]),
        ("The build takes 5 minutes, or 5 min.", ["5 minutes", "5 min"]),
        ("half a microsecond, three milliseconds", ["half a microsecond", "three milliseconds"]),
        ("It takes $3.5$ ms, or `3.5` ms.", ["3.5 ms", "3.5 ms"]),
        ("It takes 3.2&nbsp;ms, <b>4.5</b> ms, [5](x.md) ms.", ["3.2 ms", "4.5 ms", "5 ms"]),
        ("It takes 1.2 × 10⁻⁶ s.", ["1.2 × 10⁻⁶ s"]),
        # rates
        ("4.8 TB/s, 900GB/s, 64 GiB/s and 400 Gbit/s", ["4.8 TB/s", "900GB/s", "64 GiB/s", "400 Gbit/s"]),
        ("67 TFLOP/s, 67 TFLOPS, 3 Gflop/s", ["67 TFLOP/s", "67 TFLOPS", "3 Gflop/s"]),
        ("The clock is 1.98 GHz; memory has 3201 MHz.", ["1.98 GHz", "3201 MHz"]),
        ("1200 tokens/s, 30 images per second", ["1200 tokens/s", "30 images per second"]),
        ("It moves 4.2e12 bytes a second.", ["4.2e12 bytes a second"]),
        ("The L2 gives 5.5 KB/clk.", ["5.5 KB/clk"]),
        # speed-ups
        ("v1 is 2.1× as fast: 2.1×.", ["2.1×", "2.1×"]),
        ("**2.1×**, 2.1x, 10-fold", ["2.1×", "2.1x", "10-fold"]),
        ("It runs 3 times as fast, 3 times faster, 4x faster.", ["3 times as fast", "3 times faster", "4x"]),
        ("It is 2.5 times the other, at 3 times the rate.", ["2.5 times", "3 times the rate"]),
        ("a speed-up of 3.2, faster by a factor of 4", ["speed-up of 3.2", "faster by a factor of 4"]),
        ("It is 30 % faster, and sped up ×3.2.", ["30 % faster", "×3.2"]),
        ("3.2× faster than[^a], 2.1×[^a]\n\n[^a]: A.", ["3.2×", "2.1×"]),
        # headings, tables, lists, asides
        ("## 2.1× in one step { #step }", ["2.1×"]),
        ("- 3 ms\n\n!!! note\n    4 ms\n\n> 5\n> ms", ["3 ms", "4 ms", "5 > ms"]),
        ("| a | b |\n|---|---|\n| 3 ms | 2× |", ["3 ms", "2×"]),
        ("| size | time (ms) | GB/s |\n|---|--:|---|\n| 4 | 3.2 | **900** |", ["3.2", "900"]),
    ],
)
def test_a_number_typed_by_hand_is_told(small, write, sentence, said):
    assert told(small, write, sentence) == said


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("用时 3.2 毫秒，或 12 微秒、7秒。", ["3.2 毫秒", "12 微秒", "7秒"]),
        ("每秒 4.2 TB，4.8 TB/s，30 次/秒", ["每秒 4.2 TB", "4.8 TB/s", "30 次/秒"]),
        ("延迟约 29 个时钟周期。", ["29 个时钟周期"]),
        ("大约四分之一毫秒，三微秒", ["四分之一毫秒", "三微秒"]),
        ("v2 的速度是 v1 的 3 倍。", ["3 倍"]),
        ("v2 是 v1 的 1.87 倍。", ["1.87 倍"]),
        ("v2 比 v1 快了，约 3 倍。", ["3 倍"]),
        ("加速 1.55×的话，加速比为 3.2，快 30 %", ["1.55×", "加速比为 3.2", "快 30 %"]),
        ("2.8 到 4.2 TB/s", ["2.8 到 4.2 TB/s"]),
    ],
)
def test_in_chinese_too(small, write, sentence, said):
    assert told(small, write, sentence, "zh") == said


@pytest.mark.parametrize(
    "sentence",
    [
        "48 KiB, 32 lanes, 256 threads, a 4-byte load, 16 bytes, 132 multiprocessors, 2.5 MB",
        "a 16×16 tile, a 4×N tile, 2 × 3 products, 255 sectors × 262 144 blocks = 66 846 720, 16×$n$",
        "56²×96, 3.2×10⁹ sums",
        "CUDA 12.4.1, compute capability 9.0, Python 3.12, sm_90, H100, PTX 8.5, v2.1, RTX 3090",
        "run it 3 times, 200 runs, 3 times in a row, 10-fold cross-validation, every second lane, 2nd",
        "the 1990s, all 1s and 0s, 5 % of peak, 98.1 %, 2³² sums, $2^{28}$ floats, 32-bit",
        "`3.2 ms` and $t = 3.2\\,\\text{ms}$ and $$ 3.2 ms $$ and \\(3 s\\)",
        "``4.8 TB/s ` and 2×`` and `2×`",
        "[a page](https://example.org/3.2ms/2x) and <https://example.org/5s> <!-- 3.2 ms --> https://a.b/3s",
        '<span title="3 ms">three</span> and ![tree](3s.svg){ width=3s }',
        "A source.[^1]\n\n[^1]: 3.2 ms on a G80,\n    and 2.1× later.\n\n    4.8 TB/s, too.",
        "{{ v0.time }}, {{ v0.time / v1.time }}, {{ quoted: 4.8 TB/s [^a] }}, {{ counted: 1.33× }}",
        "---\ndescription: 3.2 ms\n---\n# X",
        "```text\n3.2 ms\n```\n\n```cuda\n// 3.2 ms\n```",
        "32 lanes a second time; the 2 min/max instructions; 4 blocks a second launch adds",
        "| n | time |\n|---|---|\n| 3.2 | {{ v0.time }} |",
        "At level 3 shuffles; step 2 so that; 5 sums; 3 steps; 7 seven; 4 m",
    ],
)
def test_counts_sizes_code_and_sources_are_not(small, write, sentence):
    assert told(small, write, sentence) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "误差是总和的 16 倍，$n$ 不是任何线程块大小的倍数，8 的 3 倍频",
        "每块 512 个线程，48 KiB，128 字节，30 次，秒表，半秒",
        "16×16 的一块，4×N，乘以 2 × 3",
        "周期性地，第 3 步，2 秒表，速率翻倍",
    ],
)
def test_nor_in_chinese(small, write, sentence):
    assert told(small, write, sentence, "zh") == []


def test_a_finding_is_one_line_with_what_to_do(small, write):
    page = Page(small, write("docs/en/x.md", "---\ndescription: x\n---\n# X\n\n```text\n1\n```\n\nIt takes\n3.2 ms.\n"))
    assert bare(page) == [
        'docs/en/x.md:11: "3.2 ms" is typed by hand; bind it to its record ({{ name }}), or say what it is: '
        "{{ quoted: 3.2 ms [^source] }}, {{ counted: 3.2 ms }}"
    ]


def test_an_expression_over_two_lines_is_told(small, write):
    page = Page(small, write("docs/en/x.md", "A {{ counted:\n3.2 ms }} b, `{{ a` and {{x}}\n"))
    assert bare(page)[-1] == "docs/en/x.md:1: this {{ is not closed on its line; write {{ … }} on one"


def rendered(small, write, text: str, language: str = "en"):
    return parse(Page(small, write(f"docs/{language}/x.md", text)), language, Values(small))


def test_a_quoted_figure_shows_its_source(small, write):
    made = rendered(small, write, "It has {{ quoted: 4.8 TB/s [^h200] }}.\n\n[^h200]: NVIDIA.\n")
    assert made.problems == []
    assert made.html.startswith(
        '<p>It has <span class="wb-quoted"><a href="#fn:h200" data-tip="quoted, not measured here" '
        'aria-label="4.8\u00a0TB/s; quoted, not measured here">4.8\u00a0TB/s</a></span><sup id="fnref:h200">'
    )
    zh = rendered(small, write, "{{ quoted: 2.1 倍 [^tt] }}\n\n[^tt]: 他。\n", "zh")
    assert "引用值，非本书实测" in zh.html


def test_what_was_counted_is_plain_and_does_not_break(small, write):
    made = rendered(small, write, "So {{ counted: 4.2 TB/s × 600 ns = 2.5 MB }}, {{ counted: 1.33× }}.\n")
    assert made.problems == []
    assert made.html.startswith("<p>So 4.2\u00a0TB/s × 600\u00a0ns = 2.5\u00a0MB, 1.33×.</p>")


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("quoted: 3 ms", '"quoted: 3 ms" names no source; write {{ quoted: 3 ms [^source] }}'),
        ("quoted: 3 ms [^no]", '"quoted: 3 ms [^no]": this page has no footnote [^no]: …; add it, with the source'),
        ("quoted: [^a]", '"quoted: [^a]" holds no number; write {{ quoted: 3.2 ms [^source] }}'),
        ("counted: twice", '"counted: twice" holds no number; write {{ counted: 3.2 ms }}'),
        ("counted: 3 ms [^a]", '"counted: 3 ms [^a]": what has a source is quoted; write {{ quoted: 3 ms [^a] }}'),
    ],
)
def test_a_mark_that_marks_nothing(small, write, mark, said):
    made = rendered(small, write, f"X\n\n{{{{ {mark} }}}}\n\n[^a]: A.\n")
    assert made.problems == [f"docs/en/x.md:3: {said}"]


def test_the_book_s_check_tells_of_it(small, write):
    from warpbook.check.checks import problems

    write("docs/en/x.md", "# X\n\nIt takes 3 ms.\n")
    write("docs/zh/x.md", "# X\n\n{{ counted: 3 ms }}。\n")
    typed = [line.split(" is typed")[0] for line in problems(small, [records.SOFTCUDA]) if " is typed" in line]
    assert typed == ['docs/en/x.md:3: "3 ms"']
