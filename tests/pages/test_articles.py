"""Every block of every page and every program runs here, and says what the records say.

On a GPU these use it; elsewhere they use softcuda. Outputs are compared with the record of this very device
(see warpbook/run/compare.py for what is compared); a GPU that has no record is held against the primary one's blocks.
Claims bind on devices whose records are committed; those about counters are counted again here, by softcuda.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import depends
import pytest

from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError, here
from warpbook.check import checks
from warpbook.pipeline.extension import parse
from warpbook.records import claims, packages, profile, records
from warpbook.records.values import Values
from warpbook.run import compare, hashes
from warpbook.run.run import Blocks, LackingError, RunError, present_device, run_blocks, run_program
from warpbook.source import comments, translation
from warpbook.source.pages import Page

BOOK = here()
ARTICLES = BOOK.articles()
PAGES = [BOOK.relative(path) for language in LANGUAGES for path in BOOK.pages(language)]
PROGRAMS = [BOOK.relative(path) for article in ARTICLES for path in BOOK.programs(article)]
RECORDED = [(device, article) for device in records.committed(BOOK) for article in ARTICLES]
COUNTED = [article for article in ARTICLES if (path := BOOK.page_of(article, "en")) and Page(BOOK, path).counters]

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


def names(device: dict, record: dict) -> tuple[str, ...]:
    return str(device.get("name", "")), records.device_name(record)


RAN: dict[tuple[str, ...], Blocks] = {}


def outputs(page: Page) -> Blocks:
    """What a page's blocks print; pages of the same code run once, whatever their language."""
    code = tuple(records.block_hashes(page))
    if code not in RAN:
        RAN[code] = run_blocks(page)
    return RAN[code]


def again(device: dict, article: str) -> str:
    """What to run where only words have changed, which make nothing stale; other devices' outputs get them too."""
    return f"{records.remedy(records.slug(device), article).removesuffix('`')} --update`"


def told(error: RunError) -> None:
    pytest.fail(f"{error}\n{error.traceback}", pytrace=False)


@pytest.mark.inputs(by=depends.of_page)
@pytest.mark.parametrize("name", PAGES)
def test_blocks_run_and_print_what_is_recorded(name: str, device: dict) -> None:
    page = Page(BOOK, BOOK.root / name)
    if not page.python:
        return
    try:
        ran = outputs(page)
    except RunError as error:
        told(error)
    printed = ran.printed
    record = records.read(BOOK, records.slug(device), page.article)
    primary = records.read(BOOK, PRIMARY, page.article)
    compared = compare.difference if record else compare.disagreement
    held = record or primary
    if held is None:
        pytest.fail(f"{page.name}: no record; {records.remedy(SOFTCUDA, page.article)}", pytrace=False)
    known = names(device, held)
    codes = records.block_hashes(page)  # of a GPU's record only what it printed for these very blocks is compared
    pairs = [
        (block, kept, text, packages.apart(kept, used))
        for block, kept, code, text, used in zip(
            page.python, held["blocks"]["printed"], codes, printed, ran.packages, strict=bool(record)
        )
        if kept["code"] == code or record
    ]
    skipped = [f"{block.where}: {text.strip()}" for block, _, text, _ in pairs if compare.skipped(text)]
    found = [
        f"{line}{apart}"
        for block, kept, text, apart in pairs
        if (record and not compare.lacked(text)) or not compare.skipped(text)
        if (line := compared(block.where, kept["stdout"], text, known))
    ]
    fail_if([f"{line}; if that is meant, {again(device, page.article)}" for line in found])
    if why := next(filter(None, map(compare.lacked, printed)), ""):
        pytest.skip(why)  # all else on the page ran
    if skipped:
        pytest.skip("; ".join(skipped))  # all else on the page ran


@pytest.mark.inputs(by=depends.of_program)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_and_print_what_is_recorded(name: str, device: dict) -> None:
    program = BOOK.root / name
    try:
        run = run_program(BOOK, program)
    except RunError as error:
        told(error)
    if run.skipped:
        pytest.skip(compare.lacked(run.stdout) or f"{name}: {run.skipped}")
    fail_if([f"{name}: prints nan"] if compare.NAN.search(run.stdout) else [])
    record = records.read(BOOK, records.slug(device), program.parent.name)
    if record is None:
        return  # somebody's own GPU: the program checks its results by itself
    kept = record["programs"].get(records.program_name(program))
    if records.program_name(program) in records.pending(BOOK, records.slug(device), program.parent.name):
        return  # a GPU's numbers of this code are still to be recorded
    if kept is None:
        pytest.fail(f"{name}: not recorded; {records.remedy(records.slug(device), program.parent.name)}", pytrace=False)
    line = compare.difference(name, kept["stdout"], run.stdout, names(device, record))
    apart = packages.apart(kept, run.packages)
    fail_if([f"{line}{apart}; if that is meant, {again(device, program.parent.name)}"] if line else [])
    if records.measures_cpu(program):
        fail_if(claims.live_cpu(BOOK, program, run.values, str(run.device.get("name"))))
    assert set(run.values) == set(kept["values"])
    assert set(run.series) == set(kept.get("series", {}))
    assert set(run.spans) == set(kept.get("spans", {}))
    assert set(run.matrices) == set(kept.get("matrices", {}))
    assert set(run.graphs) == set(kept.get("graphs", {}))


