"""Typography of built pages: what is mended without asking, and what is named."""

from __future__ import annotations

import pytest

from warpbook.pipeline import typography


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<p>就是\n<a>竞态条件</a>，</p>", "<p>就是<a>竞态条件</a>，</p>"),
        ("<b>主表。</b> 基线", "<b>主表。</b>基线"),
        ("用 CPU （或 GPU ），", "用 CPU（或 GPU），"),
        ("CPU上的<code>x</code>与<a>softmax</a>的", "CPU 上的 <code>x</code> 与 <a>softmax</a> 的"),
        ("句号。<sup><a class=\"footnote-ref\">1</a></sup> <sup><a class=\"footnote-ref\">2</a></sup> 后文",
         "句号。<sup><a class=\"footnote-ref\">1</a></sup> <sup><a class=\"footnote-ref\">2</a></sup>后文"),
        ("<td>一</td> <td>二</td>", "<td>一</td> <td>二</td>"),
        ("<pre>中 文， x</pre>", "<pre>中 文， x</pre>"),
        ("5\xa0到 10\xa0分钟", "5\xa0到 10\xa0分钟"),
    ],
)  # fmt: skip
def test_blanks_in_chinese_are_put_right(written, shown):
    assert typography.tidy(written, "zh") == shown


def test_english_quotation_marks_are_curled():
    written = 'It\'s "so", the kernels\' &quot;<em>own</em>" (\'x\') in <code>"code"</code>.'
    assert typography.tidy(written, "en") == 'It’s “so”, the kernels’ “<em>own</em>” (‘x’) in <code>"code"</code>.'


@pytest.mark.parametrize(
    ("language", "written", "told"),
    [
        ("zh", "你好, 世界", "half-width punctuation after a Chinese word: …你好, 世界…"),
        ("zh", "共享(shared)内存", "a half-width parenthesis"),
        ("zh", '说"好"', "other quotation marks"),
        ("zh", "等等...", "an ellipsis is ……"),
        ("zh", "第Ａ组", "full-width letters"),
        ("en", "one , two", "a blank before punctuation"),
        ("en", "warps，lanes", "full-width punctuation"),
    ],
)
def test_what_no_rule_can_mend_is_named(language, written, told):
    assert told in "\n".join(typography.faults(f"<p>{written}</p>", language))


def test_code_formulas_and_calls_are_no_faults():
    right = '<p>调用 <code>f(数)</code> 与 min(a, b)，点 (3, 2) 处的 <span class="katex">O(n)</span> 次。</p>'
    assert typography.faults(right, "zh") == []
