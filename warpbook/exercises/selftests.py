"""`{{ selftest }}` on a track's own page: twenty questions that readers answer, each with the section that teaches it.

docs/selftests/<track>.toml holds them, in the form that docs/developers/directives.md shows. What is made of them here
is Markdown that is whole without any script: a question, its answers in an order of their own, and the solution folded
below. theme/assets/selftest.js makes a form of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.exercises.techniques import sections
from warpbook.records.schema import nearest
from warpbook.source import tracks
from warpbook.source.pages import Page

FOLDER = "selftests"  # under docs/
QUESTIONS = 20
WRONG = (2, 3)  # answers
SAYS = dict.fromkeys(LANGUAGES, toml.TEXT)
WHYS = {f"why_{language}": toml.TEXT for language in LANGUAGES}
FORM = toml.table(
    question=toml.tables(
        article=toml.TEXT,
        section=toml.TEXT,
        right=toml.table(**SAYS),
        wrong=toml.tables(**SAYS, **WHYS),
        **SAYS,
        **WHYS,
    )
)
KEYS = {"article", "section", "right", "wrong", *SAYS, *WHYS}
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
MARKUP = re.compile(r"\{\{|\]\(|\[\^|<[A-Za-z/!]|\n")  # values, links, notes, HTML; and more than one line
WORDS = {
    "en": {
        "title": "Test yourself",
        "about": "{} questions on the articles above. Work each one out before you choose; one answer is right.",
        "answer": "Answer",
        "right": "is right. ",
        "wrong": "is wrong. ",
        "read": "Read: [{section}]({address}) ({page}).",
    },
    "zh": {
        "title": "自测",
        "about": "共 {} 题，题目出自以上各篇。请先推算，再选择；每题只有一个正确答案。",
        "answer": "答案",
        "right": "正确。",
        "wrong": "不对。",
        "read": "阅读：《{page}》[{section}]({address})。",
    },
}


@dataclass(frozen=True)
class Answer:
    """What it says, and why it is right or wrong, by language."""

    says: dict[str, str]
    why: dict[str, str]
    is_right: bool


@dataclass(frozen=True)
class Question:
    """A question, the section that teaches it, and its answers as readers get them."""

    article: str
    section: str
    says: dict[str, str]
    answers: tuple[Answer, ...]

    @property
    def anchor(self) -> str:
        """The same in both languages, and another once the question or an answer changes: readers' answers are kept
        under it."""
        texts = (self.article, self.says["en"], *(one.says["en"] for one in self.answers))
        return f"self-test-{digest(*texts)[:8]}"


def digest(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()


# -- the files ---------------------------------------------------------------------------------------------------------


def path_of(book: Book, track: str) -> Path:
    return book.docs / FOLDER / f"{track}.toml"


def read(book: Book, track: str) -> tuple[Question, ...]:
    """The questions of docs/selftests/<track>.toml, in its order. Raises BookError where one has not its form."""
    path = path_of(book, track)
    name = book.relative(path)
    if not reads.exists(path):
        raise BookError(f"there is no {name}, in which the questions of this track's self-test stand")
    entries = parsed(toml.read_text(path, name), name)
    for fault in form_faults(entries, name):
        raise BookError(fault)
    return tuple(map(question, entries))


@lru_cache(maxsize=16)
def parsed(text: str, name: str) -> tuple[dict[str, Any], ...]:
    data = toml.parse(text, name, FORM)
    if unknown := sorted(data.keys() - {"question"}):
        raise BookError(f"{name} has {unknown[0]}; it holds [[question]] tables")
    return tuple(data.get("question", []))


def question(entry: dict[str, Any]) -> Question:
    """A question from an entry that has its form."""
    answers = [answer(entry["right"], entry, is_right=True)]
    answers += [answer(one, one, is_right=False) for one in entry["wrong"]]
    # A digest is no order that anybody chose, and remains as it is when another question changes.
    shuffled = sorted(answers, key=lambda one: digest(entry["en"], one.says["en"]))
    says = {language: entry[language] for language in LANGUAGES}
    return Question(entry["article"], entry["section"], says, tuple(shuffled))


def answer(says: dict[str, str], why: dict[str, str], *, is_right: bool) -> Answer:
    by_language = {language: why[f"why_{language}"] for language in LANGUAGES}
    return Answer({language: says[language] for language in LANGUAGES}, by_language, is_right)


# -- what `warpbook check` says ------------------------------------------------------------------------------------


def problems(book: Book) -> list[str]:
    """One line for each mistake in docs/selftests; none where there is no such folder."""
    if not reads.exists(book.docs / FOLDER):
        return []
    known = {folder_of(one): one for one in tracks.read(book, LANGUAGES[0])}
    out: list[str] = []
    for path in reads.listed(book.docs / FOLDER, "*"):
        name = book.relative(path)
        if path.suffix != ".toml" or path.stem not in known:
            out.append(f"{name}: its name is that of no track{nearest(path.stem, set(known))}")
            continue
        try:
            out += faults(book, name, parsed(toml.read_text(path, name), name), known[path.stem])
        except BookError as error:
            out.append(str(error))
    return out


def left(book: Book) -> list[str]:
    """One line for each article without a question in its track's self-test: no mistake, as an article may be new."""
    out: list[str] = []
    if not reads.exists(book.docs / FOLDER):
        return out
    try:
        all_tracks = tracks.read(book, LANGUAGES[0])
    except BookError:  # of the navigation, which `checks.problems` names
        return out
    for track in all_tracks:
        path = book.docs / FOLDER / f"{folder_of(track)}.toml"
        if not reads.is_file(path):
            continue
        name = book.relative(path)
        try:
            asked = {entry.get("article") for entry in parsed(toml.read_text(path, name), name)}
        except BookError:  # `problems` says what is wrong
            continue
        missing = sorted({entry.page.article for entry in track.entries} - asked)
        out += [f"{name}: no question is about {article} yet; put one in the place of another" for article in missing]
    return out


