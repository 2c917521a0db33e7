"""Each page's policy lets in the scripts that the theme has, and no others."""

from __future__ import annotations

import pytest

from warpbook.site import policy

THEMES = """<script>(() => {
a();
})()</script>"""
PAGE = f"""<head><meta charset="utf-8"><script>a("../..")</script>{THEMES}<script src="b.js"></script>
<script id="__config" type="application/json">{{}}</script></head><body>"""


@pytest.fixture
def theme(write, tmp_path):
    write("theme/partials/own.html", THEMES)
    write("theme/main.html", '<script>a("{{ base_url }}")</script><script src="{{ x | url }}"></script>')
    return tmp_path / "theme"


def test_inline_scripts_of_the_theme_are_let_in_by_hash(theme):
    # printf 'a("../..")' | openssl dgst -sha256 -binary | base64
    assert "'sha256-DFkQt+fPZAFxqEg+0ooi8jxp5YZ7rLZ/ss6TvkrFP1A='" in policy.scripts(PAGE, theme)
    assert len(policy.scripts(PAGE, theme)) == 2 and policy.refused(PAGE, theme) == []


@pytest.mark.parametrize(
    "script",
    [
        "<script>alert(1)</script>",
        "<SCRIPT\nid=x>alert(1)</SCRIPT >",
        '<script type="module">alert(1)</script>',
        '<script type="text/javascript">alert(1)</script>',
        '<script>a("");alert("")</script>',
        '<script data-x=" src=y">alert(1)</script>',
        "<script>a()</script>",
    ],
)
def test_any_other_script_is_refused_and_not_let_in(theme, script):
    page = PAGE + script
    assert policy.scripts(page, theme) == policy.scripts(PAGE, theme)
    assert ["inline script" in one.says for one in policy.refused(page, theme)] == [True]


@pytest.mark.parametrize(
    "html",
    [
        '<img src="x" onerror="alert(1)">',
        '<img/src="x"/ONERROR=alert(1)>',
        '<a href="java&#10;script:alert(1)">',
        '<a href=" vbscript:x">',
        '<a href="\x01javascript:alert(1)">',
        '<a href="data:text/html,x">',
        "<iframe></iframe>",
        '<base href="https://example.org/">',
        "<svg><foreignObject/></svg>",
        '<div srcdoc="x">',
        '<button formaction="x">',
        "<object data=x>",
    ],
)
def test_what_runs_scripts_is_refused_wherever_a_page_has_it(theme, html):
    assert policy.refused(PAGE + html, theme)


def test_data_and_text_are_no_scripts(theme):
    assert not policy.refused(f'{PAGE}<p title="javascript: x">on = 1 <img src="data:image/png;base64,x">', theme)


def test_materials_own_scripts_are_known(book):
    """As its templates write them, whatever its version."""
    page = '<script>__md_scope=new URL("../..",location)'
    template = (policy.TEMPLATES / "partials" / "javascripts" / "base.html").read_text("utf-8")
    written = policy.JINJA.sub("../..", policy.INLINE.search(template)[0])
    assert written.startswith(page)
    assert policy.refused(f"{written}</script>", book.root / "theme") == []


def test_the_policy_comes_before_what_it_is_about(theme):
    made = policy.with_policy(PAGE, theme)
    assert made.index("Content-Security-Policy") < made.index("<script>")
    assert "default-src 'self'; script-src 'self' 'sha256-" in made
    assert "'unsafe-inline'" not in made.split("style-src")[0]
