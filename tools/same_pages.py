"""Compare two builds of the site, page by page: `python tools/same_pages.py BEFORE AFTER`.

HTML is compared as a browser reads it: tags with their attributes in any order, links by where they lead, text with its
white space collapsed (kept within <pre>), addresses without the hashes that asset names carry. With --body only what
stands within <article> counts, for a site of another host. Other text files (Markdown, notebooks, what is searched) are
compared as they are.
Exits 1 and shows the first difference of each file that differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

HASH = re.compile(r"(?<=\.)[0-9a-f]{8,}(?=\.(?:min\.)?(?:js|css))")
TEXT = (".md", ".ipynb", ".json", ".txt", ".xml", ".py")
BUILD_DEPENDENT = ("sitemap.xml",)  # dates of commits
ADDRESSES = ("href", "src")  # are compared by where they lead
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
AROUND = 3  # tokens shown before a difference


class Tokens(HTMLParser):
    """A page as a list of tags and texts."""

    def __init__(self, body: bool, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.address = f"https://site.invalid/{address}"
        self.body, self.inside = body, 0
        self.out: list[str] = []
        self.pre = 0

    def add(self, token: str) -> None:
        if not self.body or self.inside:
            self.out.append(token)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag == "article"
        self.pre += tag in ("pre", "script", "style", "textarea")
        known = {
            name: urljoin(self.address, value or "") if name in ADDRESSES else value or "" for name, value in attrs
        }
        shown = sorted(f'{name}="{HASH.sub("", value)}"' for name, value in known.items())
        self.add(f"<{' '.join([tag, *shown])}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.add(f"</{tag}>")
        self.pre -= tag in ("pre", "script", "style", "textarea")
        self.inside -= tag == "article"

    def handle_data(self, data: str) -> None:
        text = data if self.pre else re.sub(r"[ \t\r\n]+", " ", data)
        if self.out and not self.out[-1].startswith("<"):
            text = self.out.pop() + text
        if text.strip(" \n") or self.pre:
            self.add(HASH.sub("", text))

    def handle_comment(self, data: str) -> None:
        self.add(f"<!--{data}-->")


def tokens(path: Path, address: str, body: bool = False) -> list[str]:
    """What is compared of one file, which is published at `address`."""
    text = path.read_text("utf-8")
    if path.suffix != ".html":
        return text.splitlines()
    parser = Tokens(body, address)
    parser.feed(text)
    parser.close()
    return [token if token.startswith("<") else token.strip(" ") or token for token in parser.out]


def with_blanks(found: list[str]) -> list[str]:
    """The same with ordinary blanks for those that hold a quantity together."""
    return [re.sub("[\u00a0\u202f]", " ", token) for token in found]


def without_drawings(found: list[str]) -> list[str]:
    """The same without what stands within <svg>."""
    out, inside = [], 0
    for token in found:
        inside -= token == "</svg>"
        if not inside:
            out.append("<svg>" if token.startswith("<svg") else token)
        inside += token.startswith("<svg")
    return out


def difference(one: list[str], two: list[str]) -> str:
    """The first place where two lists part; empty where they are equal."""
    for i in range(max(len(one), len(two))):
        a, b = (tokens[i] if i < len(tokens) else "(end)" for tokens in (one, two))
        if a != b:
            before = "".join(f"\n      {token[:200]}" for token in one[max(0, i - AROUND) : i])
            at = next((j for j, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            start = max(0, at - 60)
            return f"{before}\n    - {a[start : start + 240]}\n    + {b[start : start + 240]}"
    return ""


def files(site: Path) -> dict[str, Path]:
    found = {HASH.sub("", path.relative_to(site).as_posix()): path for path in site.rglob("*") if path.is_file()}
    return {name: path for name, path in found.items() if Path(name).name not in BUILD_DEPENDENT}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", help="files whose path begins so")
    parser.add_argument("--body", action="store_true", help="of a page, what stands within <article>")
    parser.add_argument("--blanks", action="store_true", help="take every kind of blank for one")
    parser.add_argument("--without-drawings", action="store_true", help="leave out what stands within <svg>")
    options = parser.parse_args()
    before, after = files(options.before), files(options.after)
    differ = compared = 0
    for name in sorted(before.keys() | after.keys()):
        if not name.startswith(options.only):
            continue
        if name not in before or name not in after:
            print(f"{name}: only {'before' if name in before else 'after'}")
            differ += 1
        elif Path(name).suffix == ".html" or Path(name).suffix in TEXT:
            compared += 1
            one, two = (tokens(found[name], name, options.body) for found in (before, after))
            if options.blanks:
                one, two = with_blanks(one), with_blanks(two)
            if options.without_drawings:
                one, two = without_drawings(one), without_drawings(two)
            if where := difference(one, two):
                print(f"{name}:{where}")
                differ += 1
    print(f"{compared} files compared, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