def folder_of(track: tracks.Track) -> str:
    return track.page.path.parent.name


def faults(book: Book, name: str, entries: tuple[dict[str, Any], ...], track: tracks.Track) -> list[str]:
    """One line for each mistake in the questions of a track."""
    out = list(form_faults(entries, name))
    if len(entries) != QUESTIONS:
        out.append(f"{name}: {len(entries)} questions, and a self-test has {QUESTIONS}")
    articles = {entry.page.article for entry in track.entries}
    for i, entry in enumerate(entries, 1):
        if entry.get("article") and entry.get("section"):
            out += place_faults(book, f"{name}: question {i}", entry["article"], entry["section"], articles)
    return out or list(telling(name, [question(entry) for entry in entries]))


def form_faults(entries: tuple[dict[str, Any], ...], name: str) -> Iterator[str]:
    asked: set[str] = set()
    for i, entry in enumerate(entries, 1):
        where = f"{name}: question {i}"
        if unknown := sorted(entry.keys() - KEYS):
            yield f"{where} has {unknown[0]}; known are {', '.join(sorted(KEYS))}"
        for key in ("article", "section"):
            if not entry.get(key):
                yield f"{where} has no {key}"
        right, wrong = entry.get("right", {}), entry.get("wrong", [])
        yield from text_faults(where, entry, (*SAYS, *WHYS))
        yield from text_faults(f"{where}: right", right, SAYS)
        for k, one in enumerate(wrong, 1):
            yield from text_faults(f"{where}: wrong answer {k}", one, (*SAYS, *WHYS))
        if len(wrong) not in WRONG:
            yield f"{where} has {len(wrong)} wrong answers; give it two or three"
        for language in LANGUAGES:
            texts = [one[language] for one in (right, *wrong) if one.get(language)]
            if same := next((text for k, text in enumerate(texts) if text in texts[:k]), ""):
                yield f'{where}: two answers are "{same}"'
        if entry.get("en") in asked:
            yield f"{where} is there twice"
        asked.add(entry.get("en", ""))


