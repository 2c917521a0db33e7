"""What no reader sees is left out of pages, of the style sheet and of the fonts; what they see stays."""

from __future__ import annotations

import html
import io
import re

from fontTools.ttLib import TTFont

from warpbook import tools
from warpbook.blocks import mathematics
from warpbook.site import minify, style


def test_code_reads_the_same_with_fewer_marks():
    listing = (
        '<pre><span></span><code><span class="kt">int</span><span class="w"> </span><span class="n">i</span>'
        '<span class="p">;</span>\n\n    <span class="n">i</span><span class="o">++</span></code></pre>'
    )
    made = minify.page(listing)
    assert made == '<pre><code><span class="kt">int</span> i;\n\n    i++</code></pre>'
    assert html.unescape(re.sub("<[^>]*>", "", made)) == "int i;\n\n    i++"


def test_scripts_and_sheets_of_ours_say_the_same_without_comments():
    assert minify.script("// Why.\nif (a) {\n  // how\n  b(`//`); // what\n\n}\n") == "if (a) {\nb(`//`); // what\n}\n"
    sheet = "a:hover { top: 0; } /* no */\n@media (x: 1) {\n  b { content: ' : '; }\n}\n"
    assert minify.style(sheet) == "a:hover{top:0}@media (x:1){b{content:' : '}}"


def test_a_formula_is_heard_as_before():
    math = '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>x</mi></mrow>'
    assert minify.page(f'{math}<annotation encoding="application/x-tex">x</annotation></semantics></math>') == (
        "<math><mrow><mi>x</mi></mrow></math>"
    )


def test_blank_lines_between_elements_go_and_those_in_code_stay():
    assert (
        minify.page("<p>a</p>\n\n\n   <pre>b\n\n  c</pre>\n  \n<p>d</p>") == "<p>a</p>\n<pre>b\n\n  c</pre>\n<p>d</p>"
    )


def test_a_rule_stays_if_some_page_can_use_it():
    sheet = ".md-a .b{top:0}.md-c{top:0}.b,.d{top:1px}[dir=rtl] .b{top:0}@media print{.d{top:0}}.b:not(.c){left:0}"
    assert style.used(sheet, {"md-a", "b"}) == ".md-a .b{top:0}.b{top:1px}.b:not(.c){left:0}"


def test_a_property_stays_if_something_reads_it():
    assert style.used(":root{--icon:url(x);--line:red}", set(), "hr{color:var(--line)}") == ":root{--line:red}"


def test_a_colour_scheme_stays_if_a_page_has_it():
    sheet = "[data-md-color-scheme=slate]{top:0}[data-md-color-primary=teal]{top:0}"
    assert style.used(sheet, {"slate", "custom"}) == "[data-md-color-scheme=slate]{top:0}"


def test_fonts_have_the_glyphs_of_the_formulas_and_no_more(book):
    tex = [(r"\alpha_1 + \mathbb{E}[x]", False), (r"\Bigl( \sum_i x_i \Bigr)", True)]
    made = mathematics.typeset(book, tex)
    found = style.glyphs([f"<p>{''.join(made.values())}</p>not this"])
    assert found["Math-Italic"] == {"α", "x", "i"}
    assert found["AMS-Regular"] == {"E"} and "∑" in found["Size2-Regular"] and "(" in found["Size2-Regular"]
    assert {"1", "+", "[", "]"} <= found["Main-Regular"] and "n" not in found["Main-Regular"]
    whole = (tools.modules(book) / "katex/dist/fonts/KaTeX_Math-Italic.woff2").read_bytes()
    less = style.subset(whole, found["Math-Italic"])
    assert set(TTFont(io.BytesIO(less)).getBestCmap()) == set(map(ord, "αxi"))
    assert len(less) < len(whole) / 8
