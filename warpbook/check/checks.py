"""What can be checked without running anything: pages, the names they use, records and claims."""

from __future__ import annotations

from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError
from warpbook.pipeline.extension import parse
from warpbook.records import claims, lines, records
from warpbook.records.values import Values
from warpbook.run.hashes import normal_kernel, normal_python
from warpbook.source import allowed_html, goals, prose, tracks, translation
from warpbook.source.pages import Block, Page, pair_of_pages


def problems(book: Book, devices: list[str]) -> list[str]:
    """One line for each thing wrong."""
    out: list[str] = []
    for language in LANGUAGES:
        values = Values(book)
        for path in book.pages(language):
            try:
                page = Page(book, path)
                out += unread(page) + parse(page, language, values).problems
            except BookError as error:
                out.append(str(error))
    if out := out + allowed_html.source_problems(book):
        return out
    for article in tracks.articles(book, "en"):
        out += goals.problems(pair_of_pages(book, article))
    for path in book.pages("zh"):
        out += translation.problems(book, path)
    for article in book.articles():
        out += parted(book, article) + unnamed(book, article)
        out += lines.stale(book, article)
        for device in devices:
            if device == SOFTCUDA:
                out += records.stale(book, device, article)
        out += claims.broken(book, PRIMARY, article)
    return list(dict.fromkeys(out))


def waiting(book: Book, devices: list[str]) -> list[str]:
    """One line for each article of which a GPU has not run everything: no problem, and no reason to hold back."""
    found = [
        (device, article, parts)
        for device in devices
        for article in book.articles()
        if (parts := records.pending(book, device, article))
    ]
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