def text_faults(where: str, entry: dict[str, str], keys: Any) -> Iterator[str]:
    for key in keys:
        text = entry.get(key, "")
        if not text.strip():
            yield f"{where} has no {key}"
        elif found := MARKUP.search(CODE.sub("", text)):
            what = "several lines" if found[0] == "\n" else f'"{found[0]}"'
            yield f"{where}: {key} has {what}; write words, `code` and *emphasis* on one line, no values and no links"


def place_faults(book: Book, where: str, article: str, section: str, articles: set[str]) -> Iterator[str]:
    """What is wrong with the place where the answer is taught."""
    if article not in articles:
        yield f"{where}: this track has no article {article}{nearest(article, articles)}"
        return
    for language in LANGUAGES:
        path = book.page_of(article, language)
        there = set(sections(Page(book, path))) if path else set()
        if section not in there:
            yield f"{where}: {article} in {language} has no #{section}{nearest(section, there)}"


def telling(name: str, questions: list[Question]) -> Iterator[str]:
    """What gives answers away: in more than half of the questions the longest is right, or the shortest."""
    for language in LANGUAGES:
        for longest, word in ((True, "longest"), (False, "shortest")):
            found = sum(stands_out(one, language, longest=longest) for one in questions)
            if found > len(questions) / 2:
                yield (
                    f"{name}: in {language} the right answer is the {word} in {found} of {len(questions)} questions, "
                    "so it can be guessed; reword some"
                )


def stands_out(one: Question, language: str, *, longest: bool) -> bool:
    """Whether the right answer, and no other, is the longest or the shortest."""
    right = next(len(each.says[language]) for each in one.answers if each.is_right)
    others = [len(each.says[language]) for each in one.answers if not each.is_right]
    return right > max(others) if longest else right < min(others)


# -- the page ------------------------------------------------------------------------------------------------------


def markdown(book: Book, language: str, page: Page) -> list[str]:
    """The self-test as Markdown, for the track's own page. Raises BookError."""
    track = next((one for one in tracks.read(book, language) if one.page.path == page.path), None)
    if track is None:
        raise BookError(f"{page.name}: no track of the navigation begins with this page")
    words, questions = WORDS[language], read(book, folder_of(track))
    lines = [f"## {words['title']} {{ #self-test }}", "", words["about"].format(len(questions)), ""]
    lines += ['<div class="wb-selftest" data-search-exclude markdown>', ""]
    for i, one in enumerate(questions, 1):
        lines += shown(book, one, i, language, page, track)
    return [*lines, "</div>"]


def shown(book: Book, one: Question, number: int, language: str, page: Page, track: tracks.Track) -> list[str]:
    """A question with its answers, and the solution folded: the right answer first, then why the others are wrong."""
    words = WORDS[language]
    answers = [(chr(ord("A") + i), each) for i, each in enumerate(one.answers)]
    entry = next((each for each in track.entries if each.page.article == one.article), None)
    known = sections(entry.page) if entry else {}
    if entry is None or one.section not in known:
        raise BookError(f"{book.relative(path_of(book, folder_of(track)))}: there is no {one.article}#{one.section}")
    link = {
        "section": known[one.section],
        "page": entry.title,
        "address": f"{tracks.address(entry.page, page)}#{one.section}",
    }
    return [
        f'<div class="wb-question" id="{one.anchor}" markdown>',
        "",
        f"**{number}.** {one.says[language]}",
        "",
        *(f"- **{letter}** {each.says[language]}" for letter, each in answers),
        "",
        f'??? success "{words["answer"]}"',
        *(
            f"    - **{letter}** {words['right' if each.is_right else 'wrong']}{each.why[language]}"
            for letter, each in sorted(answers, key=lambda pair: not pair[1].is_right)
        ),
        "",
        f"    {words['read'].format(**link)}",
        "",
        "</div>",
        "",
    ]
