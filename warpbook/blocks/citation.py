"""The end of a page: what changed on it and when (docs/changes.toml), and how to cite it. Folded."""

from __future__ import annotations

import html
import re
from datetime import date

from warpbook.book import BOOKS, Book
from warpbook.source import changes
from warpbook.source.pages import Page

AUTHORS = "The Warpbook authors"  # as in LICENSE
WORDS = {
    "en": {
        "summary": "History, and how to cite this page",
        "history": "Changes",
        "cite": "To cite",
        "line": '{authors}. “{title}.” <i>{book}</i>, version of <span class="wb-together">{date}</span>. {url}',
        "home": '{authors}. <i>{book}</i>, version of <span class="wb-together">{date}</span>. {url}',
        "note": "Version of {date}",
        "licence": "Text and figures are under CC BY 4.0, code under the MIT License.",
    },
    "zh": {
        "summary": "更新记录与引用方式",
        "history": "更新记录",
        "cite": "引用本页",
        "line": "{authors}. {book}：{title}[EB/OL]. ({date}). {url}",  # GB/T 7714
        "home": "{authors}. {book}[EB/OL]. ({date}). {url}",
        "note": "{date} 版",
        "licence": "文字与插图采用 CC BY 4.0 许可，代码采用 MIT 许可。",
    },
}


def version(book: Book, name: str) -> date | None:
    """The day of the last change of the page; of the book, where no change of the page is recorded."""
    found = changes.of(book, name) or changes.read(book)
    return found[0].date if found else None


def fold(page: Page, language: str, url: str) -> str:
    """HTML for the end of `page`, which is published at `url`; empty for pages that only lead to others, and without
    any recorded change."""
    book, words = page.book, WORDS[language]
    name = page.path.relative_to(book.docs / language).with_suffix("").as_posix()
    day = version(book, name)
    if day is None or (page.path.name == "index.md" and name != "index"):
        return ""
    title = BOOKS[language] if name == "index" else page.title
    entries = changes.of(book, name)
    items = "".join(
        f'<li><time datetime="{one.date}">{one.date}</time> {html.escape(one.says[language])}</li>' for one in entries
    )
    history = f"<p><strong>{words['history']}</strong></p><ul>{items}</ul>" if entries else ""
    about = {"authors": AUTHORS, "book": BOOKS[language], "date": str(day)}
    cited = words["home" if name == "index" else "line"].format(title=html.escape(title), url=html.escape(url), **about)
    entry = bibtex(page.article if name != "index" else "", title, language, day, url)
    return (
        f'<details class="wb-cite" data-search-exclude><summary>{words["summary"]}</summary>{history}'
        f'<p><strong>{words["cite"]}</strong></p><p class="wb-cite__text">{cited}</p>'
        f'<div class="highlight"><pre tabindex="0"><code>{html.escape(entry)}</code></pre></div>'
        f"<p>{words['licence']}</p></details>"
    )


def bibtex(article: str, title: str, language: str, day: date, url: str) -> str:
    """An entry that BibTeX and Biber read."""
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": escaped(title),
        "howpublished": BOOKS[language],
        "year": str(day.year),
        "note": WORDS[language]["note"].format(date=day),
        "url": url,
    }
    key = "-".join(filter(None, ["warpbook", article, "" if language == "en" else language]))
    return "".join([f"@misc{{{key},\n", *(f"  {name} = {{{text}}},\n" for name, text in fields.items()), "}\n"])


def escaped(text: str) -> str:
    return re.sub(r"([&%#_$])", r"\\\1", text)
