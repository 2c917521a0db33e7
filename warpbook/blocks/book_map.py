"""`{{ map }}`: the articles as a graph, each a link; an arrow leads from what is needed to what needs it.

What is needed through another article anyway has no arrow of its own. theme/assets/map.js marks what an article needs
and leads to, what has been read, and what can be read next; without it the map is a drawing with links.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from itertools import count

from warpbook.blocks.charts import layout
from warpbook.blocks.charts.graph import arrow
from warpbook.blocks.charts.layout import Layout, Shape
from warpbook.blocks.charts.svg import units
from warpbook.book import Book, BookError
from warpbook.markup import attribute
from warpbook.source import goals, prerequisites, reading, tracks
from warpbook.source.pages import EXPRESSION, Page

WORDS = {
    "en": {
        "label": "The articles of the book, with arrows from what is needed to what needs it",
        "same": "The list below says the same: each article with what it needs and what it leads to.",
        "named": "{title}, {time}",
        "hint": "Point at an article, or go to it with Tab: what it needs and what it leads to is marked.",
        "goals": "You will be able to",
        "next": "You can read next",
        "all": "You have read every article.",
        "caption": "An arrow leads from an article to one that needs it. "
        "Colours are the tracks. Of a chosen article, full arrows lead from what it needs, "
        "dashed ones to what needs it.",
    },
    "zh": {
        "label": "全书文章；箭头从需要先读的文章指向用到它的文章",
        "same": "下面的列表内容相同：每篇文章要先读什么、之后可读什么。",
        "named": "{title}，{time}",
        "hint": "把光标移到一篇文章上，或用 Tab 键选中它：需要先读的和之后可读的都会标出来。",
        "goals": "读完这一篇，你能够",
        "next": "接下来可以读",
        "all": "所有文章你都读过了。",
        "caption": "箭头从一篇文章指向需要它的文章；颜色表示所属部分。"
        "选中一篇文章后，实线来自需要先读的，虚线通往之后可读的。",
    },
}
COLOURS = 6  # classes wb-s0 … wb-s5
WIDE, HIGH = 112.0, 46.0  # units: of a box
MOST_BOXES = 7  # in a row
LETTER = 11.5 / 12.5  # of a name, beside those whose widths `units` knows
LINE = 13.5
MOST_LINES = 3
SWATCH = '<svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2"/></svg>'
MARGIN = 4
OPTIONS = {"rankdir": "TB", "nodesep": "0.13", "ranksep": "0.42", "mclimit": "8"}
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|\[\^[^\]]*\]")
MARK = re.compile(r"[`*$]|\\(?:mathsf|sqrt)?")


def drawing(book: Book, language: str, root: str) -> str:
    """HTML: the map; `root` leads to the language's home."""
    known = tracks.articles(book, language)
    if not known:
        raise BookError("no map: the navigation has no articles")
    before = prerequisites.needs(book, language)
    if ring := prerequisites.circle(before):
        raise BookError(f"no map: {' needs '.join([*ring, ring[0]])}")
    words = WORDS[language]
    placed = place(prerequisites.reduced(before))
    left, top, right, bottom = placed.bounds()
    width, height = math.ceil(right - left + 2 * MARGIN), math.ceil(bottom - top + 2 * MARGIN)
    shift = f'<g transform="translate({MARGIN - left:.1f} {MARGIN - top:.1f})">'
    drawn = edges(placed) + nodes(book, language, root, before, placed)
    said = {f"data-{key}": words[key] for key in ("hint", "goals", "all")}
    about = "".join(attribute(key, value) for key, value in said.items())
    return (
        f'<figure class="wb-chart wb-map"{about}>{legend(book, language, root)}'
        f'<div class="wb-map__chosen" hidden></div>'
        f'<div class="wb-map__next" hidden><p>{words["next"]}</p><ul></ul></div>'
        f'<div class="wb-sheet"><svg role="group"{attribute("aria-label", words["label"])} '
        f'viewBox="0 0 {width} {height}" style="--wb-wide: {width / 20:.2f}rem">'
        f"<desc>{words['same']}</desc>{shift}{drawn}</g></svg></div>"
        f"<figcaption>{words['caption']}</figcaption></figure>"
    )


def place(graph: prerequisites.Graph) -> Layout:
    """Boxes in ranks, each below all that it needs."""
    shapes = {name: Shape(HIGH / 2, (WIDE - HIGH) / 2) for name in graph}
    pairs = [(before, name) for name, direct in graph.items() for before in direct]
    rank = ranks(graph)
    spans = {(a, b): rank[b] - rank[a] for a, b in pairs}
    return layout.place("layered", shapes, pairs, [], {}, {}, OPTIONS, spans=spans)


