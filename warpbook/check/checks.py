"""What can be checked without running anything: pages, the names they use, records and claims."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import markdown

from warpbook import reads
from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError
from warpbook.check import page_links, search_rank
from warpbook.check.page_links import Rendered
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records import claims, lines, records, sass
from warpbook.records.schema import nearest
from warpbook.records.values import Values
from warpbook.run.hashes import normal_kernel, normal_python
from warpbook.source import (
    allowed_html,
    changes,
    comments,
    describe,
    goals,
    navigation,
    prose,
    terms,
    tracks,
    translation,
)
from warpbook.source.pages import Block, Page, pair_of_pages

CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\{\{.*?\}\}")
NOTE = re.compile(r"^[ ]{0,3}\[\^([^\]]+)\]:")
REFERENCE = re.compile(r"\[\^([^\]\s]+)\](?!:)")


@reads.settled()
def problems(book: Book, devices: list[str]) -> list[str]:
    """One line for each thing wrong, each once: what was found first stands first."""
    out: list[str] = []

    def found(check: Callable[[], list[str]]) -> None:
        try:
            out.extend(check())
        except BookError as error:  # of a file that several checks read
            out.append(str(error))

    for language in LANGUAGES:
        found(partial(navigation.problems, book, language))
    for language in LANGUAGES:
        found(partial(page_problems, book, language))
    found(partial(allowed_html.source_problems, book))
    found(partial(terms.problems, book))
    found(partial(unlisted_changes, book))
    found(lambda: [said for name in tracks.articles(book, "en") for said in goals.problems(pair_of_pages(book, name))])
    for path in book.pages("zh"):
        found(partial(translation.problems, book, path))
    for article in book.articles():
        found(partial(parted, book, article))
        found(partial(unnamed, book, article))
        found(partial(comments.problems, book, article))
        found(partial(lines.stale, book, article))
        found(partial(sass.stale, book, article))
        for device in devices:
            if device == SOFTCUDA:
                found(partial(records.stale, book, device, article))
        found(partial(claims.broken, book, PRIMARY, article))
    return list(dict.fromkeys(out))


def page_problems(book: Book, language: str) -> list[str]:
    """What is wrong with the pages of a language as they are read and rendered, and with what is searched in them."""
    values, described, out = Values(book), dict[str, str](), list[str]()
    rendered: list[Rendered] = []
    try:
        articles = set(tracks.articles(book, language))
    except BookError:
        articles = set()  # the navigation's problem
    for path in book.pages(language):
        page = Page(book, path)
        try:
            out += unread(page)
            parsed = parse(page, language, values)
            out += parsed.problems
            if page.article in articles:
                out += sourceless(page, parsed.html)
            out += undefined_notes(page)
            shown = describe.page(page, language, plain.markdown(parsed))
            out += description_faults(page.name, shown, language, described)
            numbered = tuple((line.number, line.text) for line in page.prose if line.file == page.name)
        except BookError as error:
            out.append(str(error))
            continue
        source = path.relative_to(book.docs / language).as_posix()
        rendered.append(Rendered(path, source, numbered, parsed.html, parsed.searched))
    for program in (path for article in book.articles() for path in book.programs(article)):
        name = book.relative(program)
        out += description_faults(name, describe.lab(book, name, language), language, described)
    complete = len(rendered) == len(book.pages(language))  # else pages are missing from the results of a search
    if language == LANGUAGES[0]:
        rendered += [developers_page(book, path) for path in book.developers()]
    out += page_links.broken(book, language, rendered)
    if complete and search_rank.queries(book, language):
        out += search_rank.problems(book, language, rendered)
    return out


def developers_page(book: Book, path: Path) -> Rendered:
    """A contributors' page, which is ordinary Markdown."""
    page = Page(book, path)
    text = "\n".join(page.source.splitlines()[page.first :])
    html = markdown.Markdown(extensions=["warpbook.pipeline.extension"]).convert(text)
    numbered = tuple((line.number, line.text) for line in page.prose)
    return Rendered(path, path.relative_to(book.docs).as_posix(), numbered, html, html)


def sourceless(page: Page, html: str) -> list[str]:
    """An article names its sources, which stand together under a heading of their own."""
    if 'id="sources"' in html:
        return []
    return [
        f"{page.name}: names no source; refer to one, [^name], and add it at the end: [^name]: Author, title, year."
    ]


