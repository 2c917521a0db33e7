"""What can be checked without running anything: pages, the names they use, records and claims."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import markdown

from warpbook import reads
from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError
from warpbook.check import page_links, search_rank
from warpbook.check.kept import Kept
from warpbook.check.page_links import Rendered
from warpbook.exercises import selftests, techniques
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
    origins,
    prerequisites,
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
def problems(book: Book, devices: list[str], kept: Kept | None = None) -> list[str]:
    """One line for each thing wrong, each once: what was found first stands first.

    What `kept` holds is not looked at again.
    """
    out: list[str] = []

    def take(check: Callable[[], list[str]]) -> None:
        try:
            out.extend(check())
        except BookError as error:  # of a file that several checks read
            out.append(str(error))

    def found(check: partial[list[str]]) -> None:
        take(lambda: list(find(kept, check)))

    for language in LANGUAGES:
        found(partial(navigation.problems, book, language))
    for language in LANGUAGES:
        take(partial(page_problems, book, language, kept))
    found(partial(allowed_html.source_problems, book))
    found(partial(terms.problems, book))
    found(partial(unlisted_changes, book))
    found(partial(origins.problems, book))
    found(partial(techniques.problems, book))
    found(partial(selftests.problems, book))
    found(partial(goal_problems, book))
    found(partial(prerequisites.problems, book))
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


def find(kept: Kept | None, make: partial[Any], is_kept: Callable[[Any], bool] = operator.not_) -> Any:
    """What a check finds, or has found before where `kept` knows it: by itself only that nothing is wrong."""
    words = (str(one) for one in make.args if not isinstance(one, Book))
    what = " ".join([f"{make.func.__module__}.{make.func.__name__}", *words])
    return kept.find(what, make, is_kept) if kept else make()


def goal_problems(book: Book) -> list[str]:
    return [said for name in tracks.articles(book, "en") for said in goals.problems(pair_of_pages(book, name))]


def page_problems(book: Book, language: str, kept: Kept | None = None) -> list[str]:
    """What is wrong with the pages of a language as they are read and rendered, and with what is searched in them."""
    described, out = dict[str, str](), list[str]()
    rendered: list[Rendered] = []
    documents: list[dict[str, Any]] = []
    wrong: list[str] = []  # with what is searched

    def in_order(found: dict[str, Any]) -> bool:
        return not found["problems"] and "unsearched" not in found

    def take(path: Path, found: dict[str, Any]) -> None:
        links = tuple((number, link) for number, link in found["links"])
        rendered.append(Rendered(path, found["source"], links, frozenset(found["anchors"])))
        documents.extend(found.get("documents", []))
        wrong.extend(found.get("unsearched", []))

    for path in book.pages(language):
        name = book.relative(path)
        found = find(kept, partial(page_found, book, language, name), in_order)
        out += found["problems"]
        if "links" in found:
            out += description_faults(name, found["description"], language, described)
            take(path, found)
    for program in (path for article in book.articles() for path in book.programs(article)):
        name = book.relative(program)
        shown = find(kept, partial(describe.lab, book, name, language), bool)
        out += description_faults(name, shown, language, described)
    complete = len(rendered) == len(book.pages(language))  # else pages are missing from the results of a search
    if language == LANGUAGES[0]:
        for path in book.developers():
            take(path, find(kept, partial(developers_found, book, book.relative(path)), in_order))
    out += page_links.broken(book, language, rendered)
    if complete and search_rank.queries(book, language):
        if wrong:
            raise BookError(wrong[0])
        searched = partial(search_rank.problems, book, language, documents)
        out += kept.find(f"search {language} {reads.digest(json.dumps(documents))}", searched) if kept else searched()
    return out


def page_found(book: Book, language: str, name: str) -> dict[str, Any]:
    """What is wrong with a page by itself, and what is wanted of it to hold it against the others."""
    page = Page(book, book.root / name)
    problems: list[str] = []
    found: dict[str, Any] = {"problems": problems}
    try:
        is_article = page.article in tracks.articles(book, language)
    except BookError:
        is_article = False  # the navigation's problem
    try:
        problems += unread(page)
        parsed = parse(page, language, Values(book))
        problems += parsed.problems
        if is_article:
            problems += sourceless(page, parsed.html)
        problems += undefined_notes(page)
        found["description"] = describe.page(page, language, plain.markdown(parsed))
        lines = [(line.number, line.text) for line in page.prose if line.file == page.name]
    except BookError as error:
        problems.append(str(error))
        return found
    source = page.path.relative_to(book.docs / language).as_posix()
    return found | linked(book, language, source, lines, parsed.html, parsed.searched)


def developers_found(book: Book, name: str) -> dict[str, Any]:
    """As `page_found`, of a contributors' page, which is ordinary Markdown."""
    page = Page(book, book.root / name)
    text = "\n".join(page.source.splitlines()[page.first :])
    html = markdown.Markdown(extensions=["warpbook.pipeline.extension"]).convert(text)
    lines = [(line.number, line.text) for line in page.prose]
    source = page.path.relative_to(book.docs).as_posix()
    return {"problems": []} | linked(book, LANGUAGES[0], source, lines, html, html)


def linked(
    book: Book, language: str, source: str, lines: list[tuple[int, str]], html: str, searched: str
) -> dict[str, Any]:
    """Of a page: its links, its anchors, what is searched of it."""
    found: dict[str, Any] = {
        "source": source,
        "links": list(page_links.links_of(lines)),
        "anchors": page_links.anchors_of(html),
    }
    try:
        if search_rank.queries(book, language):
            found["documents"] = search_rank.documents_of(book, language, source, searched)
    except BookError as error:  # of docs/*.toml: it is said once, when all pages are there
        found["unsearched"] = [str(error)]
    return found


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
def waiting(book: Book, devices: list[str], kept: Kept | None = None) -> list[str]:
    """One line for each article of which a GPU has not run everything: no problem, and no reason to hold back."""
    found = []
    for device, article in ((device, article) for device in devices for article in book.articles()):
        try:
            if parts := find(kept, partial(records.pending, book, device, article), always):
                found.append((device, article, parts))
        except BookError:  # of a page or a record that cannot be read: `problems` names it
            continue
    return [
        f"pending: {device} has not measured {', '.join(parts)} of {article} yet; pages say so, and you may commit; "
        f"{records.remedy(device, article)}"
        for device, article, parts in found
    ]


def always(found: Any) -> bool:
    """Of what is no verdict: it is kept whatever it is."""
    return True


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
