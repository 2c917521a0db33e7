"""Honest numbers: broken draws, colours and formulas are noticed, and what the page says of this book is so today."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from broken import break_in_one_place, copy_programs

from warpbook.book import LANGUAGES, SOFTCUDA, Book, here
from warpbook.records import records
from warpbook.run.run import RunError, run_program

ARTICLE = "writing-papers"
PROGRAMS = here().snippets / ARTICLE
LEAST = 10  # CIEDE2000 between two lines of a chart, whatever cones a reader lacks
NEAR = 0.3  # by how much the book's prose may have changed since the lint was recorded, and ten flags
INPUTS = pytest.mark.inputs("snippets/writing-papers", "snippets/warpbench.py", "theme/style/colours.css")
BROKEN = [  # (program, file, what is broken, what stands there, what to write instead)
    ("bootstrap.py", "bootstrap.cu", "modulo instead of the high half", "__umulhi(word.y, n)", "word.y % n"),
    ("bootstrap.py", "bootstrap.cu", "nine rounds", "round < 10", "round < 9"),
    ("bootstrap.py", "bootstrap.cu", "both samples drawn alike", "b, nb, resample, paired ? 0 : 1, seed);\n    ratio",
     "b, nb, resample, 0, seed);\n    ratio"),
    ("bootstrap.py", "bootstrap.cu", "the upper of two middle values alone", "low = (n - 1) / 2", "low = n / 2"),
    ("palette.py", "_colours.py", "the rotation in the blues", "rotation = -2 *", "rotation = 2 *"),
    ("palette.py", "_colours.py", "a mean hue across 0°", "hue + 180, hue - 180", "hue, hue"),
    ("palette.py", "_colours.py", "a digit of a matrix", "0.280085", "0.290085"),
    ("coverage.py", "coverage.py", "one end of the interval", "[0.025, 0.975]", "[0.05, 0.975]"),
]  # fmt: skip


@INPUTS
@pytest.mark.parametrize(("program", "file", "what", "right", "wrong"), BROKEN, ids=[one[2] for one in BROKEN])
def test_what_is_broken_is_noticed(tmp_path: Path, program: str, file: str, what: str, right: str, wrong: str) -> None:
    book = copy_programs(tmp_path, ARTICLE)
    break_in_one_place(book.snippets / ARTICLE / file, right, wrong, what)
    with pytest.raises(RunError, match="AssertionError"):
        run_program(book, book.snippets / ARTICLE / program)


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import _colours

    return _colours


def palettes() -> list[str]:
    """The line colours of the site's style sheet, on light pages and on dark ones."""
    sheet = (here().root / "theme" / "style" / "colours.css").read_text("utf-8")
    found = re.findall(r"--wb-s\d: (#[0-9a-f]{6})", sheet)
    return [" ".join(found[:6]), " ".join(found[6:])]


@INPUTS
@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_every_reader_can_tell_the_lines_of_a_chart_apart(colours: ModuleType, page: int) -> None:
    palette = colours.colours(palettes()[page])
    assert len(palette) == 6
    for kind in ("", *colours.MATRICES):
        apart, i, j = colours.least(palette, kind)
        assert apart >= LEAST, f"--wb-s{i} and --wb-s{j} are {apart:.1f} apart, {kind or 'for all cones'}"


@INPUTS
def test_the_page_shows_the_palettes_of_the_site(colours: ModuleType) -> None:
    from palette import PALETTES

    assert [PALETTES["light"], PALETTES["dark"]] == palettes()
    for name in ("light.before", "dark.before", "traffic"):
        assert min(colours.least(colours.colours(PALETTES[name]), kind)[0] for kind in colours.MATRICES) < LEAST


def test_the_lint_s_findings_are_about_those_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import lint

    book = Book(here().root)
    record = records.read(book, SOFTCUDA, ARTICLE)
    assert record is not None
    kept = record["programs"][f"{ARTICLE}/lint.py"]["values"]
    for language in LANGUAGES:
        flags, pages, words = lint.count(book, language)
        now = {"flags": flags.total(), "pages": pages, "words": words}
        for name, number in now.items():
            was = kept[f"{language}.{name}"]["value"]
            assert abs(number - was) <= NEAR * was + (10 if name == "flags" else 0), (
                f"{language}.{name}: {number} today, {was:g} recorded; "
                f"run `.venv/bin/warpbook record --update --only {ARTICLE}`"
            )
