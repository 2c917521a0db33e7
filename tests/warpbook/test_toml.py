"""docs/*.toml with values of another kind: one line that names the file and the place, and never a traceback."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from warpbook import toml
from warpbook.book import Book, BookError
from warpbook.check import search_rank
from warpbook.exercises import selftests, techniques
from warpbook.source import changes, glossary, origins, terms, tracks

TERM = {
    "en": "warp",
    "zh": "线程束",
    "says": {"en": "Threads.", "zh": "线程。"},
    "forms": ["warps"],
    "match": {"en": "w"},
}
GLOSSARY = {
    "group": [{"en": "Hardware", "zh": "硬件", "term": [TERM | {"also": [], "search": ["simd"], "avoid": ["wrap"]}]}],
    "spelling": [{"avoid": "colou?r", "write": "colour"}],
}
CHANGES = {"change": [{"date": datetime.date(2026, 11, 1), "pages": ["a"], "en": "New.", "zh": "新。"}]}
PATHS = {"path": [{"name": "one", "en": "One", "zh": "一", "pages": [], "says": {"en": "First.", "zh": "先。"}}]}
QUERIES = {"en": {"warp": "a"}, "zh": {"线程束": "a"}}
ORIGINS = {
    "blog": [{"name": "b", "en": "B", "zh": "乙"}],
    "topic": [{"posts": {"b": "Post"}, "page": "a", "more": ["c"], "corrected": {"en": "Wrong.", "zh": "错。"}}],
    "apart": [{"page": "d", "says": {"en": "Why.", "zh": "为何。"}}],
}
TECHNIQUE = {"name": "t", "en": "T", "zh": "丁", "says": {"en": "Buys.", "zh": "换来。"}}
LEADS = {"taught": ["a#b"], "practised": ["a/c"]}
TECHNIQUES = {"group": [{"name": "g", "en": "G", "zh": "组", "technique": [TECHNIQUE | LEADS]}]}
WHY = {"why_en": "Why.", "why_zh": "为何。"}
WRONG = [{"en": f"W{i}", "zh": f"错 {i}", **WHY} for i in range(2)]
ANSWERS = {"right": {"en": "R", "zh": "对"}, "wrong": WRONG, **WHY}
SELFTEST = {"question": [{"article": "a", "section": "b", "en": "Which?", "zh": "哪个？", **ANSWERS}]}
READERS: list[tuple[str, dict[str, Any], Callable[[Book], object]]] = [
    ("changes", CHANGES, changes.read),
    ("glossary", GLOSSARY, glossary.read),
    ("glossary", GLOSSARY, terms.rules),
    ("origins", ORIGINS, origins.read),
    ("techniques", TECHNIQUES, techniques.read),
    ("selftests/first", SELFTEST, lambda book: selftests.read(book, "first")),
    ("paths", PATHS, lambda book: tracks.ways(book, "en")),
    ("queries", QUERIES, lambda book: search_rank.queries(book, "en")),
]
OTHERS = ["", 12, -1.5, True, [], [1], ["a"], {}, {"a": 1}, datetime.date(2026, 1, 1), "a[", "("]


def written(value: Any) -> str:
    """As TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return value.isoformat() if isinstance(value, datetime.date) else json.dumps(value, ensure_ascii=False)


def holders(data: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in data: what holds it, and its key there."""
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield data, key
        yield from holders(data[key])


@pytest.mark.parametrize(("name", "good", "read"), READERS)
def test_what_is_of_another_kind_is_one_line(
    small: Book, write: Callable[[str, str], Any], name: str, good: dict[str, Any], read: Callable[[Book], object]
) -> None:
    def attempt(data: dict[str, Any]) -> str:
        write(f"docs/{name}.toml", "".join(f"{key} = {written(value)}\n" for key, value in data.items()))
        try:
            read(small)
        except BookError as error:
            return str(error)
        return ""

    write("docs/en/a.md", "# A { #a }\n")
    write("docs/zh/a.md", "# 甲 { #a }\n")
    assert attempt(good) == ""
    refused = 0
    for place in range(sum(1 for _ in holders(good))):
        for other in OTHERS:
            data = copy.deepcopy(good)
            holder, key = list(holders(data))[place]
            holder[key] = other
            if said := attempt(data):
                refused += 1
                assert f"{name}.toml" in said and "\n" not in said
    assert refused > 20


def test_the_place_is_named(small: Book, write: Callable[[str, str], Any]) -> None:
    write("docs/queries.toml", "[en]\nwarp = 7\n")
    with pytest.raises(BookError, match=r"^docs/queries\.toml: en\.warp must be string$"):
        search_rank.queries(small, "en")


@pytest.mark.parametrize(("content", "said"), [(b"a = \xff", "not UTF-8 at byte 4"), (b"a =", "Invalid value")])
def test_what_is_no_toml_is_one_line(small: Book, content: bytes, said: str) -> None:
    (small.root / "docs" / selftests.FOLDER).mkdir(parents=True)
    for name in {name for name, _, _ in READERS}:
        (small.docs / f"{name}.toml").write_bytes(content)
    for name, _, read in READERS:
        with pytest.raises(BookError, match=rf"^docs/{name}\.toml: {said}"):
            read(small)


def test_a_file_nested_too_deeply_is_one_line() -> None:
    with pytest.raises(BookError, match=r"^x: "):
        toml.parse(f"a = {'[' * 100_000}", "x", toml.table())
