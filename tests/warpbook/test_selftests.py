"""docs/selftests/<track>.toml: what `warpbook check` says of self-tests, and what a page makes of them."""

from __future__ import annotations

import copy
import json
from collections import Counter

import pytest

from warpbook.book import LANGUAGES, Book
from warpbook.exercises import selftests
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.site import search
from warpbook.source import allowed_html, terms, tracks
from warpbook.source.pages import Page

NAV = """nav:
  - Home: index.md
  - First:
      - First: first/index.md
      - Sectors: first/a.md
      - Waves: first/b.md
"""
ARTICLE = '---\nsummary: "S."\n---\n\n# {0}\n\n!!! goals "{goals}"\n    - x.\n\n!!! needs "{needs}"\n    - y.\n\n'
TITLES = {"en": ("You will be able to", "You need"), "zh": ("读完这一篇，你能够", "你需要")}


def a_question(i):
    """Whose right answer is neither the longest nor the shortest."""
    why = {"why_en": f"Count {i}.", "why_zh": f"数 {i}。"}
    return {
        "article": "ab"[i % 2],
        "section": "count",
        "en": f"What does `k<<<1, {i}>>>()` touch?",
        "zh": f"`k<<<1, {i}>>>()` 涉及几个？",
        **why,
        "right": {"en": f"{i} sectors", "zh": f"{i} 个扇区"},
        "wrong": [{"en": f"{i + 7} lines {'x' * 4 * n}", "zh": f"{i + 7} 行{'叉' * 4 * n}", **why} for n in range(2)],
    }


QUESTIONS = [a_question(100 + i) for i in range(selftests.QUESTIONS)]


def written(value):
    """As TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@pytest.fixture
def two(small, write):
    """A book of one track with two articles; call it with the questions of its self-test."""
    for config in ("mkdocs.yml", "mkdocs.zh.yml"):
        write(config, NAV)
    write("docs/paths.toml", "")
    for language in LANGUAGES:
        goals, needs = TITLES[language]
        write(f"docs/{language}/index.md", "# Home\n")
        write(f"docs/{language}/first/index.md", '---\nsummary: "S."\n---\n\n# First\n\n{{ selftest }}\n')
        for name in "ab":
            text = ARTICLE.format(name, goals=goals, needs=needs)
            write(f"docs/{language}/first/{name}.md", f"{text}## Count `x` {{ #count }}\n")

    def fill(questions, name="first"):
        write(f"docs/selftests/{name}.toml", f"question = {written(questions)}\n")
        return small

    return fill


def read_page(book, language):
    return parse(Page(book, book.docs / language / "first/index.md"), language, Values(book))


def test_a_question_its_answers_and_the_solution_folded(two):
    book = two(QUESTIONS)
    assert selftests.problems(book) == []
    html = {language: read_page(book, language).html for language in LANGUAGES}
    assert '<h2 id="self-test">Test yourself' in html["en"] and '<h2 id="self-test">自测' in html["zh"]
    for language, right, wrong in (("en", "is right.", "is wrong."), ("zh", "正确。", "不对。")):
        first = html[language].split('<div class="wb-question"')[1]
        choices, _, solution = first.partition("<details")
        assert "<code>k&lt;&lt;&lt;1, 100&gt;&gt;&gt;()</code>" in choices and choices.count("<li>") == 3
        assert solution.index(right) < solution.index(wrong) and solution.count(wrong) == 2
        assert 'href="a.md#count"' in solution and "<details open" not in first
    # The answers are at the same places in both languages, under the same name.
    places = {
        language: [
            (part.partition('id="')[2][:18], part.partition("<details")[2].partition("<strong>")[2][:1])
            for part in html[language].split('<div class="wb-question"')[1:]
        ]
        for language in LANGUAGES
    }
    assert places["en"] == places["zh"] and len(set(places["en"])) == selftests.QUESTIONS


def test_the_right_answer_is_not_always_at_the_same_place(two):
    found = selftests.read(two(QUESTIONS), "first")
    places = Counter(next(i for i, each in enumerate(one.answers) if each.is_right) for one in found)
    assert len(places) == 3 and max(places.values()) < 15
    assert found == selftests.read(two(QUESTIONS[::-1]), "first")[::-1]  # whatever stands around a question


def test_an_answer_that_changes_gives_the_question_another_name(two):
    """Readers' answers are kept under it."""
    changed = copy.deepcopy(QUESTIONS)
    changed[0]["right"]["en"] = "Another"
    changed[1]["why_en"] = "Better said."
    before, after = ([one.anchor for one in selftests.read(two(each), "first")] for each in (QUESTIONS, changed))
    assert before[0] != after[0] and before[1:] == after[1:]


def test_an_export_has_questions_and_solutions_without_html(two):
    text = plain.markdown(read_page(two(QUESTIONS), "en"))
    assert "**1.** What does `k<<<1, 100>>>()` touch?\n\n- **A** " in text
    assert "> **Answer**\n>\n> - **" in text and "is right. Count 100.\n" in text
    assert "Read: [Count `x`](a.md#count) (Sectors)." in text and "<div" not in text
    assert "正确。数 100。" in plain.markdown(read_page(two(QUESTIONS), "zh"))


