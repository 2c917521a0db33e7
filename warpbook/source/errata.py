"""`{{ errata }}`: what the older tutorials say and what is so, collected from the articles that say it.

An article corrects an error where its subject comes up, in a block of its own:

    !!! older "Older tutorials say: a block has at most 512 threads"
        It is 1024, since compute capability 2.0.[^limits]

The errata page shows these blocks again, article by article in reading order, with their sources, each with the way to
the section that it comes from.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from warpbook.book import Book, BookError
from warpbook.source.pages import EXPRESSION, Page

OPENING = re.compile(r'^(?P<indent> *)(?:!!!|\?\?\?\+?) older "(?P<title>.*)"\s*$')
HEADING = re.compile(r"^#{2,4} (?P<text>.+?)(?:\s*\{[^}]*#(?P<anchor>[\w-]+)[^}]*\})?\s*$")
DEFINITION = re.compile(r"^\[\^(?P<id>[^\]]+)\]:")
REFERENCE = re.compile(r"\[\^([^\]\s]+)\]")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


@dataclass(frozen=True)
class Correction:
    """One block of a page: its title, its body, and the heading that it stands under."""

    title: str
    body: list[str]
    heading: str
    anchor: str
    number: int  # the page's line


def of_page(page: Page) -> list[Correction]:
    """The page's corrections, in its order."""
    found: list[Correction] = []
    heading, anchor = page.title, ""
    i = 0
    while i < len(page.lines):
        text = page.lines[i].text
        if i not in page.fenced and (match := HEADING.match(text)):
            heading, anchor = match["text"], match["anchor"] or ""
        opening = None if i in page.fenced else OPENING.match(text)
        i += 1
        if not opening:
            continue
        body, indent, number = [], opening["indent"] + "    ", page.lines[i - 1].page_number
        while i < len(page.lines) and (not page.lines[i].text.strip() or page.lines[i].text.startswith(indent)):
            if i in page.fenced:
                raise BookError(
                    f"{page.name}:{number}: a correction has no code blocks; it is shown on the errata page too"
                )
            body.append(page.lines[i].text.removeprefix(indent))
            i += 1
        while body and not body[-1].strip():
            body.pop()
        if not body:
            raise BookError(f"{page.name}:{number}: this correction says what is wrong, and not what is so")
        found.append(Correction(opening["title"], body, heading, anchor, number))
    return found


def markdown(book: Book, language: str, page: Page, value: Callable[[Page, str, str], str]) -> list[str]:
    """All corrections as Markdown for `page`. `value(of, where, text)` shows what stands in {{ … }} on a page."""
    lines: list[str] = []
    notes: list[str] = []  # together at the end, where they get their heading
    for path in book.in_reading_order(language):
        article = Page(book, path)
        found = [] if path == page.path else of_page(article)
        if not found:
            continue
        address = posixpath.relpath(path.as_posix(), page.path.parent.as_posix())
        lines += ["", f"## {article.title} {{ #{article.article} }}", ""]
        for one in found:
            at = f"{address}#{one.anchor}" if one.anchor else address
            lines += [f'!!! older "{one.title}"']
            for text in one.body:
                shown = EXPRESSION.sub(lambda m: value(article, f"{article.name}:{one.number}", m[1]), text)  # noqa: B023
                lines.append("    " + moved(shown, article, address).rstrip())
            lines += ["", f"    → [{one.heading}]({at})", ""]
        notes += sources(article, address, found)
    if not lines:
        raise BookError("no page has a correction")
    return lines + notes


def moved(text: str, article: Page, address: str) -> str:
    """Footnotes and links of an article, as another page writes them."""
    text = REFERENCE.sub(rf"[^{article.article}-\1]", text).replace('"#fn:', f'"#fn:{article.article}-')

    def there(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(address), match[1])) if match[1] else address
        return f"]({target}{match[2] or ''})"

    return LINK.sub(there, text)


def sources(article: Page, address: str, found: list[Correction]) -> list[str]:
    """The definitions of the footnotes that the corrections name."""
    wanted = [name for one in found for text in one.body for name in REFERENCE.findall(text)]
    definitions: dict[str, list[str]] = {name: [] for name in wanted}
    taken: list[str] = []
    for line in article.lines:
        match = DEFINITION.match(line.text)
        if match:
            taken = definitions.get(match["id"], [])
        elif line.text.strip() and not line.text.startswith("    "):
            taken = []
        taken.append(moved(line.text, article, address))
    return ["", *(text for lines in definitions.values() for text in lines), ""]
