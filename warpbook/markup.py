"""HTML as text: an attribute, tags, elements that need no end."""

from __future__ import annotations

import html
import re

TAG = re.compile(r"<!--.*?-->|<(/?)([A-Za-z][\w-]*)([^>]*?)(/?)>", re.DOTALL)
WORD, STORED_WORD = (
    "\u200b",
    "\x7f",
)  # between Chinese words: in the search, and in its file
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


def attribute(name: str, text: str) -> str:
    return f' {name}="{html.escape(text, quote=True)}"'.replace("\n", "&#10;")
