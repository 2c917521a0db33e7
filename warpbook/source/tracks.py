"""The order of reading: tracks, which the navigation lists, and paths through them, which docs/paths.toml lists.

    {{ tracks }}      home: each track, how many pages it has, and their time
    {{ paths }}       home: each path, for whom it is, its pages, the time to read them and that of their exercises
    {{ articles }}    home: every track, what it is for, and each of its articles in a line
    {{ track }}       on a track's own page, <track>/index.md: what it needs, its pages, the paths that run through it

Nothing here is copied by hand: titles are the navigation's, times are counted (reading.py), a line on a page
is the `summary` of its front matter, and what a page gives and needs are the lists at its top (goals.py).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpbook import reads, toml
from warpbook.book import CONFIGS, DEVELOPERS, LANGUAGES, Book, BookError
from warpbook.source import goals, navigation, reading
from warpbook.source.errata import moved
from warpbook.source.pages import Page

FILE = "paths.toml"
FORM = toml.table(
    path=toml.tables(
        says=toml.table_of(toml.TEXT),
        pages=toml.TEXTS,
        left=toml.TEXTS,
        **dict.fromkeys(("name", "after", *LANGUAGES), toml.TEXT),
    )
)
KEYS = {"name", "after", "pages", "left", "says", *LANGUAGES}
TARGET = re.compile(r"\]\((?!https?:)([\w./-]+\.md)")

WORDS = {
    "en": {
        "pages": "{} pages",
        "page": "1 page",
        "sum": "{pages} · {time}",
        "time": "{time} · {number} of {of} in {track}",
        "alone": "{time} · {track}",
        "about": "{time} {said}",
        "practice": "{time}, exercises {practice}",
        "after": "After [{title}](#{name}): {said}",
        "left": "Left out, though a page needs some of it: {}.",
        "for": "[{title}]({url}), for {of}",
        "comma": ", ",
        "colon": ": ",
        "stop": ".",
        "through": "Paths through this track",
    },
    "zh": {
        "pages": "{} 篇",
        "page": "1 篇",
        "sum": "{pages} · {time}",
        "time": "阅读约 {time} · {track}，第 {number} 篇，共 {of} 篇",
        "alone": "阅读约 {time} · {track}",
        "about": "{time} · {said}",  # a blank alone is dropped between Han characters
        "practice": "{time}，练习 {practice}",
        "after": "接在[{title}](#{name})之后。{said}",
        "left": "略去了其中一篇要用到的：{}。",
        "for": "[{title}]({url})，读《{of}》时要用",
        "comma": "、",
        "colon": "：",
        "stop": "。",
        "through": "经过本部分的路线",
    },
}


@dataclass(frozen=True)
class Entry:
    """A page as the navigation lists it."""

    title: str
    page: Page

    @property
    def minutes(self) -> int:
        return reading.minutes(self.page)


@dataclass(frozen=True)
class Track:
    """A section of the navigation: its own page, and its articles in order."""

    title: str
    page: Page
    entries: tuple[Entry, ...]

    @property
    def minutes(self) -> int:
        return sum(entry.minutes for entry in self.entries)


@dataclass(frozen=True)
class Way:
    """A path: some articles, in order, for somebody; `after` is a path that it goes on from.

    `left` are articles that its pages need and that it leaves out.
    """

    name: str
    title: str
    says: str
    entries: tuple[Entry, ...]
    after: Way | None = None
    left: tuple[Entry, ...] = ()

    @property
    def minutes(self) -> int:
        return sum(entry.minutes for entry in self.entries)


def read(book: Book, language: str) -> list[Track]:
    """The tracks of the navigation, if there is one.

    Raises BookError for one without its own <track>/index.md, and for an entry whose page does not exist.
    """
    out = []
    for title, pages in book.navigation(language):
        if isinstance(pages, str) or (pages and Path(pages[0][1]).parent.name == DEVELOPERS):
            continue
        entries = [Entry(name, Page(book, book.docs / language / page)) for name, page in pages]
        if not entries or entries[0].page.path.name != "index.md":
            where = CONFIGS[language]
            raise BookError(f'{where}: the track "{title}" begins with its own page: - {title}: <track>/index.md')
        out.append(Track(title, entries[0].page, tuple(entries[1:])))
    if not all(reads.exists(entry.page.path) for track in out for entry in (Entry("", track.page), *track.entries)):
        raise BookError(navigation.missing(book, language)[0])
    return out


def articles(book: Book, language: str) -> dict[str, Entry]:
    """Every article of the tracks, in reading order, by name."""
    return {entry.page.article: entry for track in read(book, language) for entry in track.entries}


def ways(book: Book, language: str) -> list[Way]:
    """The paths of docs/paths.toml. Raises BookError for what is not in order there."""
    path = book.docs / FILE
    name = book.relative(path)
    listed = toml.parse(toml.read_text(path, name), name, FORM).get("path", [])
    known = articles(book, language)
    out: list[Way] = []
    for i, entry in enumerate(listed, 1):
        out.append(way(f"{name}: path {i}", entry, language, known, out))
    return out


def way(where: str, entry: dict[str, Any], language: str, known: dict[str, Entry], above: list[Way]) -> Way:
    if unknown := sorted(entry.keys() - KEYS):
        raise BookError(f"{where} has {unknown[0]}; known are {', '.join(sorted(KEYS))}")
    says = entry.get("says", {}).get(language)
    if not entry.get("name") or not entry.get(language) or not says:
        raise BookError(f"{where}: wants name, {language} and says.{language}")
    for page in (*entry.get("pages", []), *entry.get("left", [])):
        if page not in known:
            raise BookError(f'{where}: no track has an article "{page}"')
    after = next((one for one in above if one.name == entry.get("after")), None)
    if "after" in entry and after is None:
        raise BookError(f'{where}: after = "{entry["after"]}", and no path above it has that name')
    pages, left = (tuple(known[page] for page in entry.get(key, [])) for key in ("pages", "left"))
    return Way(entry["name"], entry[language], says, pages, after, left)


# -- as Markdown -------------------------------------------------------------------------------------------------------


def markdown(book: Book, what: str, language: str, page: Page, practice: Mapping[str, int] | None = None) -> list[str]:
    """Lines for one of the four directives, with links as from `page`.

    `practice` are the minutes of each article's exercises, which paths show beside the time to read.
    """
    if what == "track":
        return one_track(book, language, page)
    if what == "paths":
        return all_ways(book, language, page, practice or {})
    return {"tracks": all_tracks, "articles": all_articles}[what](book, language, page)


def address(target: Page, page: Page) -> str:
    return posixpath.relpath(target.path.as_posix(), page.path.parent.as_posix())


def time(minutes: int, language: str) -> str:
    return f'<span class="wb-time">{reading.shown(minutes, language)}</span>'


def timed(minutes: int, said: str, language: str) -> str:
    """A time, and what it is spent on."""
    return WORDS[language]["about"].format(time=time(minutes, language), said=said)


def extent(track: Track, language: str) -> str:
    """6 pages · 5 h 30 min"""
    shown = reading.shown(track.minutes, language)
    return WORDS[language]["sum"].format(pages=pages(len(track.entries), language), time=shown)


def pages(count: int, language: str) -> str:
    return WORDS[language]["page"] if count == 1 else WORDS[language]["pages"].format(count)


def summary(page: Page) -> str:
    """The page's line for lists. Raises BookError where it has none."""
    found = page.text("summary")
    if not found:
        raise BookError(f'{page.name}: give it a line for lists in its front matter: summary: "…"')
    return found