def ranks(graph: prerequisites.Graph) -> dict[str, int]:
    """Each article's row: one below the last that it needs. Where a row is full, articles that lead to no other go to
    the first row below that has room."""
    rank: dict[str, int] = {}

    def below(name: str) -> int:
        if name not in rank:
            rank[name] = 1 + max((below(one) for one in graph[name]), default=-1)
        return rank[name]

    for name in graph:
        below(name)
    needed = {one for direct in graph.values() for one in direct}
    filled_rows = Counter(rank.values())
    for name in reversed(graph):
        if name not in needed and filled_rows[rank[name]] > MOST_BOXES:
            filled_rows[rank[name]] -= 1
            rank[name] = next(row for row in count(rank[name] + 1) if filled_rows[row] < MOST_BOXES)
            filled_rows[rank[name]] += 1
    return rank


def edges(placed: Layout) -> str:
    return "".join(
        f'<g class="wb-edge wb-edge--thin" data-from="{a}" data-to="{b}">{arrow(route, large=False)}</g>'
        for (a, b), route in placed.routes.items()
    )


def nodes(book: Book, language: str, root: str, before: prerequisites.Graph, placed: Layout) -> str:
    out = []
    for number, track in enumerate(tracks.read(book, language)):
        for entry in track.entries:
            name, shape = entry.page.article, placed.shapes[entry.page.article]
            named = WORDS[language]["named"].format(title=entry.title, time=reading.shown(entry.minutes, language))
            about = {
                "href": url(entry.page, language, root),
                "data-article": name,
                "data-title": entry.title,
                "data-needs": " ".join(before[name]),
                "aria-label": named,
            }
            said = html.escape(told(named, entry.page, language))
            out.append(
                f'<a class="wb-map__node wb-s{number % COLOURS}"{"".join(attribute(*one) for one in about.items())}>'
                f"<title>{said}</title>{box(shape)}{lettered(shape, entry.title)}</a>"
            )
    return "".join(out)


def box(shape: Shape) -> str:
    x, y = shape.x - shape.wide, shape.y - shape.radius
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{2 * shape.wide:.0f}" height="{2 * shape.radius:.0f}" rx="4"/>'
        f'<path class="wb-map__read" d="M{x + 2 * shape.wide - 14:.1f} {y + 7:.1f}l3 3.5 6-7"/>'
    )


def lettered(shape: Shape, title: str) -> str:
    """A title in lines, which read one after another are the title."""
    lines, rest, out = wrapped(title), title, ""
    first = shape.y - LINE * (len(lines) - 1) / 2 + 4
    for i, line in enumerate(lines):
        rest = rest.removeprefix(line)
        blank = " " if rest.startswith(" ") else ""
        out += f'<tspan x="{shape.x:.1f}" y="{first + LINE * i:.1f}">{html.escape(line)}{blank}</tspan>'
        rest = rest.lstrip()
    return f'<text text-anchor="middle">{out}</text>'


def wrapped(title: str) -> list[str]:
    """A title in at most three lines, cut after its colon if that is enough, else between words or Han characters."""
    parts = re.split(r"(?<=：)|(?<=: )", title)
    lines = [line for part in parts for line in balanced(part)]
    return lines if len(lines) <= MOST_LINES and len(balanced(title)) > 1 else balanced(title)[:MOST_LINES]


def balanced(text: str) -> list[str]:
    """As few lines as the room allows, about equally long."""
    pieces = re.findall(r"[\u4e00-\u9fff][，：、）》]*|[（《]?[^\s\u4e00-\u9fff]+\s*|\s+", text)
    room = WIDE - 8
    lines = filled(pieces, room)
    most = LETTER * units(text) / len(lines)
    while most < room and len(found := filled(pieces, most)) > len(lines):
        most += 4
    return found if most < room else lines


def filled(pieces: list[str], most: float) -> list[str]:
    lines = [""]
    for piece in pieces:
        if lines[-1] and LETTER * units((lines[-1] + piece).strip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def told(named: str, page: Page, language: str) -> str:
    """What a pointer at rest shows, and the script in its own way: name, time, and a line for each goal."""
    return "\n".join([named, *(f"– {plain(goal)}" for goal in goals.read(page, language).get("goals", []))])


def plain(text: str) -> str:
    """A goal without marks of Markdown."""
    text = LINK.sub(lambda match: match[1] or "", text)
    return MARK.sub("", EXPRESSION.sub("…", text)).strip()


def legend(book: Book, language: str, root: str) -> str:
    items = "".join(
        f'<li class="wb-s{number % COLOURS}">{SWATCH}'
        f'<a href="{url(track.page, language, root)}">{html.escape(track.title)}</a></li>'
        for number, track in enumerate(tracks.read(book, language))
    )
    return f'<ul class="wb-legend">{items}</ul>'


def url(target: Page, language: str, root: str) -> str:
    """The address of a page."""
    name = target.path.relative_to(target.book.docs / language).with_suffix("").as_posix()
    return f"{root}{name.removesuffix('index').rstrip('/')}/"
