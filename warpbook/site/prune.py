"""What of Material's files no reader of this site is sent: source maps, and stemmers of languages it is not in."""

from __future__ import annotations

import re

from mkdocs.structure.files import Files

STEMMERS = "assets/javascripts/lunr/"  # the search worker loads them for languages other than English
MAP = re.compile(r"^//# sourceMappingURL=.*\n?", re.MULTILINE)


def trim(files: Files, languages: list[str]) -> None:
    """Take such files away; `languages` are those that the search index is stemmed in."""
    for file in list(files):
        if file.src_uri.endswith(".map") or (file.src_uri.startswith(STEMMERS) and set(languages) == {"en"}):
            files.remove(file)
    for file in files:
        if file.src_uri.startswith("assets/javascripts/") and file.src_uri.endswith(".min.js"):
            file.content_string = MAP.sub("", file.content_string)