@pytest.mark.parametrize("article", ARTICLES)
def test_both_languages_show_the_same_blocks_and_names(article: str) -> None:
    fail_if(checks.parted(BOOK, article) + checks.unnamed(BOOK, article))


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/zh/")])
def test_the_chinese_page_follows_the_english_one(name: str) -> None:
    fail_if(translation.problems(BOOK, BOOK.root / name))


@pytest.mark.parametrize("article", ARTICLES)
def test_a_record_knows_every_file_that_its_programs_read(article: str) -> None:
    """A kernel or a table that is named by no constant of a program would change unnoticed."""
    codes = [program.read_text("utf-8") for program in BOOK.programs(article)]
    path = BOOK.page_of(article, "en")
    codes += [block.code for block in Page(BOOK, path).python] if path else []
    known = {name for files in hashes.needed(BOOK, codes, article, article) for name in files}
    folder = BOOK.snippets / article
    words = {claims.file_of(BOOK, article), folder / comments.FILE}  # which compute nothing
    others = set(folder.glob("*.*")) - set(BOOK.programs(article)) - words
    unknown = sorted(set(map(BOOK.relative, others)) - known)
    fail_if([f"{name}: no program names this file as a text" for name in unknown])


@pytest.mark.parametrize("article", ARTICLES)
def test_softcudas_records_are_fresh(article: str) -> None:
    fail_if(records.stale(BOOK, SOFTCUDA, article))


def test_what_waits_for_a_gpu_is_said_and_holds_nothing_up() -> None:
    """Everybody can renew softcuda's records, few a GPU's: `make claims ARGS=--release` is what insists on these."""
    for line in checks.waiting(BOOK, [device for device in records.committed(BOOK) if device != SOFTCUDA]):
        warnings.warn(line, stacklevel=1)


@pytest.mark.parametrize(("device_name", "article"), RECORDED)
def test_claims_hold_on_the_record(device_name: str, article: str) -> None:
    fail_if(claims.broken(BOOK, device_name, article))


@pytest.mark.inputs(by=depends.of_both_pages)
@pytest.mark.parametrize("article", COUNTED)
def test_softcuda_counts_what_is_recorded_and_claimed(article: str) -> None:
    record = records.read(BOOK, SOFTCUDA, article)
    path = BOOK.page_of(article, "en")
    assert record is not None and path is not None
    counted, left_out = {}, ""
    for command in Page(BOOK, path).counters:
        try:
            launches, used = profile.count(BOOK, command)
        except LackingError as error:
            left_out = str(error).rpartition(": ")[2]
            continue
        kept = record["counters"][command]
        line = profile.difference(kept["launches"], launches, wandering=bool(used))
        fail_if([f"counters of {command}: {line}{packages.apart(kept, used)}"] if line else [])
        counted[command] = launches
    fail_if(claims.live(BOOK, article, counted))
    if left_out:
        pytest.skip(left_out)


@pytest.mark.parametrize("article", ARTICLES)
def test_two_devices_agree(article: str) -> None:
    one, other = (records.read(BOOK, name, article) for name in (SOFTCUDA, PRIMARY))
    if one is None or other is None:
        return  # softcuda's is missed by test_softcudas_records_are_fresh, a GPU's is pending
    path = BOOK.page_of(article, "en")
    blocks = Page(BOOK, path).python if path else []
    known = records.device_name(one), records.device_name(other)
    pairs = zip(blocks, one["blocks"]["printed"], other["blocks"]["printed"], strict=False)
    found = [
        compare.disagreement(block.where, a["stdout"], b["stdout"], known)
        for block, a, b in pairs
        if a["code"] == b["code"] and not compare.skipped(a["stdout"]) and not compare.skipped(b["stdout"])
        if compilers(a) == compilers(b)
    ]
    fail_if([line for line in found if line])


def compilers(block: dict[str, Any]) -> dict[str, str]:
    """The packages that a block used: another version of Triton or PyTorch generates other code, and pages show it."""
    return {name: version.partition("+")[0] for name, version in block.get("packages", {}).items()}


@pytest.mark.parametrize("name", PAGES)
def test_every_name_on_a_page_is_recorded_and_every_listing_is_collected(name: str) -> None:
    page = Page(BOOK, BOOK.root / name)
    parsed = parse(page, Path(name).parts[1], Values(BOOK))
    fail_if(parsed.problems)
    lines = enumerate((BOOK.root / name).read_text("utf-8").splitlines(), 1)
    made = {f"{name}:{i}" for i, line in lines if line.startswith(("{{ exercise:", "{{ install"))}  # run elsewhere
    shown = [one.block for one in parsed.listings.values() if one.block.where not in made]
    written = [(block.where, [line.written or line.text for line in block.lines]) for block in shown]
    assert written == [(block.where, [line.text for line in block.lines]) for block in page.blocks]


def test_no_module_is_named_as_one_of_pythons() -> None:
    """Which of the two a program imports would depend on how its Python was built."""
    helpers = {path.stem for path in BOOK.snippets.rglob("_*.py")}
    assert not helpers & (sys.stdlib_module_names | set(sys.builtin_module_names))


def test_there_is_something_to_run(book: Book) -> None:
    assert PAGES
    assert PROGRAMS
