"""The whole site as an archive that is read without a server: unpack it anywhere, open index.html.

A folder is no server: there is no index.html for a link to `memory/`, and a browser loads neither modules nor workers
nor data from it. So links name their file, the interactive figures' modules are one classic script, the search index is
a script, and the search runs in a frame (offline.js). The pages' policies hold as they are: to Chromium and Firefox
'self' is, for a file, the files.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpbook import markup
from warpbook.blocks import ends, explore
from warpbook.book import write_bytes
from warpbook.exports import bundle, downloads

FOLDER = "warpbook"  # what the archive unpacks into
MOMENT = (1980, 1, 1, 0, 0, 0)  # the same site gives the same archive
LEFT_OUT = re.compile(
    r"(^|/)(404\.html|sitemap\.xml(\.gz)?|.*\.map|search/(search_index|documents)\.json|assets/explore/.*)$"
)
WORD_LISTS = re.compile(r"(?:^|/)assets/javascripts/lunr/(?P<file>.*)$")
LINK = re.compile(r'(?P<before><(?:a|link)\b[^>]*?\shref=")(?P<link>[^"]*)(?P<after>")')
ADDRESS = re.compile(r"(?![a-z][a-z0-9+.-]*:|//|#)(?P<path>[^?#]+)(?P<rest>.*)", re.DOTALL)
MODULE = re.compile(r'<script type="?module"? src="?(?P<root>[^">]*)assets/explore/explore\.js"?></script>')
BUNDLE = re.compile(r'<script (?:type="?text/plain"? data-)?src="?(?P<root>[^">]*)assets/javascripts/bundle\.')


def pack(site: Path) -> Path:
    """Write `warpbook.zip` into the built `site`. Raises BookError if there is none."""
    downloads.check_built(site)
    archive, found = site / ends.ARCHIVE, list(files(site))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, data in found:
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            out.writestr(entry, data)
    write_bytes(archive, made.getvalue())
    return archive


def files(site: Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of what the archive holds, by name."""
    found: dict[str, bytes] = {}
    searched: set[str] = set()  # languages
    for path in site.rglob("*"):
        name = path.relative_to(site).as_posix()
        if not path.is_file() or downloads.made(name):
            continue
        if name.endswith("search/search_index.json"):
            index = json.loads(path.read_text("utf-8"))
            index["docs"] = stored_documents(path.with_name("documents.json"))
            searched |= set(index["config"]["lang"])
            found[f"{name.removesuffix('on')}"] = search(index).encode()
        elif name.endswith(".html") and not LEFT_OUT.search(name):
            found[name] = page(path.read_text("utf-8")).encode()
        elif name.endswith("llms.txt"):
            root = downloads.published(path.with_name("index.html"))
            found[name] = path.read_text("utf-8").replace(f"]({root}", "](").encode()
        elif not LEFT_OUT.search(name):
            found[name] = path.read_bytes()
    script = Path(__file__).with_suffix(".js").read_bytes()
    figures = bundle.classic(explore.MODULES, "explore.js").encode()
    for root in {name.removesuffix("index.html") for name in downloads.HOMES.values() if name in found}:
        found[f"{root}assets/offline.js"], found[f"{root}assets/explore.js"] = script, figures
    wanted = {"lunr.stemmer.support.min.js", "lunr.multi.min.js", *(f"lunr.{x}.min.js" for x in searched)}
    for name in sorted(found):
        words = WORD_LISTS.search(name)
        if not words or posixpath.basename(words["file"]) in wanted:
            yield name, found[name]


def page(text: str) -> str:
    """A page as it is read from a folder."""
    text = LINK.sub(lambda match: f"{match['before']}{address(match['link'])}{match['after']}", text)
    text = downloads.ITEM.sub("", text)  # what lies beside the site only
    text = MODULE.sub(r'<script defer src="\g<root>assets/explore.js"></script>', text, count=1)
    text = MODULE.sub("", text)  # a module runs once, however often it is named
    return BUNDLE.sub(
        lambda match: f'<script src="{match["root"]}assets/offline.js"></script>{match[0]}', text, count=1
    )


def address(link: str) -> str:
    """`../memory/#banks` as `../memory/index.html#banks`; links to files, anchors and other hosts as they are."""
    match = ADDRESS.fullmatch(link)
    if not match or posixpath.basename(match["path"]) not in ("", ".", ".."):
        return link
    return f"{match['path'].rstrip('/')}/index.html{match['rest']}"


def stored_documents(path: Path) -> Any:
    """What is searched, as site/search.py wrote it."""
    return json.loads(path.read_text("utf-8").replace(markup.STORED_WORD, markup.WORD))


def search(index: dict[str, object]) -> str:
    """The search index as Material's script expects it of a folder."""
    for entry in index["docs"]:  # type: ignore[attr-defined]
        path, hash_, anchor = entry["location"].partition("#")
        entry["location"] = f"{path}index.html{hash_}{anchor}"
    return f"var __index = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))}"
