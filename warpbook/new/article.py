"""`python -m warpbook new foundations/hello`: a new article that passes every test and is then rewritten.

The files in template/ are an article on doubling an array, in the form that every article has: a question, five
sentences and a chart, goals and needs, a rung of a ladder as bottleneck, change, result and why, claims, take-aways,
three questions with folded answers, a source. They are put together in a folder of their own and run on softcuda
there; only what has run is moved into the book. So the tests pass at once, and a failure leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from warpbook.book import CONFIGS, DEVELOPERS, LANGUAGES, Book, BookError, navigation, write_text
from warpbook.new.files import write_together
from warpbook.records import recorder
from warpbook.run.run import present_device
from warpbook.source import changes, comments, describe, origins, translation

TEMPLATE = Path(__file__).with_name("template")
SNIPPETS = ("twice.cu", "twice.py", "claims.toml", comments.FILE)
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
PLACE = re.compile(rf"(?P<track>{NAME.pattern})/(?P<name>{NAME.pattern})")
MARKS = re.compile(r'[\x00-\x1f\x7f"\\<>{}\[\]|`#*_$@]')  # what Markdown, HTML, TOML or Python would not show as it is
WIDEST = 50  # columns of a title, so that descriptions that begin with it fit

NEEDS = {
    "en": ("    - Python and NumPy;", "    - [{title}]({page}), the article before this one."),
    "zh": ("    - 会 Python 和 NumPy；", "    - 读过前一篇：[{title}]({page})。"),
}
CHANGE = {
    "en": "New: what limits a kernel that doubles an array, and what a wider load saves.",
    "zh": "新文章：把数组翻倍的核函数受什么限制，更宽的加载能省下什么。",
}

ORIGIN = {
    "en": "A draft; say here why the book has it.",
    "zh": "草稿：请在这里写明为什么收入本书。",
}


@dataclass(frozen=True)
class Article:
    """What is to be written: docs/<language>/<track>/<name>.md, snippets/<name>/. `titles` are by language."""

    track: str
    name: str
    titles: dict[str, str]

    @property
    def page(self) -> str:
        """As the navigation names it."""
        return f"{self.track}/{self.name}.md"

    @property
    def place(self) -> str:
        """As the history names it: foundations/hello."""
        return f"{self.track}/{self.name}"

    def sources(self) -> dict[str, str]:
        """Where each file of the template goes, from the book's root."""
        pages = {f"{language}.md": f"docs/{language}/{self.page}" for language in LANGUAGES}
        return pages | {name: f"snippets/{self.name}/{name}" for name in SNIPPETS}


def create(book: Book, article: Article) -> list[str]:
    """Write the article and list it; the files written, from the book's root.

    Raises BookError, or OSError for a file that cannot be written; then nothing has changed.
    """
    check(book, article)
    with tempfile.TemporaryDirectory(prefix="warpbook-new-") as folder:
        draft = Book(Path(folder))
        fill(book, draft, article)
        run(draft, article.name)
        made = {p.relative_to(draft.root): p.read_bytes() for p in sorted(draft.root.rglob("*")) if p.is_file()}
    del made[Path("snippets/warpbench.py")]
    check(book, article)  # again: it took seconds
    # The files that exist come last: until they name the new ones, these disturb nobody.
    files = {book.root / path: content for path, content in made.items()} | listed(book, article)
    write_together(files)
    return [book.relative(path) for path in files]


# -- what is asked for -------------------------------------------------------------------------------------------------


def read(place: str, title: str | None, title_zh: str | None) -> Article:
    """The article of the command line. Raises BookError."""
    match = PLACE.fullmatch(place.removesuffix(".md"))
    if not match:
        raise BookError(
            f'"{place}": name the track and the article, such as foundations/hello; small letters, digits and hyphens'
        )
    if match["name"] == "index":
        raise BookError(f'"{place}": index is the track\'s own page; choose another name')
    if (title is None) != (title_zh is None):
        missing, what = ("--title-zh", "Chinese") if title_zh is None else ("--title", "English")
        raise BookError(f"{missing} is missing: give the {what} title too, or neither")
    if title is None or title_zh is None:
        words = match["name"].replace("-", " ").capitalize()
        title, title_zh = f"{words} (draft)", f"{words}（草稿）"
    titles = {"en": title.strip(), "zh": title_zh.strip()}
    for option, text in zip(("--title", "--title-zh"), titles.values(), strict=True):
        if not text:
            raise BookError(f"{option} is empty; give a title, or leave both titles out")
        if found := MARKS.search(text):
            raise BookError(f"{option}: {found[0]!r} cannot stand in a title; leave it out")
        if (wide := describe.columns(text)) > WIDEST:
            raise BookError(f"{option}: {wide} columns wide, and at most {WIDEST} fit; a Han character takes two")
    return Article(match["track"], match["name"], titles)


