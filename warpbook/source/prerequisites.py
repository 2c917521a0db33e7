"""Which article needs which: the links in the list `needs` at an article's top (goals.py), as a graph.

    {{ prerequisites }}     every article by track, with what it needs, what it leads to, and a box: "I have read this"

An item that links to another article says that the article is needed, be it for a part of the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from warpbook import reads
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source import goals, tracks
from warpbook.source.errata import HEADING
from warpbook.source.pages import Page

Graph = dict[str, tuple[str, ...]]  # by article, in reading order: the articles that it names, in reading order

FURTHER = "further"  # the section of an article that says where to read on
MOST = 3  # articles at the foot of another

WORDS = {
    "en": {
        "needs": "Needs {}.",
        "nothing": "Needs no other article.",
        "leads": "Leads to {}.",
        "comma": ", ",
        "read": "{}: I have read this",
    },
    "zh": {
        "needs": "先读：{}。",
        "nothing": "不需要先读别的文章。",
        "leads": "之后可读：{}。",
        "comma": "、",
        "read": "{}：我读过了",
    },
}


@reads.remembered
def needs(book: Book, language: str) -> Graph:
    """The articles that each article of the tracks needs, as its list at the top says."""
    known = tracks.articles(book, language)
    by_path = {entry.page.path: name for name, entry in known.items()}
    graph: Graph = {}
    for name, entry in known.items():
        items = goals.read(entry.page, language).get("needs", [])
        named = {by_path.get(target) for item in items for target in tracks.targets(item, entry.page)} - {name}
        graph[name] = tuple(other for other in known if other in named)
    return graph


@reads.remembered
def leads(book: Book, language: str) -> Graph:
    """The articles that name each article as needed."""
    graph = needs(book, language)
    return {name: tuple(other for other in graph if name in graph[other]) for name in graph}


def closure(graph: Graph, name: str) -> set[str]:
    """All articles that can be reached from `name`, without itself unless it lies in a circle."""
    found: set[str] = set()
    waiting = list(graph[name])
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += graph[one]
    return found


def reduced(graph: Graph) -> Graph:
    """The fewest edges that lead as far: what is needed through another article anyway is left out."""
    beyond = {name: closure(graph, name) for name in graph}
    return {
        name: tuple(one for one in direct if not any(one in beyond[other] for other in direct))
        for name, direct in graph.items()
    }


# -- what is wrong ---------------------------------------------------------------------------------------------------


def problems(book: Book) -> list[str]:
    """One line for a circle, for each article whose languages name different articles, and for each path that has an
    article before one that it needs."""
    return [*faults(book), *path_faults(book)]


def faults(book: Book) -> Iterator[str]:
    first = needs(book, LANGUAGES[0])
    pages = {name: entry.page.name for name, entry in tracks.articles(book, LANGUAGES[0]).items()}
    if ring := circle(first):
        way = " needs ".join([*ring, ring[0]])
        yield f'{pages[ring[0]]}: {way}; take a link out of one of these lists, !!! needs "…"'
    for language in LANGUAGES[1:]:
        others = needs(book, language)
        for name, entry in tracks.articles(book, language).items():
            if name in first and set(others[name]) != set(first[name]):
                differing = ", ".join(sorted(set(others[name]) ^ set(first[name])))
                yield f"{entry.page.name}: only one of it and {pages[name]} links to {differing} in its list of needs"


def path_faults(book: Book) -> Iterator[str]:
    graph, file = needs(book, LANGUAGES[0]), book.relative(book.docs / tracks.FILE)
    for one in tracks.ways(book, LANGUAGES[0]) if reads.exists(book.docs / tracks.FILE) else []:
        left = {entry.page.article for entry in one.left}
        read = {name for way in before(one) for name in names(way)}
        asked: set[str] = set()
        for name in names(one):
            for needed in graph[name]:
                if needed not in read | left:
                    yield (
                        f'{file}: path "{one.name}": {name} needs {needed}, which does not come before it; put it '
                        f"before, begin after a path that has it, or name it under left"
                    )
            asked |= set(graph[name])
            read.add(name)
        for name in sorted((left - asked) | (left & read)):
            yield f'{file}: path "{one.name}": left has {name}, which no page of the path lacks; take it out of left'


def before(one: tracks.Way) -> Iterator[tracks.Way]:
    """The paths that a path goes on from."""
    while one.after:
        one = one.after
        yield one


def names(one: tracks.Way) -> list[str]:
    return [entry.page.article for entry in one.entries]


def circle(graph: Graph) -> list[str]:
    """Articles of which each needs the next and the last the first; empty if there are none."""
    for name in graph:
        if name in closure(graph, name):
            way = [name]
            while name not in graph[way[-1]]:
                way.append(next(one for one in graph[way[-1]] if one not in way and name in closure(graph, one)))
            return way
    return []


# -- at the foot of an article ---------------------------------------------------------------------------------------


def onward(book: Book, language: str, page: Page) -> list[tracks.Entry]:
    """At most three articles that `page` prepares for, in reading order: those that lead to the most others.

    The article that follows in the navigation is left out, since the page's end leads to it already; so are those that
    the page's own section on where to read on names.
    """
    known, graph = tracks.articles(book, language), leads(book, language)
    order = list(known)
    following = order[order.index(page.article) + 1 :][:1]
    named = further(page)
    closest = {name for name, direct in reduced(needs(book, language)).items() if page.article in direct}
    wanted = [
        name
        for name in graph[page.article]
        if name in closest and name not in following and known[name].page.path not in named
    ]
    wanted.sort(key=lambda name: -len(closure(graph, name)))  # stable: reading order among equals
    return [known[name] for name in order if name in wanted[:MOST]]


def further(page: Page) -> set[object]:
    """The pages that its section on where to read on links to."""
    found: set[object] = set()
    inside = False
    for i, line in enumerate(page.lines):
        if i not in page.fenced and (heading := HEADING.match(line.text)):
            inside = heading["anchor"] == FURTHER
        elif inside:
            found |= set(tracks.targets(line.text, page))
    return found


# -- as Markdown -----------------------------------------------------------------------------------------------------


def markdown(book: Book, language: str, page: Page) -> list[str]:
    """Every article by track, as a list with links as from `page`."""
    before, after = needs(book, language), leads(book, language)
    known = tracks.articles(book, language)
    words, lines = WORDS[language], list[str]()

    def links(names: tuple[str, ...]) -> str:
        return words["comma"].join(f"[{known[one].title}]({tracks.address(known[one].page, page)})" for one in names)

    for track in tracks.read(book, language):
        at = tracks.address(track.page, page)
        lines += ["", f"### [{track.title}]({at}) {{ #{track.page.path.parent.name} }}", ""]
        for entry in track.entries:
            name = entry.page.article
            lines += [
                f"- {box(name, entry.title, language)}{links((name,))} {tracks.time(entry.minutes, language)}",
                "",
            ]
            needed = words["needs"].format(links(before[name])) if before[name] else words["nothing"]
            lines += [f"    {needed}", "    { .wb-ways }", ""]
            if after[name]:
                lines += [f"    {words['leads'].format(links(after[name]))}", "    { .wb-ways }", ""]
    if not lines:
        raise BookError(f"{page.name}: the navigation has no tracks to list")
    return lines


def box(name: str, title: str, language: str, beside: str = "") -> str:
    """Where theme/assets/site.js puts a box for a reader who has read the article; `beside` is what is said there."""
    said = html.escape(WORDS[language]["read"].format(title))
    return f'<span class="wb-done" data-read="{name}" title="{said}">{beside}</span>'
