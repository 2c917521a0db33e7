"""The whole book as files beside the site: an archive that works offline, and a PDF a language.

They are made from the built site and not by each build of it. So the list of them at the foot of the home pages holds
the feed alone until `show` finds them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpbook.blocks.ends import ARCHIVE, items, pdf_name
from warpbook.book import LANGUAGES, write_text

LIST = re.compile(r'(<ul class="?wb-whole"?>).*?(</ul>)', re.DOTALL)
ITEM = re.compile(r'<li><a href="?(?:\.\./)?warpbook(?:-\w+)?\.(?:zip|pdf).*?</li>')
HOMES = {"en": "index.html", "zh": "zh/index.html"}


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
