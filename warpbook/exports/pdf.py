"""The whole book of one language as a PDF: a title page, contents with page numbers, the articles in reading order.

A browser prints it from the built site (print.mjs), since only a browser sets formulas, charts and Han characters as
the site does. All pages become one document, so that links between them work within the PDF.
"""

from __future__ import annotations

import html
import json
import re
import tempfile
from pathlib import Path

from warpbook import tools
from warpbook.blocks import ends
from warpbook.book import PLACES, PRIMARY, SOFTCUDA, Book, BookError, write_bytes
from warpbook.exports import downloads
from warpbook.records import records
from warpbook.source import changes, tracks

SCRIPT = Path(__file__).with_name("print.mjs")
STYLE = Path(__file__).with_name("print.css")
LEFT_OUT = {"ledger", "changes"}  # a table of all that the articles say, and what only the site keeps up with
# Pages whose sections the table of contents does not list.
SECTIONLESS = {"glossary", "errata", "techniques", "origins", "cheat-sheet"}
LANG = {"en": "en", "zh": "zh-Hans"}
WORDS = {
    "en": {
        "title": "Warpbook",
        "about": "CUDA and deep learning. Every code block was run, every measured number has its record.",
        "contents": "Contents",
        "changed": "Last change",
        "measured": "Measured on",
        "run": "Run without a GPU on",
        "site": "The site, with sources, records and notebooks",
    },
    "zh": {
        "title": "线程束手册",
        "about": "CUDA 与深度学习。每段代码都运行过，每个实测数字都附测量记录。",
        "contents": "目录",
        "changed": "最近更新",
        "measured": "测量设备",
        "run": "无 GPU 时的运行设备",
        "site": "网站，附源代码、测量记录与 Notebook",
    },
}


def write(
    book: Book, site: Path, language: str, browser: str | None = None, only: list[str] | None = None
) -> tuple[Path, int]:
    """Print one language into the built `site`: (file, number of pages). `only`: of these pages, by name."""
    folder = site / PLACES[language]
    home = folder / "index.html"
    downloads.check_built(site)
    program = browser or tools.chromium()
    if not program:
        raise BookError(f"nothing prints: {tools.CHROMIUM_ADVICE}, or name one with --browser")
    if not (tools.modules(book) / "playwright-core").is_dir():
        raise BookError("node_modules/playwright-core is missing; run `make setup`")
    pages = [one for one in contents(book, language) if only is None or one["name"] in only]
    out = site / ends.pdf_name(language)
    with tempfile.TemporaryDirectory(prefix="warpbook-pdf-") as scratch:
        frame, made = Path(scratch, "frame.html"), Path(scratch, "made.pdf")
        frame.write_text(document(book, folder, language), "utf-8")
        job = {
            "modules": str(tools.modules(book).resolve()),
            "browser": program,
            "site": str(folder.resolve()),
            "frame": str(frame),
            "out": str(made),
            "url": downloads.published(home),
            "pages": pages,
        }
        done = tools.drive([tools.node(), str(SCRIPT)], input=json.dumps(job))
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "Error" in line] or ["no message"]
            raise BookError(f"{ends.pdf_name(language)}: {program} does not print: {said[0].strip()}")
        write_bytes(out, made.read_bytes())
    return out, json.loads(done.stdout)["pages"]


def contents(book: Book, language: str) -> list[dict[str, object]]:
    """The pages in reading order, but for those that lead into the site: what print.mjs calls `pages`, and their names.

    `address` is from the language's home, `part` what begins with the page, `sections` whether contents list them.
    """
    names = [
        path.relative_to(book.docs / language).with_suffix("").as_posix() for path in book.in_reading_order(language)
    ]
    starts = parts(book, language)
    return [
        {"name": name, "address": f"{name}/", "part": starts.get(name, ""), "sections": name not in SECTIONLESS}
        for name in names
        if name not in LEFT_OUT and not name.endswith("index")
    ]


def parts(book: Book, language: str) -> dict[str, str]:
    """Titles of the tracks, by the first article of each."""
    first = {track.title: track.entries[0].page.path for track in tracks.read(book, language) if track.entries}
    return {path.relative_to(book.docs / language).with_suffix("").as_posix(): title for title, path in first.items()}


def document(book: Book, folder: Path, language: str) -> str:
    """What the browser opens first: the site's styles, the title page, and contents yet to be filled."""
    words, home = WORDS[language], (folder / "index.html").read_text("utf-8")
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', home)
    styles = "".join(f'<link rel="stylesheet" href="{(folder / sheet).resolve().as_uri()}">' for sheet in sheets)
    day = changes.read(book)[0].date.isoformat() if changes.read(book) else ""
    url = downloads.published(folder / "index.html")
    facts = [
        (words["changed"], day),
        (words["measured"], machine(book)),
        (words["run"], SOFTCUDA),
        (words["site"], f'<a href="{html.escape(url)}">{html.escape(url)}</a>'),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts if value)
    return (
        f'<!doctype html><html lang="{LANG[language]}" dir="ltr"><head><meta charset="utf-8">'
        f"<title>{words['title']}</title>{styles}<style>{STYLE.read_text('utf-8')}</style></head>"
        '<body class="md-typeset" data-md-color-scheme="default">'
        f'<section class="wb-cover"><p class="wb-cover__title">{words["title"]}</p>'
        f"<p>{words['about']}</p><dl>{listed}</dl></section>"
        f'<nav class="wb-contents"><h1>{words["contents"]}</h1><ol></ol></nav></body></html>'
    )


def machine(book: Book) -> str:
    """The device whose numbers the pages quote, by its own name."""
    found = (records.look(book, PRIMARY, article) for article in book.articles())
    return next((records.device_name(record) for record in found if record), PRIMARY)