def check(book: Book, article: Article) -> None:
    """Raise BookError where the article, or half of it, is there, or where it cannot be listed."""
    pages = {language: book.docs / language / article.page for language in LANGUAGES}
    there = [path for path in pages.values() if path.exists()]
    if len(there) == 1:
        [other] = [path for path in pages.values() if path not in there]
        raise BookError(
            f"{book.relative(there[0])} is there already, and {book.relative(other)} is not: write that page, with the "
            "same blocks and anchors, or choose another name"
        )
    taken = [book.page_of(article.name, language) for language in LANGUAGES]
    snippets = book.snippets / article.name
    taken += [snippets if snippets.exists() else None, *book.records.rglob(f"{article.name}.json")]
    for path in filter(None, taken):
        raise BookError(f"{book.relative(path)} is there already; choose another name for the article")
    listed(book, article)


def track_of(book: Book, article: Article, language: str) -> list[tuple[str, str]]:
    """(title, page) of the track's own page and its articles, in the navigation. Raises BookError."""
    entries = book.navigation(language)
    found = {Path(pages[0][1]).parent.name: pages for _, pages in entries if not isinstance(pages, str) and pages}
    found.pop(DEVELOPERS, None)
    if found.get(article.track, [("", "")])[0][1] != f"{article.track}/index.md":
        raise BookError(
            f'{CONFIGS[language]}: nav has no track "{article.track}"; it has {", ".join(found) or "none"}; '
            f"a track begins with its own page, {article.track}/index.md"
        )
    titles = [title for title, page in entries if isinstance(page, str)]
    titles += [title for pages in found.values() for title, _ in pages]
    if article.titles[language] in titles:
        raise BookError(f'{CONFIGS[language]}: "{article.titles[language]}" is another page\'s title; choose another')
    return found[article.track]


# -- the draft ---------------------------------------------------------------------------------------------------------


def fill(book: Book, draft: Book, article: Article) -> None:
    """Write the sources of the article, and what they need to run, into a book of their own."""
    for template, target in article.sources().items():
        language = "zh" if template == "zh.md" else "en"
        text = (TEMPLATE / template).read_text("utf-8")
        values = {"title": article.titles[language], "article": article.name}
        if template.endswith(".md"):
            values["needs"] = needs(book, article, language)
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        write_text(draft.root / target, text)
    helper = book.snippets / "warpbench.py"
    if not helper.is_file():
        raise BookError(f"{book.relative(helper)} is missing; programs need it: git checkout {book.relative(helper)}")
    shutil.copyfile(helper, draft.snippets / "warpbench.py")
    translation.mark(draft, f"docs/zh/{article.page}")


def needs(book: Book, article: Article, language: str) -> str:
    """The list of what a reader must know: NumPy, and the track's last article, if it has one."""
    first, more = NEEDS[language]
    title, page = track_of(book, article, language)[-1]
    if page.endswith("/index.md"):
        return re.sub(r"[;；]$", {"en": ".", "zh": "。"}[language], first)
    return f"{first}\n{more.format(title=title, page=posixpath.relpath(page, article.track))}"


def run(draft: Book, name: str) -> None:
    """Run the article's program and blocks on softcuda, and record what they print there. Raises BookError."""
    with forced_softcuda():
        device = present_device(draft)
        try:
            for part in recorder.parts_of(draft, name, device):
                part.work()
                part.save()
        except BookError as error:
            raise BookError(f"nothing was written, since the new article does not run here: {error}") from None