def test_a_search_finds_the_self_test_and_none_of_its_questions(two):
    found = {one["id"]: one for one in search.sections(read_page(two(QUESTIONS), "en").searched)}
    assert found["self-test"]["title"] == "Test yourself" and "touch" not in found["self-test"]["text"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda all: all[0].pop("zh"), "question 1 has no zh"),
        (lambda all: all[0]["right"].pop("en"), "question 1: right has no en"),
        (lambda all: all[0]["wrong"][1].pop("why_zh"), "question 1: wrong answer 2 has no why_zh"),
        (lambda all: all[0]["wrong"].pop(), "question 1 has 1 wrong answers; give it two or three"),
        (lambda all: all[0].update(answer="8"), "question 1 has answer; known are article, en, right"),
        (lambda all: all[0].update(article="c"), "question 1: this track has no article c"),
        (lambda all: all[0].update(section="counts"), 'a in en has no #counts; did you mean "count"?'),
        (lambda all: all[0].update(section="counts"), 'a in zh has no #counts; did you mean "count"?'),
        (lambda all: all[0].update(en="See {{ v0.rate }}?"), 'question 1: en has "{{"; write words, `code` and'),
        (lambda all: all[0].update(zh="见[此](a.md)？"), 'question 1: zh has "]("; write words'),
        (lambda all: all[0].update(en="One\ntwo?"), "question 1: en has several lines; write words"),
        (lambda all: all[0]["right"].update(zh=all[0]["wrong"][0]["zh"]), 'question 1: two answers are "107 行"'),
        (lambda all: all.append(a_question(500)), "21 questions, and a self-test has 20"),
        (lambda all: all.pop(), "19 questions, and a self-test has 20"),
        (lambda all: all[1].update(en=all[0]["en"]), "question 2 is there twice"),
        (
            lambda all: [one["right"].update(en=f"{one['right']['en']}, every one") for one in all[:11]],
            "in en the right answer is the longest in 11 of 20 questions, so it can be guessed",
        ),
        (
            lambda all: [one["right"].update(zh=f"{i}") for i, one in enumerate(all)],
            "in zh the right answer is the shortest in 20 of 20 questions, so it can be guessed",
        ),
    ],
)
def test_check_says_in_one_line_what_is_wrong(two, change, said):
    questions = copy.deepcopy(QUESTIONS)
    change(questions)
    found = selftests.problems(two(questions))
    assert any(one.startswith("docs/selftests/first.toml: ") and said in one for one in found), found
    assert all("\n" not in one for one in found)


def test_an_article_that_no_question_is_about_is_named_and_no_mistake(two):
    questions = [{**one, "article": "a", "section": "count"} for one in QUESTIONS]
    book = two(questions)
    said = "docs/selftests/first.toml: no question is about b yet; put one in the place of another"
    assert (selftests.problems(book), selftests.left(book), selftests.left(two(QUESTIONS))) == ([], [said], [])


def test_every_article_is_asked_about(book):
    assert selftests.left(book) == []


def test_half_of_the_right_answers_may_be_the_longest(two):
    questions = copy.deepcopy(QUESTIONS)
    for one in questions[:10]:
        one["right"]["en"] += ", every one"
    assert selftests.problems(two(questions)) == []


def test_a_file_of_no_track_and_one_that_is_no_toml(two, write):
    two(QUESTIONS)
    two(QUESTIONS, "frist")
    book = write("docs/selftests/first.toml", "question = ").parents[2]
    first, other = selftests.problems(Book(book))
    assert first.startswith("docs/selftests/first.toml: Invalid value")
    assert other == 'docs/selftests/frist.toml: its name is that of no track; did you mean "first"?'


def test_a_page_that_has_no_questions_says_so(two, write):
    book = two(QUESTIONS, "second")
    [said] = read_page(book, "en").problems
    assert said.endswith(
        "there is no docs/selftests/first.toml, in which the questions of this track's self-test stand"
    )
    write("docs/en/index.md", "# Home\n\n{{ selftest }}\n")
    [said] = parse(Page(book, book.docs / "en/index.md"), "en", Values(book)).problems
    assert said.endswith("docs/en/index.md: no track of the navigation begins with this page")


def test_a_book_without_self_tests_is_in_order(small):
    assert selftests.problems(small) == []


def test_words_and_markup_are_held_to_the_rules_of_pages(two, write):
    questions = copy.deepcopy(QUESTIONS)
    questions[0]["why_en"] = "Its color."
    questions[1]["why_en"] = "An <object>."
    book = two(questions)
    write("docs/glossary.toml", '[[spelling]]\navoid = "color"\nwrite = "colour"\n')
    assert "docs/selftests/first.toml: color: write colour" in terms.problems(book)
    assert any("first.toml:1: <object> is not allowed" in one for one in allowed_html.source_problems(book))


def test_the_books_self_tests(book):
    assert selftests.problems(book) == []
    for track in tracks.read(book, "en"):
        name = selftests.folder_of(track)
        if selftests.path_of(book, name).exists():
            for language in LANGUAGES:
                assert "{{ selftest }}" in Page(book, book.docs / language / name / "index.md").source, name
