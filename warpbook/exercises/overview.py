"""`{{ exercises }}`: every exercise in a table, by article, as Markdown.

theme/assets/exercises.js fills the last column: what is done is known to the reader's browser alone.
"""

from __future__ import annotations

import html
import os

from warpbook.book import Book
from warpbook.exercises import exercises
from warpbook.source import tracks
from warpbook.source.pages import Page

HEADS = {
    "en": ("Article", "Exercise", "Difficulty", "Minutes", "Done"),
    "zh": ("文章", "练习", "难度", "分钟", "完成"),
}
WORDS = {
    "en": {"difficulty": "{} of 3", "mark": "{}: mark as done"},
    "zh": {"difficulty": "{}/3", "mark": "{}：标记为已完成"},
}


def markdown(book: Book, language: str, page: Page) -> str:
    """The table, with links as from `page`; without rows where there is no exercise."""
    words = WORDS[language]
    rows = [HEADS[language], ("---", "---", "---", "--:", "---")]
    for one in exercises.all(book):
        target = book.page_of(one.article, language)
        address = os.path.relpath(target, page.path.parent) if target else ""
        title, mark = one.title[language], html.escape(words["mark"].format(one.title[language]))
        rows.append(
            (
                f"[{name_of(book, one.article, language)}]({address})" if target else one.article,
                f"[{title}]({address}#try-{one.short})" if target else title,
                words["difficulty"].format(one.difficulty),
                str(one.minutes),
                f'<span class="wb-done" data-done="{one.name}" title="{mark}"></span>',
            )
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(['<div class="wb-exercises" markdown>', "", *lines, "", "</div>"])


def minutes(book: Book) -> dict[str, int]:
    """The minutes of all exercises of each article that has some."""
    out: dict[str, int] = {}
    for one in exercises.all(book):
        out[one.article] = out.get(one.article, 0) + one.minutes
    return out


def name_of(book: Book, article: str, language: str) -> str:
    """The article's title in the navigation, else its page's heading, else its name."""
    entry = tracks.articles(book, language).get(article)
    if entry:
        return entry.title
    path = book.page_of(article, language)
    return Page(book, path).title if path else article
