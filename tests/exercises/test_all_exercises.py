"""Every exercise: its solution is right and within budget, its stub is wrong, mistakes are caught and explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from warpjudge import Judge, Random, load

from warpbook.book import LANGUAGES, here
from warpbook.exercises import exercises
from warpbook.exercises.exercises import Exercise

BOOK = here()
EVERY = exercises.all(BOOK)
EXPLAINED = 0.9  # of the mistakes of an exercise

pytestmark = pytest.mark.inputs(
    "exercises", "snippets/warpjudge", "warpbook", "docs/en", "docs/zh", "tests/exercises", "requirements.lock"
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(keep_warm=False) as one:
        yield one


def is_explained(mistake: exercises.Mistake, verdict: dict[str, Any]) -> bool:
    """Whether one of the messages has the cause and names the line."""
    return any(
        message["cause"] == mistake.cause and (not mistake.lines or set(message["lines"]) & set(mistake.lines))
        for message in verdict["messages"]
    )


@pytest.mark.parametrize("exercise", EVERY, ids=lambda one: one.name)
def test_the_judge_knows_right_from_wrong(judge: Judge, exercise: Exercise) -> None:
    if exercise.lacks():
        pytest.skip("needs Triton, which `make setup-torch` installs")
    mistakes = exercise.mistakes()
    assert len(mistakes) >= 5
    sources = [exercise.solution, exercise.stub, *(one.source for one in mistakes)]
    solution, stub, *found = judge.all(exercise.folder, sources, seed=20)
    assert solution["verdict"] == "right", solution["messages"]
    assert stub["verdict"] == "wrong", "the stub must compile, and be wrong"
    said = {one.path.name: (one, verdict) for one, verdict in zip(mistakes, found, strict=True)}
    assert {name: verdict["verdict"] for name, (_, verdict) in said.items()} == {
        name: one.verdict for name, (one, _) in said.items()
    }
    unexplained = {name: verdict["messages"] for name, (one, verdict) in said.items() if not is_explained(one, verdict)}
    assert len(unexplained) <= (1 - EXPLAINED) * len(mistakes), unexplained


@pytest.mark.parametrize("exercise", EVERY, ids=lambda one: one.name)
def test_half_precision_would_not_pass(exercise: Exercise) -> None:
    declared = load(exercise.folder)
    largest = declared.all_sizes(Random(1))[-1]
    assert not declared.is_too_loose(largest)


@pytest.mark.parametrize("exercise", EVERY, ids=lambda one: one.name)
def test_both_languages_show_the_signature_and_name_a_section_that_exists(exercise: Exercise) -> None:
    declared = load(exercise.folder)
    article, _, anchor = exercise.section.partition("#")
    for language in LANGUAGES:
        assert declared.kernel in exercise.question[language], "the task shows the signature as judge.py has it"
        page = BOOK.page_of(article, language)
        assert page and f"#{anchor} }}" in page.read_text("utf-8")
        assert BOOK.page_of(exercise.article, language), "the folder is named as the article"
    assert declared.kernel in exercise.stub


@pytest.mark.parametrize("exercise", EVERY, ids=lambda one: one.name)
def test_mistakes_differ_from_each_other_and_name_several_causes(exercise: Exercise) -> None:
    mistakes = exercise.mistakes()
    comments = re.compile(r"#.*|\s+$" if exercise.suffix == ".py" else r"//.*|\s", re.MULTILINE)
    assert len({comments.sub("", one.source) for one in mistakes}) == len(mistakes)
    assert len({one.cause for one in mistakes}) >= 3
