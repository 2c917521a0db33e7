"""What no reader sees, left out of a page: marks around code that change no colour, and what KaTeX says twice.

Nothing else is touched: the text of a page, its structure and what a screen reader says are the same before and after.
Our own scripts and style sheet go without comments and indents.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(<pre[^>]*>)(.*?)(?=</pre>)", re.DOTALL)
# Blanks, names, operators and punctuation have the colour of code itself (theme/style/colours.css).
COLOURLESS = re.compile(r'<span class="(?:w|n|sa|kc|o|ow|p)">([^<]*)</span>|<span></span>')
TEX = re.compile(r"<semantics>(.*?)<annotation .*?</annotation></semantics>", re.DOTALL)
# HTML knows both namespaces; the rest is how a formula would look, were it not for screen readers only.
NAMESPACE = re.compile(
    r' (?:xmlns="http://www\.w3\.org/(?:1998/Math/MathML|2000/svg)"|(?:stretchy|fence|separator|accent)="\w+")'
)
LINES = re.compile(r"<[^>]*>|(?<=&)\w+;")  # what takes no room in a line
NARROW = 36  # characters that fit a telephone; Material's script takes back what a wider screen does not need
AS_WRITTEN = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)


def page(text: str) -> str:
    """The page with less in it; a page's own blanks, those of code and scripts, stay."""
    text = CODE.sub(lambda match: match[1] + code(match[2]), text)
    text = NAMESPACE.sub("", TEX.sub(r"\1", text))
    parts = AS_WRITTEN.split(text)  # text, as written, the name of its element, text, …
    parts[::3] = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[::3]]
    return "".join(part for i, part in enumerate(parts) if i % 3 < 2)


def code(listing: str) -> str:
    """A listing with fewer marks, and within a keyboard's reach where a narrow screen scrolls it."""
    listing = COLOURLESS.sub(lambda mark: mark[1] or "", listing)
    if listing.startswith("<code") and any(len(line) > NARROW for line in LINES.sub("", listing).split("\n")):
        return listing.replace("<code", '<code tabindex="0"', 1)
    return listing


def script(text: str) -> str:
    """A script without the lines that are comments, and without indents."""
    return re.sub(r"^[ \t]*(?://.*)?(?:\n|\Z)|^[ \t]+", "", text, flags=re.MULTILINE)


def style(text: str) -> str:
    """A sheet without comments and without blanks that say nothing."""
    text = re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r"(?<=\w): +", ":", text).replace(";}", "}")
