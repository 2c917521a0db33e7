"""The whole book as files beside the site: an archive that works offline, and a PDF a language.

They are made from the built site and not by each build of it. So the list of them at the foot of the home pages holds
the feed alone until `show` finds them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpbook.blocks.ends import ARCHIVE, items, pdf_name
from warpbook.book import LANGUAGES, BookError, write_text

LIST = re.compile(r'(<ul class="?wb-whole"?>).*?(</ul>)', re.DOTALL)
ITEM = re.compile(r'<li><a href="?(?:\.\./)?warpbook(?:-\w+)?\.(?:zip|pdf).*?</li>')
OURS = re.compile(r'<meta name="generator" content="mkdocs-[^"]*mkdocs-material-.*?<title>Warpbook</title>', re.DOTALL)
HOMES = {"en": "index.html", "zh": "zh/index.html"}


def check_built(site: Path) -> None:
    """Raise BookError unless `site` is a folder that a build of the site made."""
    if not is_built(site):
        raise BookError(f"{site}: no site built by Warpbook there; build it with `make site`")


def is_built(site: Path) -> bool:
    """Whether the home pages say that `build` (site/builder.py) made this folder, in this or an earlier version."""
    homes = [site / name for name in HOMES.values()]
    if not all(home.is_file() for home in homes) or not (site / "sitemap.xml").is_file():
        return False
    return bool(OURS.search(homes[0].read_text("utf-8", errors="replace")))


def made(name: str) -> bool:
    """Whether a file at the site's root is one of these."""
    return name in (ARCHIVE, *map(pdf_name, LANGUAGES))


def published(home: Path) -> str:
    """Where the folder of this home page is published, as it says itself; ends with a slash."""
    found = re.search(r'<link rel="canonical" href="([^"]*)"', home.read_text("utf-8"))
    return found[1] if found else "/"


def show(site: Path) -> None:
    """Bring the lists on the home pages to what there is in `site` now."""
    for language, name in HOMES.items():
        page = (site / name).read_text("utf-8")
        listed = items(language, site)
        write_text(site / name, LIST.sub(lambda match, listed=listed: f"{match[1]}{listed}{match[2]}", page))  # type: ignore[misc]
