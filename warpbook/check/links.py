"""Links of the built site. Every internal one leads to a file and to an anchor that exist.

External ones are listed, and asked for by a scheduled job only: somebody else's broken server fails nobody's change.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

SITE = "https://site.invalid/"  # where pages are thought to be, so that links can be resolved
AGENT = "Mozilla/5.0 (compatible; warpbook link check)"
FETCHED = ("link", "script", "img", "source")
NAMES = ("canonical", "alternate")  # these name where the page is published, and lead nowhere from it


@dataclass
class Found(HTMLParser):
    """What one page refers to, and the anchors that it has."""

    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {key: value or "" for key, value in attrs}
        self.anchors |= {known[key] for key in ("id", "name") if known.get(key)}
        for key in ("href", "src"):
            if known.get(key) and (tag == "a" or tag in FETCHED) and known.get("rel", "").strip() not in NAMES:
                self.links.append(known[key])


def pages(site: Path) -> dict[str, Found]:
    """Each page by its path from the site's root (`optimisation/reduction/index.html`)."""
    out = {}
    for path in sorted(site.rglob("*.html")):
        out[path.relative_to(site).as_posix()] = found = Found()
        found.feed(path.read_text("utf-8"))
    return out


def each(found: dict[str, Found]) -> Iterator[tuple[str, str, str]]:
    """(page, link as written, where it leads) of all links."""
    for page, one in found.items():
        base = SITE + page.removesuffix("index.html")
        for link in one.links:
            yield page, link, urljoin(base, link)


def internal(site: Path, found: dict[str, Found]) -> list[str]:
    """One line for each link of its `pages` within the site that leads nowhere."""
    out = []
    for page, link, target in each(found):
        if not target.startswith(SITE) or page == "404.html":  # whose links are from the root of where it is published
            continue
        address, anchor = urldefrag(target)
        name = unquote(urlsplit(address).path).lstrip("/")
        file = site / name / "index.html" if name.endswith("/") or not name else site / name
        if not file.is_file():
            out.append(f"/{page}: {link} leads to no page")
        elif anchor and file.suffix == ".html":
            there = found[file.relative_to(site).as_posix()].anchors
            if unquote(anchor) not in there and anchor not in there:
                out.append(f"/{page}: {link}: that page has no such anchor")
    return list(dict.fromkeys(out))


def external(found: dict[str, Found]) -> dict[str, str]:
    """Every address on another host, with the first page that refers to it."""
    out: dict[str, str] = {}
    for page, _, target in each(found):
        if target.startswith(("http:", "https:")) and not target.startswith(SITE):
            out.setdefault(urldefrag(target)[0], page)
    return out


def ask(url: str, tries: int = 3, timeout: float = 20) -> str:
    """Why `url` cannot be had; empty if it can. Hosts that refuse programs (401, 403, 429) are taken to have it."""
    why = ""
    for number in range(tries):
        time.sleep(2 * number)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": AGENT}), timeout=timeout):
                return ""
        except urllib.error.HTTPError as error:
            if error.code in (401, 403, 429):
                return ""
            why = f"status {error.code}"
            if error.code in (404, 410):
                break
        except (OSError, ValueError) as error:
            why = str(error)
    return why


def broken(found: dict[str, Found]) -> list[str]:
    """One line for each external link that cannot be had."""
    urls = external(found)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, urls))
    return [f"/{page}: {url}: {why}" for (url, page), why in zip(urls.items(), answers, strict=True) if why]
