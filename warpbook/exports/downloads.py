"""The whole book as files beside the site: an archive that works offline, and a PDF a language.

They are made from the built site and not by each build of it. So the list of them at the foot of the home pages holds
the feed alone until `show` finds them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpbook.book import LANGUAGES, write_text

ARCHIVE = "warpbook.zip"
FEED = "feed.xml"
WORDS = {
    "en": {
        "label": "Take the book with you",
        "feed": "What changed, as a feed (RSS)",
        "zip": "Both languages for offline reading (zip, {size})",
        "pdf": "The book as a PDF ({size})",
    },
    "zh": {
        "label": "带走整本书",
        "feed": "更新记录的订阅源（RSS）",
        "zip": "中英文离线版（zip，{size}）",
        "pdf": "全书 PDF（{size}）",
    },
}
LIST = re.compile(r'(<ul class="?wb-whole"?>).*?(</ul>)', re.DOTALL)
ITEM = re.compile(r'<li><a href="?(?:\.\./)?warpbook(?:-\w+)?\.(?:zip|pdf).*?</li>')
HOMES = {"en": "index.html", "zh": "zh/index.html"}


def pdf_name(language: str) -> str:
    return f"warpbook-{language}.pdf"


def made(name: str) -> bool:
    """Whether a file at the site's root is one of these."""
    return name in (ARCHIVE, *map(pdf_name, LANGUAGES))


def published(home: Path) -> str:
    """Where the folder of this home page is published, as it says itself; ends with a slash."""
    found = re.search(r'<link rel="canonical" href="([^"]*)"', home.read_text("utf-8"))
    return found[1] if found else "/"


def section(language: str) -> str:
    """HTML for the end of the home page."""
    label = WORDS[language]["label"]
    return (
        f'<section class="wb-programs" aria-label="{label}"><p>{label}</p>'
        f'<ul class="wb-whole">{items(language, None)}</ul></section>'
    )


def items(language: str, site: Path | None) -> str:
    words, up = WORDS[language], "../" if language != "en" else ""
    found = [f'<li><a href="{FEED}">{words["feed"]}</a></li>']
    for kind, name in (("zip", ARCHIVE), ("pdf", pdf_name(language))):
        if site and (site / name).exists():
            said = words[kind].format(size=size(site / name))
            found.append(f'<li><a href="{up}{name}" download>{said}</a></li>')
    return "".join(found)


def size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f}\u00a0MB"


def show(site: Path) -> None:
    """Bring the lists on the home pages to what there is in `site` now."""
    for language, name in HOMES.items():
        page = (site / name).read_text("utf-8")
        listed = items(language, site)
        write_text(site / name, LIST.sub(lambda match, listed=listed: f"{match[1]}{listed}{match[2]}", page))  # type: ignore[misc]
