"""What the looks at pages are good for: a small page on which everything is wrong that `browse.mjs` looks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from looker import Looker, said

from warpbook.book import Book, write_text

PAGE = """<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<link rel="alternate" hreflang="en" href="/"><link rel="alternate" hreflang="zh" href="/zh/">
<link rel="alternate" hreflang="x-default" href="/">
<style>body {{ margin: 0 }} nav {{ position: sticky; top: 0; background: #fff }} p {{ margin-bottom: 2000px }}
[data-md-color-scheme=slate] {{ color: #fff; background: #000 }}</style></head><body>
<script>const dark = matchMedia("(prefers-color-scheme: dark)");
(dark.onchange = () => document.body.dataset.mdColorScheme = dark.matches ? "slate" : "default")()</script>
<nav class="wb-languages"><a hreflang="en" href="/">English</a> <a hreflang="zh" href="/zh/">中文</a></nav>
<main><article><h1>A page</h1><p>First.</p><h2 id="a">Banks</h2><p>Long.</p><h3 id="b">Conflicts</h3><p>Longer.</p>
<div class="wb-output"><div class="wb-switch"><button data-device="nvidia-h200">H200</button>
<button data-device="softcuda">softcuda</button></div><pre data-device="nvidia-h200">1</pre>
<pre data-device="softcuda" hidden>2</pre></div></article></main><script src="/site.js"></script></body></html>"""
WRONG = {  # what a page has (in place of what), and what is told of it
    "another host": ("</main>", '<img alt="" src="http://127.0.0.2:9/a.png"></main>', "request to http://127.0.0.2:9"),
    "no such file": ("</main>", '<img alt="" src="/gone.png"></main>', "404 for .*gone.png"),
    "an error told": ("</main>", "</main><script>console.error('oh')</script>", "console: oh"),
    "an error thrown": ("</main>", "</main><script>throw new Error('ah')</script>", "script: ah"),
    "late": ("</main>", "</main><script>setTimeout(() => console.error('later'), 50)</script>", "console: later"),
    "language": ('lang="{lang}"', 'lang="fr"', "lang is fr"),
    "colours": ('? "slate"', '? "default"', r"\(narrow\): colours are default"),
    "colours, turned": ('? "slate"', '? "default"', "dark.*colours do not become slate"),  # by the same
    "a value": ("Long.", "{{{{ rate }}}}", r"left as written: \{\{ "),
    "hreflang": ('hreflang="x-default"', 'hreflang="fr"', "hreflang names en,fr,zh"),
    "a number": ("Long.", '<span class="wb-missing">?</span>', "1 numbers missing"),
    "contrast, light": ("Long.", '<b style="color: #ccc">words</b>', r"\(light\): axe: color-contrast"),
    "contrast, dark": ("Longer.", '<b style="color: #333">words</b>', r"\(dark\): axe: color-contrast"),
    "a link, dark": (
        "First.",
        'A <a href="/" style="color: #333; text-decoration: none">link</a> in words. ',
        r"\(dark\): axe: link-in-text-block",
    ),
    "an image": ("Long.", '<img src="data:,">', "axe: image-alt"),
    "width": ("Long.", '<i style="display: block; width: 500px">x</i>', "scrolls sideways at 390 px: 500 px"),
    "a drawing": ("Long.", "<figure><svg></svg></figure>", "a drawing without a name"),
    "its words": ("Long.", "<figure><svg></svg></figure>", "nothing that says it in words"),
    "its letters": (
        "Long.",
        '<figure><svg><text y="20" style="font-size: 8px">small</text></svg></figure>',
        '"small" is 8.0 px high at 390 px',
    ),
    "what scrolls": (
        "Long.",
        '<div style="overflow: auto"><div style="width: 800px">x</div></div>',
        "scrolls, and not by keyboard",
    ),
    "the switcher": ('<script src="/site.js">', "<script>", r'the switcher of / opened /zh/ at "", not at "b"'),
    "the device": ("", "", "the device chosen is forgotten"),  # by the same
}


def write(site: Path, page: str, book: Book) -> Path:
    for language, name in (("en", "index.html"), ("zh", "zh/index.html")):
        write_text(site / name, page.format(lang=language))
    write_text(site / "site.js", (book.root / "theme" / "assets" / "site.js").read_text("utf-8"))
    return site


BOTH = {"en": "", "zh": "zh/"}
PATIENCE = 3000  # ms for what is known never to come


def test_nothing_is_wrong_with_a_good_page(
    book: Book, tmp_path: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    look("browse.mjs", serve(write(tmp_path, PAGE, book)), BOTH)


@pytest.fixture(scope="module")
def found(book: Book, tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], str], looker: Looker) -> str:
    page = PAGE
    for old, new in dict.fromkeys((old, new) for old, new, _ in WRONG.values()):
        assert old in page
        page = page.replace(old, new + old if old.endswith(".") else new)
    problems = looker.look("browse.mjs", serve(write(tmp_path_factory.mktemp("wrong"), page, book)), BOTH, PATIENCE)
    return "\n".join(map(said, problems))


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_with_a_page_is_told(found: str, what: str) -> None:
    assert re.search(WRONG[what][2], found), found


def test_one_word_of_a_listing_table_or_paragraph_is_found_among_many(
    book: Book, tmp_path: Path, serve: Callable[[Path], str], looker: Looker
) -> None:
    """Though the contrast of two is measured for all that look alike."""
    wrong = {"light": ("color: #ccc", "opacity: 0.5", "background: #111"), "dark": ("color: #333", "background: #eee")}
    words = "".join(f"<b>word {i} </b>" for i in range(9))
    cells = "".join(f"<tr><td>{i}</td></tr>" for i in range(9))
    parts = "".join(
        f"<pre style='white-space: pre-wrap'><code>{words}<i style='{style}'><b>this</b></i> {words}</code></pre>"
        f"<table>{cells}<tr style='{style}'><td><b>this</b></td></tr>{cells}</table>"
        f"<p>{words}<i style='{style}'><b>this</b></i> {words}</p>"
        for style in (*wrong["light"], *wrong["dark"])
    )
    page = PAGE.replace("Long.", "Long." + parts)
    problems = looker.look("browse.mjs", serve(write(tmp_path, page, book)), BOTH)
    found = sorted((one["scheme"], one["what"].split("</b>")[0]) for one in problems)
    assert found == sorted(
        (scheme, f"axe: color-contrast: {3 * len(styles)}: <b>this") for scheme, styles in wrong.items() for _ in BOTH
    )


def test_a_page_that_hangs_fails_alone(
    book: Book, tmp_path: Path, serve: Callable[[Path], str], looker: Looker, look: Callable[..., None]
) -> None:
    """With its name; the next one is looked at in a browser of its own."""
    address = serve(write(tmp_path, PAGE, book))
    write_text(tmp_path / "stuck" / "index.html", "<!doctype html><script>for (;;);</script>")
    with pytest.raises(pytest.fail.Exception, match=rf"browse.mjs was not done within 3 s\nopen: .*{address}stuck/"):
        looker.look("browse.mjs", address, {"en": "stuck/", "zh": "zh/"}, seconds=3)
    look("browse.mjs", address, BOTH)


def test_a_look_leaves_nothing_to_the_next(
    book: Book, tmp_path: Path, serve: Callable[[Path], str], looker: Looker, look: Callable[..., None]
) -> None:
    """Though both are in the same tab."""
    head, left = "<title>A page</title>", 'localStorage.left = sessionStorage.left = "x"'
    untidy = f'{head}<script>{left}; setInterval(() => console.error("still here"), 1)</script>'
    tidy = f"{head}<script>if (localStorage.left || sessionStorage.left) throw Error('something is left')</script>"
    address = serve(write(tmp_path, PAGE.replace(head, tidy), book))
    write_text(tmp_path / "untidy" / "index.html", PAGE.format(lang="en").replace(head, untidy))
    assert "still here" in "\n".join(map(said, looker.look("browse.mjs", address, {"en": "untidy/"})))
    look("browse.mjs", address, BOTH)
