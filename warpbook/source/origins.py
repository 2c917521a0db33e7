"""`{{ origins }}`: which posts of older blogs the book began with, the page of each, and what was corrected there.

docs/origins.toml holds the topics. A topic without a page yet names the page that will have it, as `planned`: it is a
link as soon as the navigation lists that page. Articles that no topic led to stand under [[apart]], with their reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source import errata, tracks
from warpbook.source.pages import Page

FILE = "origins.toml"
BY_LANGUAGE = toml.table_of(toml.TEXT)
FORM = toml.table(
    blog=toml.tables(name=toml.TEXT, **dict.fromkeys(LANGUAGES, toml.TEXT)),
    topic=toml.tables(
        posts=toml.table_of(toml.TEXT), page=toml.TEXT, planned=toml.TEXT, more=toml.TEXTS, corrected=BY_LANGUAGE
    ),
    apart=toml.tables(page=toml.TEXT, planned=toml.TEXT, says=BY_LANGUAGE),
)
KEYS = {
    "blog": {"name", *LANGUAGES},
    "topic": {"posts", "page", "planned", "more", "corrected"},
    "apart": {"page", "planned", "says"},
}
HAN = re.compile(r"[\u3400-\u9fff]")
WORDS = {
    "en": {
        "from": "From {}.",
        "post": "“{title}” ({blog})",
        "draft": "an empty draft ({blog})",
        "more": "Also: {}.",
        "comma": ", ",
        "errata": " → Errata: {}",
        "planned": "Not written yet",
        "apart": "Pages that no post led to",
    },
    "zh": {
        "from": "原文：{}。",
        "post": "《{title}》（{blog}）",
        "draft": "空白草稿（{blog}）",
        "more": "另见{}。",
        "comma": "、",
        "errata": "→ 勘误：{}",
        "planned": "尚未写成",
        "apart": "没有对应原文的文章",
    },
}


@dataclass(frozen=True)
class Topic:
    """A post, or two on one subject, by the name of the blog; the pages that have it now, the first one foremost."""

    posts: dict[str, str]
    pages: tuple[str, ...]  # as `models/attention`
    is_planned: bool
    corrected: dict[str, str]


@dataclass(frozen=True)
class Origins:
    blogs: dict[str, dict[str, str]]
    topics: tuple[Topic, ...]
    apart: dict[str, dict[str, str]]  # by page: why it is there
    later: frozenset[str]  # those of them that need not be listed yet


def read(book: Book) -> Origins | None:
    """docs/origins.toml; None where there is no such file. Raises BookError for what is not in order within it."""
    path = book.docs / FILE
    return _read(toml.read_text(path, book.relative(path)), book.relative(path)) if reads.exists(path) else None


@lru_cache(maxsize=4)
def _read(text: str, name: str) -> Origins:
    data = toml.parse(text, name, FORM)
    for kind, known in KEYS.items():
        for i, entry in enumerate(data.get(kind, []), 1):
            if unknown := sorted(entry.keys() - known):
                raise BookError(f"{name}: {kind} {i} has {unknown[0]}; known are {', '.join(sorted(known))}")
    blogs = {str(one.get("name", "")): texts(f"{name}: blog {i}", one) for i, one in enumerate(data.get("blog", []), 1)}
    topics = tuple(topic(f"{name}: topic {i}", one, set(blogs)) for i, one in enumerate(data.get("topic", []), 1))
    others = data.get("apart", [])
    apart = {
        str(one.get("page", one.get("planned", ""))): texts(f"{name}: apart {i}: says", one.get("says", {}))
        for i, one in enumerate(others, 1)
    }
    return Origins(blogs, topics, apart, frozenset(one["planned"] for one in others if "planned" in one))


def topic(where: str, entry: dict[str, Any], blogs: set[str]) -> Topic:
    posts = entry.get("posts", {})
    if not posts or posts.keys() - blogs:
        raise BookError(f"{where}: name its posts by blog, as posts = {{{sorted(blogs)[0] if blogs else 'a'} = …}}")
    if ("page" in entry) == ("planned" in entry):
        raise BookError(f"{where}: give the page that has it, or as planned the one that will; not both")
    corrected = entry.get("corrected", {})
    if corrected or "page" in entry:
        corrected = texts(f"{where}: corrected", corrected)
    first = entry.get("page", entry.get("planned", ""))
    return Topic(posts, (first, *entry.get("more", [])), "planned" in entry, corrected)


def texts(where: str, entry: dict[str, Any]) -> dict[str, str]:
    for language in LANGUAGES:
        if not entry.get(language, "").strip():
            raise BookError(f"{where} has no {language}")
    return {language: entry[language].strip() for language in LANGUAGES}


def name_of(book: Book, entry: tracks.Entry, language: str) -> str:
    """An article as this file and docs/changes.toml name it: `models/attention`."""
    return entry.page.path.relative_to(book.docs / language).with_suffix("").as_posix()


def articles(book: Book, language: str) -> dict[str, tracks.Entry]:
    """The articles that the navigation lists, by name, in its order."""
    return {name_of(book, entry, language): entry for entry in tracks.articles(book, language).values()}


# -- what `warpbook check` says ------------------------------------------------------------------------------------


def problems(book: Book) -> list[str]:
    """One line for each page named here that is no article, and for each article that nothing here names."""
    found = read(book)
    return list(faults(book, found)) if found else []


def faults(book: Book, found: Origins) -> Iterator[str]:
    where = book.relative(book.docs / FILE)
    known, named = articles(book, LANGUAGES[0]), set(found.apart)
    for i, one in enumerate(found.topics, 1):
        named |= set(one.pages)
        if one.is_planned and one.pages[0] not in known:
            continue
        for page in one.pages:
            if page not in known:
                yield f'{where}: topic {i}: the navigation lists no article "{page}"'
        if not one.corrected:
            yield f"{where}: topic {i}: {one.pages[0]} is written now; say what it corrects, as corrected.en and .zh"
    for page in found.apart:
        if page not in known and page not in found.later:
            yield f'{where}: apart: the navigation lists no article "{page}"'
    for page in known.keys() - named:
        yield f'{where}: nothing names the article "{page}"; add it to its topic, or under [[apart]] with its reason'


# -- the page ------------------------------------------------------------------------------------------------------


def markdown(book: Book, language: str) -> list[str]:
    """The topics as Markdown, for a page beside the home page: by track, then those without a page, then the others."""
    found = read(book)
    if not found:
        raise BookError(f"there is no {book.relative(book.docs / FILE)}")
    words, known = WORDS[language], articles(book, language)
    written = [one for one in found.topics if one.pages[0] in known]
    lines: list[str] = []
    for track in tracks.read(book, language):
        folder = track.page.path.parent.relative_to(book.docs / language).as_posix()
        here = [one for one in written if one.pages[0].startswith(f"{folder}/")]
        lines += ["", f"## {track.title} {{ #{folder} }}", ""] if here else []
        for one in here:
            first, *others = said(book, found, one, known, language)
            lines += [f"{link(known, one.pages[0])} {{ #{one.pages[0].partition('/')[2]} }}", f":   {first}", ""]
            lines += [line for text in others for line in (f"    {text}", "")]
    if awaited := [one for one in found.topics if one not in written]:
        lines += ["", f"## {words['planned']} {{ #planned }}", ""]
        lines += [f"- {posts(found, one, language)}" for one in awaited]
    apart = {page: why for page, why in found.apart.items() if page in known or page not in found.later}
    lines += ["", f"## {words['apart']} {{ #apart }}", ""] if apart else []
    for page, why in apart.items():
        lines += [link(known, page), f":   {why[language]}", ""]
    return lines


def link(known: dict[str, tracks.Entry], page: str) -> str:
    if page not in known:
        raise BookError(f'docs/{FILE}: the navigation lists no article "{page}"')
    return f"[{known[page].title}]({page}.md)"


def posts(found: Origins, one: Topic, language: str) -> str:
    """The posts' own titles, each with its blog."""
    words = WORDS[language]

    def marked(title: str) -> str:
        return f'<span lang="zh-Hans">{title}</span>' if language == "en" and HAN.search(title) else title

    return words["comma"].join(
        words["post" if title else "draft"].format(title=marked(title), blog=found.blogs[blog][language])
        for blog, title in one.posts.items()
    )


def said(book: Book, found: Origins, one: Topic, known: dict[str, tracks.Entry], language: str) -> list[str]:
    """Paragraphs: which posts they were; what was corrected, with the way to it; where else the topic goes on."""
    words = WORDS[language]
    corrected = [
        f"[{known[page].title}](errata.md#{page.partition('/')[2]})"
        for page in one.pages
        if page in known and errata.of_page(Page(book, known[page].page.path))
    ]
    leads = words["errata"].format(words["comma"].join(corrected)) if corrected else ""
    further = [link(known, page) for page in one.pages[1:]]
    out = [words["from"].format(posts(found, one, language)), f"{one.corrected.get(language, '')}{leads}"]
    out += [words["more"].format(words["comma"].join(further))] if further else []
    return [text for text in out if text]
