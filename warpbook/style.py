"""The site's style sheet: one file for the reader, assembled from parts that each have one meaning."""

from __future__ import annotations

from warpbook.book import Book

FOLDER = "style"  # under theme/
PARTS = (  # later ones win
    "colours",
    "frame",
    "text",
    "reading",
    "code",
    "listings",
    "numbers",
    "charts",
    "explore",
    "labs",
    "home",
    "screens",
)
ADDRESS = "assets/site.css"


def sheet(book: Book) -> str:
    """The whole sheet, in the order of `PARTS`."""
    return "\n".join((book.root / "theme" / FOLDER / f"{part}.css").read_text("utf-8") for part in PARTS)