@contextmanager
def forced_softcuda() -> Iterator[None]:
    """Programs run on softcuda, whose record everybody needs, also where there is a GPU."""
    before = os.environ.get("SOFTCUDA")
    os.environ["SOFTCUDA"] = "force"
    try:
        yield
    finally:
        os.environ.pop("SOFTCUDA")
        if before is not None:
            os.environ["SOFTCUDA"] = before


# -- the files that list it --------------------------------------------------------------------------------------------


def listed(book: Book, article: Article) -> dict[Path, bytes]:
    """Both navigations, the history and the origins, with the article in them. Raises BookError."""
    out = {}
    for language in LANGUAGES:
        path = book.root / CONFIGS[language]
        track_of(book, article, language)
        text = path.read_bytes().decode()
        out[path] = in_navigation(text, path.name, article, language).encode()
    changes.read(book)  # says what is wrong there
    path = book.docs / changes.FILE
    text = path.read_bytes().decode() if path.exists() else ""
    out[path] = in_changes(text, article).encode()
    found = origins.read(book)
    if found and not any(article.place in pages for pages in (found.apart, *(one.pages for one in found.topics))):
        path = book.docs / origins.FILE
        out[path] = in_origins(path.read_bytes().decode(), article).encode()
    return out


def in_navigation(text: str, name: str, article: Article, language: str) -> str:
    """MkDocs' configuration with the article as the last one of its track; all else stays, comments too."""
    title = article.titles[language]
    plain = yaml.safe_load(f"- {title}: x") == [{title: "x"}] if is_plain(title) else False
    entry = f"{title if plain else json.dumps(title, ensure_ascii=False)}: {article.page}"
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    last = last_entry(text, f"{article.track}/index.md")
    if last is not None:
        at, column = last
        lines[at] = lines[at].rstrip("\r\n") + end
        lines.insert(at + 1, f"{' ' * (column - 2)}- {entry}{end}")
    made = "".join(lines)
    try:
        is_listed = sorted(all_pages(made)) == sorted([*all_pages(text), (title, article.page)])
    except (yaml.YAMLError, AttributeError, ValueError):
        is_listed = False
    if not is_listed:
        raise BookError(f"{name}: nav: its list is not written one page per line, so add this one by hand: - {entry}")
    return made


def is_plain(title: str) -> bool:
    """Whether YAML can have it without quotation marks."""
    return re.fullmatch(r"[^\W\d_](?:[^:]|:(?! ))*", title) is not None and not title.endswith(":")


def last_entry(text: str, index: str) -> tuple[int, int] | None:
    """The line (from 0) of the last page of the track that begins with `index`, and the column of its title."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    navs = [value for key, value in root.value if key.value == "nav"] if isinstance(root, yaml.MappingNode) else []
    for entry in navs[0].value if navs else []:
        pages = entry.value[0][1]
        if isinstance(pages, yaml.SequenceNode) and pages.value and pages.value[0].value[0][1].value == index:
            last = pages.value[-1]
            return last.value[0][1].end_mark.line, last.start_mark.column
    return None


def all_pages(config: str) -> list[tuple[str, str]]:
    """(title, page) of everything that the navigation lists."""
    entries = navigation(config)
    return [one for title, pages in entries for one in ([(title, pages)] if isinstance(pages, str) else pages)]


def in_changes(text: str, article: Article) -> str:
    """docs/changes.toml with the article's first entry above the others."""
    said = "".join(f"{language} = {json.dumps(CHANGE[language], ensure_ascii=False)}\n" for language in LANGUAGES)
    entry = f'[[change]]\ndate = {changes.today()}\npages = ["{article.place}"]\n{said}'
    head, first, others = text.partition("[[change]]\n")
    made = f"{head}{entry}\n{first}{others}" if first else f"{text.rstrip()}\n\n{entry}".lstrip()
    tomllib.loads(made)
    return made


def in_origins(text: str, article: Article) -> str:
    """docs/origins.toml with the article as the last one that no post led to."""
    said = "".join(f"says.{language} = {json.dumps(ORIGIN[language], ensure_ascii=False)}\n" for language in LANGUAGES)
    made = f'{text.rstrip()}\n\n[[apart]]\npage = "{article.place}"\n{said}'
    tomllib.loads(made)
    return made