def all_tracks(book: Book, language: str, page: Page) -> list[str]:
    lines = ['<div class="wb-tracks" markdown>', ""]
    for track in read(book, language):
        lines += [
            f"- [{track.title}]({address(track.page, page)})",
            f'    <span class="wb-time">{extent(track, language)}</span>',
        ]
    return [*lines, "", "</div>"]


def all_ways(book: Book, language: str, page: Page, practice: Mapping[str, int]) -> list[str]:
    lines = ['<div class="wb-paths" markdown>']
    for one in ways(book, language):
        lines += ['<div class="wb-path" markdown>', "", one.title, f"{{ #{one.name} .wb-path__name }}", ""]
        lines += [timed_way(one, language, practice), ""]
        lines += [f'??? path "{pages(len(one.entries), language)}"']
        lines += [f"    {i}. [{entry.title}]({address(entry.page, page)})" for i, entry in enumerate(one.entries, 1)]
        if one.left:
            links = WORDS[language]["comma"].join(f"[{e.title}]({address(e.page, page)})" for e in one.left)
            lines += ["", f"    {WORDS[language]['left'].format(links)}"]
        lines += ["", "</div>"]
    return [*lines, "</div>"]


def timed_way(one: Way, language: str, practice: Mapping[str, int]) -> str:
    """What a path takes, what it goes on from, and for whom it is."""
    words, said = WORDS[language], one.says
    if one.after:
        said = words["after"].format(title=one.after.title, name=one.after.name, said=lower(said, language))
    shown = reading.shown(one.minutes, language)
    if exercises := sum(practice.get(entry.page.article, 0) for entry in one.entries):
        shown = words["practice"].format(time=shown, practice=reading.shown(exercises, language))
    return words["about"].format(time=f'<span class="wb-time">{shown}</span>', said=said)


