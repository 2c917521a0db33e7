"""docs/developers names what there is: each directive, command, target and module, and nothing that has gone."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from warpbook import pipeline
from warpbook.blocks import charts, explore
from warpbook.book import Book, here
from warpbook.records import claims
from warpbook.source import describe, prose, terms
from warpbook.source.pages import FRONT_MATTER, Page

BOOK = here()
ROOTS = (BOOK.root, BOOK.root / "warpbook")  # what paths are written from
PAGES = {path.stem: path.read_text("utf-8") for path in BOOK.developers()}
WRITTEN = re.compile(r"`\{\{ ([a-z]+)(?::[^}]*?)? \}\}`")
MARKS = {name for name in ("quoted", "counted") if prose.is_mark(f"{name}: 1")} | {"tried"}  # in a sentence


def rows(page: str) -> list[str]:
    """The rows of the page's tables."""
    return [line for line in PAGES[page].splitlines() if line.startswith("|")]


def is_there(name: str) -> bool:
    return any((root / name).exists() for root in ROOTS)


def directives() -> set[str]:
    """The names that the pipeline reads, wherever it has its patterns and lists of them."""
    found: set[str] = set()
    for module in pkgutil.iter_modules(pipeline.__path__):
        code = importlib.import_module(f"{pipeline.__name__}.{module.name}")
        if pattern := getattr(code, "DIRECTIVE", None):
            found |= set(re.findall(r"(?<=[(|])[a-z]+", pattern.pattern))
        for name in ("WRITTEN", "LISTS"):
            found |= set(getattr(code, name, ()))
    return found


def test_every_directive_is_documented_with_an_example_and_no_other() -> None:
    shown = {name for row in rows("directives") for name in WRITTEN.findall(row)}
    assert len(directives()) > 15
    assert shown == directives() | MARKS


@pytest.mark.parametrize("chart", charts.CHARTS)
def test_every_chart_is_documented_with_its_options(chart: str) -> None:
    [row] = [row for row in rows("directives") if row.startswith(f"| `{{{{ chart:{chart}") and "Options: " in row]
    assert re.findall(r"`(\w+)`", row.partition("Options: ")[2]) == list(charts.CHARTS[chart][1])


@pytest.mark.parametrize("figure", explore.FIGURES)
def test_every_interactive_figure_is_documented_with_its_options(figure: str) -> None:
    code = (explore.MODULES / f"{figure}.js").read_text("utf-8")
    controls = re.findall(r'\{ name: "(\w+)", kind:', code)
    [row] = [row for row in rows("directives") if row.startswith(f"| `{{{{ explore:{figure}") and "Options: " in row]
    assert re.findall(r"`(\w+)=[^`]*`", row.partition("Options: ")[2]) == controls


def test_every_key_of_a_claim_is_documented() -> None:
    named = {name for row in rows("records") for name in re.findall(r"`(\w+)`", row)}
    assert set(claims.KEYS) <= named


def test_every_target_and_every_command_is_named() -> None:
    text = "\n".join(PAGES.values())
    targets = re.findall(r"^\.PHONY: (.*)$", (BOOK.root / "Makefile").read_text("utf-8"), re.MULTILINE)
    commands = re.findall(r'add_parser\(\s*"([\w-]+)"', (BOOK.root / "warpbook" / "cli.py").read_text("utf-8"))
    assert targets and commands
    wanted = [f"make {target}" for target in " ".join(targets).split()] + [f"warpbook {one}" for one in commands]
    assert [one for one in wanted if not re.search(rf"\b{re.escape(one)}(?![\w-])", text)] == []


def test_every_module_that_the_layout_names_exists() -> None:
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|/))`", PAGES["index"].partition("## Layout")[2])
    assert len(named) > 40
    assert [name for name in named if not is_there(name)] == []


def test_every_file_that_a_page_names_exists() -> None:
    pattern = r"`((?:docs|records|snippets|softcuda|tests|theme|tools|warpbook|bench|\.github|\.ci)/[\w./-]+)`"
    wrong = [
        f"docs/developers/{page}.md: {name}"
        for page, text in PAGES.items()
        for name in re.findall(pattern, text)
        if not is_there(name)
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_described_and_spelt_as_the_book_is(page: str) -> None:
    source = Page(BOOK, BOOK.docs / "developers" / f"{page}.md")
    said = source.text("description")
    assert describe.LEAST["en"] <= describe.columns(said) <= describe.MOST
    assert FRONT_MATTER.match(PAGES[page])
    rules = terms.rules(BOOK)
    found = [(n, m[0]) for n, line in terms.prose(source) for rule, _ in rules if (m := rule.search(line))]
    assert found == []


def test_they_are_no_articles(book: Book) -> None:
    mine: set[Path] = set(book.developers())
    assert mine and not mine & {*book.pages("en"), *book.pages("zh"), *book.in_reading_order("en")}
    named_alike = {path.stem for path in book.pages("en")}  # exercises: a page for readers, and one on writing them
    assert not {path.stem for path in mine} - named_alike & set(book.articles())