def undefined_notes(page: Page) -> list[str]:
    """One line for each reference to a footnote that the page does not have."""
    known = {match[1] for line in page.lines if (match := NOTE.match(line.text))}
    return [
        f"{page.name}:{line.page_number}: there is no footnote [^{name}]{nearest(name, known)}"
        for line in page.prose
        for name in REFERENCE.findall(CODE.sub("", line.text))
        if name not in known
    ]


def description_faults(name: str, description: str, language: str, known: dict[str, str]) -> list[str]:
    """What is wrong with the description of a page or program; `known`: those before, with whose they are."""
    where = "its docstring" if name.endswith(".py") else "description in its front matter"
    if fault := describe.fault(description, language):
        return [f'{name}: {fault}; {where}: "{description}"']
    if (other := known.setdefault(description, name)) != name:
        return [f"{name}: is described in the same words as {other}; change {where}"]
    return []


def unlisted_changes(book: Book) -> list[str]:
    """One line for each page that docs/changes.toml has no entry of; none where there is no such file."""
    if not reads.exists(book.docs / changes.FILE):
        return []
    listed = {page for change in changes.read(book) for page in change.pages}
    pages = (path.relative_to(book.docs / "en").with_suffix("").as_posix() for path in book.pages("en"))
    return [f"{page}: add an entry to docs/{changes.FILE}" for page in pages if page not in listed]


@reads.settled()
def waiting(book: Book, devices: list[str]) -> list[str]:
    """One line for each article of which a GPU has not run everything: no problem, and no reason to hold back."""
    found = []
    for device, article in ((device, article) for device in devices for article in book.articles()):
        try:
            if parts := records.pending(book, device, article):
                found.append((device, article, parts))
        except BookError:  # of a page or a record that cannot be read: `problems` names it
            continue
    return [
        f"pending: {device} has not measured {', '.join(parts)} of {article} yet; pages say so, and you may commit; "
        f"{records.remedy(device, article)}"
        for device, article, parts in found
    ]


def unread(page: Page) -> list[str]:
    """One line for front matter that is no YAML: MkDocs would read it in another way, and say nothing."""
    try:
        page.front_matter  # noqa: B018
    except BookError as error:
        return [str(error)]
    return []


def same(a: Block, b: Block) -> bool:
    """The same block; comments may be in the page's language."""
    if a.language != b.language:
        return False
    if a.is_python:
        try:
            return normal_python(a.code) == normal_python(b.code)
        except SyntaxError:
            return a.code == b.code
    if a.language in ("cuda", "cpp", "c"):
        return normal_kernel(a.code) == normal_kernel(b.code)
    return a.language in ("text", "console") or a.code == b.code


def parted(book: Book, article: str) -> list[str]:
    """One line saying where an article's two pages stop showing the same blocks."""
    english, chinese = (book.page_of(article, language) for language in ("en", "zh"))
    if not english and not chinese:
        return []
    if not english or not chinese:
        there, languages = (english, ("en", "zh")) if english else (chinese, ("zh", "en"))
        assert there is not None
        name = book.relative(there)
        return [
            f"{name}: there is no {name.replace('/'.join(('docs', languages[0])), '/'.join(('docs', languages[1])))}"
        ]
    one, two = Page(book, english).blocks, Page(book, chinese).blocks
    for a, b in zip(one, two, strict=False):
        if not same(a, b):
            return [f"{a.where} and {b.where}: the two languages show different blocks from here on"]
    if len(one) != len(two):
        more = (one if len(one) > len(two) else two)[min(len(one), len(two))]
        return [f"{more.where}: the other language does not show this block"]
    return []


def unnamed(book: Book, article: str) -> list[str]:
    """One line for each name, mark and directive that only one of an article's two pages uses."""
    paths = [path for path in (book.page_of(article, language) for language in LANGUAGES) if path]
    if len(paths) < 2:
        return []
    pages = [Page(book, path) for path in paths]
    one, two = (prose.names(page) for page in pages)
    return [
        f"{place}: the other language's page, {other.name}, does not have {{{{ {written} }}}}"
        for mine, theirs, other in ((one, two, pages[1]), (two, one, pages[0]))
        for key, (place, written) in mine.items()
        if key not in theirs
    ]