def all_articles(book: Book, language: str, page: Page) -> list[str]:
    lines = []
    for track in read(book, language):
        anchor = track.page.path.parent.name
        lines += ["", f"### [{track.title}]({address(track.page, page)}) {{ #{anchor} }}", "", summary(track.page), ""]
        for entry in track.entries:
            about = f"{summary(entry.page)} {time(entry.minutes, language)}"
            colon = WORDS[language]["colon"]
            lines.append(f"- [{entry.title}]({address(entry.page, page)}){colon}{lower(about, language)}")
    return lines


def lower(text: str, language: str) -> str:
    """As it goes on after a colon; a word in capitals (GPU) stays."""
    return text[0].lower() + text[1:] if language == "en" and not text[1:2].isupper() else text


def one_track(book: Book, language: str, page: Page) -> list[str]:
    words = WORDS[language]
    track = next((one for one in read(book, language) if one.page.path == page.path), None)
    if track is None:
        raise BookError(f"{page.name}: no track of the navigation begins with this page")
    lines = [f'!!! needs "{goals.TITLES[language]["needs"]}"']
    lines += [f"    - {item}" for item in before(book, track, language, page)]
    for entry in track.entries:
        at = address(entry.page, page)
        gives = goals.of(entry.page, language)["goals"]
        lines += ["", f"## [{entry.title}]({at}) {{ #{entry.page.article} }}", ""]
        lines += [timed(entry.minutes, summary(entry.page), language), ""]
        lines += [f'!!! goals "{goals.TITLES[language]["goals"]}"']
        lines += [f"    - {moved(item, entry.page, at)}" for item in gives]
    here = {entry.page.article for entry in track.entries}
    through = [one for one in ways(book, language) if here & {entry.page.article for entry in one.entries}]
    if through:
        lines += ["", f"## {words['through']} {{ #paths }}", ""]
    home = posixpath.relpath((book.docs / language / "index.md").as_posix(), page.path.parent.as_posix())
    for one in through:
        mine = [f"[{e.title}]({address(e.page, page)})" for e in one.entries if e.page.article in here]
        lines.append(
            f"- [{one.title}]({home}#{one.name}) {time(one.minutes, language)}"
            f"{words['colon']}{words['comma'].join(mine)}{words['stop']}"
        )
    return lines


def before(book: Book, track: Track, language: str, page: Page) -> list[str]:
    """What its first page needs, and the articles of other tracks that later ones need."""
    first = track.entries[0].page
    items = [moved(item, first, address(first, page)) for item in goals.of(first, language)["needs"]]
    named = {one for item in items for one in targets(item, page)}
    mine = {entry.page.path for entry in track.entries}
    by_path = {entry.page.path: entry for entry in articles(book, language).values()}
    for entry in track.entries[1:]:
        for item in goals.of(entry.page, language)["needs"]:
            for target in targets(item, entry.page):
                if target in by_path and target not in named | mine:
                    named.add(target)
                    needed = by_path[target]
                    link = {"title": needed.title, "url": address(needed.page, page), "of": entry.title}
                    items.append(WORDS[language]["for"].format(**link) + WORDS[language]["stop"])
    return items


def targets(text: str, page: Page) -> list[Path]:
    """The pages that a piece of `page` links to."""
    return [Path(posixpath.normpath((page.path.parent / target).as_posix())) for target in TARGET.findall(text)]


# -- under a page's heading --------------------------------------------------------------------------------------------


def line(book: Book, page: Page, language: str, root: str) -> str:
    """HTML: how long an article takes and where in its track it stands; how much a track has. Empty for other pages.

    `root` leads to the language's home.
    """
    words = WORDS[language]
    for track in read(book, language):
        if track.page.path == page.path:
            return said(extent(track, language))
        for number, entry in enumerate(track.entries, 1):
            if entry.page.path == page.path:
                folder = track.page.path.parent.relative_to(book.docs / language).as_posix()
                link = f'<a href="{root}{folder}/">{track.title}</a>'
                shown = reading.shown(entry.minutes, language)
                form = words["time" if len(track.entries) > 1 else "alone"]
                return said(form.format(time=shown, number=number, of=len(track.entries), track=link))
    return ""


def said(text: str) -> str:
    return f'<p class="wb-time wb-time--page" data-search-exclude>{text}</p>'
