"""Every block of every page and every program runs here, and says what the records say.

On a GPU these use it; elsewhere they use softcuda. Outputs are compared with the record of this very device
(see warpbook/records.py for what is compared); a GPU that has no record is held against the primary one's blocks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from warpbook import checks, records
from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError, here
from warpbook.pages import Page
from warpbook.render import markdown_of
from warpbook.run import RunError, present_device, run_page, run_program
from warpbook.values import Values

BOOK = here()
ARTICLES = BOOK.articles()
PAGES = [BOOK.relative(path) for language in LANGUAGES for path in BOOK.pages(language)]
PROGRAMS = [BOOK.relative(path) for article in ARTICLES for path in BOOK.programs(article)]
RECORDED = [(device, article) for device in (SOFTCUDA, PRIMARY) for article in ARTICLES]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def device() -> dict:
    try:
        return present_device(BOOK)
    except BookError as error:
        pytest.fail(str(error), pytrace=False)


def fail_if(lines: list[str]) -> None:
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def names(*devices: dict) -> tuple[str, ...]:
    return tuple(str(device.get("name", "")) for device in devices)


RAN: dict[tuple[str, ...], list[str]] = {}


def outputs(page: Page) -> list[str]:
    """What a page's blocks print; pages of the same code run once, whatever their language."""
    code = tuple(records.block_hashes(page))
    if code not in RAN:
        RAN[code] = run_page(page)
    return RAN[code]


def told(error: RunError) -> None:
    pytest.fail(f"{error}\n{error.traceback}", pytrace=False)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_run_and_print_what_is_recorded(name: str, device: dict) -> None:
    page = Page(BOOK, BOOK.root / name)
    if not page.python:
        return
    try:
        printed = outputs(page)
    except RunError as error:
        told(error)
    record = records.read(BOOK, records.slug(device), page.article)
    primary = records.read(BOOK, PRIMARY, page.article)
    compare = records.difference if record else records.disagreement
    held = record or primary
    if held is None:
        pytest.fail(f"{page.name}: no record; {records.remedy(SOFTCUDA, page.article)}", pytrace=False)
    known = names(device, held["device"])
    found = [
        compare(block.where, kept["stdout"], text, known)
        for block, kept, text in zip(page.python, held["blocks"], printed, strict=True)
    ]
    fail_if([line for line in found if line])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_and_print_what_is_recorded(name: str, device: dict) -> None:
    program = BOOK.root / name
    try:
        run = run_program(BOOK, program)
    except RunError as error:
        told(error)
    fail_if([f"{name}: prints nan"] if records.NAN.search(run.stdout) else [])
    record = records.read(BOOK, records.slug(device), program.parent.name)
    if record is None:
        return  # somebody's own GPU: the program checks its results by itself
    kept = record["programs"].get(records.program_name(program))
    if kept is None:
        pytest.fail(f"{name}: not recorded; {records.remedy(records.slug(device), program.parent.name)}", pytrace=False)
    line = records.difference(name, kept["stdout"], run.stdout, names(device, record["device"]))
    fail_if([f"{line}; if that is meant, {records.remedy(records.slug(device), program.parent.name)}"] if line else [])
    assert set(run.values) == set(kept["values"])


@pytest.mark.parametrize("article", ARTICLES)
def test_both_languages_show_the_same_blocks(article: str) -> None:
    fail_if(checks.parted(BOOK, article))


@pytest.mark.parametrize(("device_name", "article"), RECORDED)
def test_records_are_fresh(device_name: str, article: str) -> None:
    fail_if(records.stale(BOOK, device_name, article))


@pytest.mark.parametrize("article", ARTICLES)
def test_claims_hold_on_the_record(article: str) -> None:
    fail_if(records.broken_claims(BOOK, PRIMARY, article))


@pytest.mark.parametrize("article", ARTICLES)
def test_two_devices_agree(article: str) -> None:
    one, other = (records.read(BOOK, name, article) for name in (SOFTCUDA, PRIMARY))
    if one is None or other is None:
        return  # test_records_are_fresh tells
    path = BOOK.page_of(article, "en")
    blocks = Page(BOOK, path).python if path else []
    known = names(one["device"], other["device"])
    found = [
        records.disagreement(block.where, a["stdout"], b["stdout"], known)
        for block, a, b in zip(blocks, one["blocks"], other["blocks"], strict=False)
    ]
    fail_if([line for line in found if line])


@pytest.mark.parametrize("name", PAGES)
def test_every_name_on_a_page_is_recorded(name: str) -> None:
    language = Path(name).parts[1]
    fail_if(markdown_of(Page(BOOK, BOOK.root / name), language, Values(BOOK)).problems)


def test_there_is_something_to_run(book: Book) -> None:
    assert PAGES
    assert PROGRAMS
