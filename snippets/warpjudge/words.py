"""Sentences in two languages, from messages.toml."""

from __future__ import annotations

import functools
import re
import string
import tomllib
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")


@functools.cache
def table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("messages.toml").read_text("utf-8"))


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


def fill(text: str, values: dict[str, Any]) -> str:
    return text.format_map(_Blank(values))


def word(name: str, language: str, **values: Any) -> str:
    row = table()["words"].get(name)
    return fill(row[language], values) if row else name


def size_words(size: list[int], axes: list[str] | None = None) -> str:
    """ "n = 33", "3 × 4", or with the names of three and more numbers: "n = 97, blocks = 7, threads = 5"."""
    if len(size) == 2 or (len(size) > 2 and len(axes or []) != len(size)):
        return " × ".join(map(str, size))
    names = (axes or []) if len(size) > 1 else ["n"]
    return ", ".join(f"{name} = {value}" for name, value in zip(names, size, strict=True))


def number(value: float) -> str:
    """Whole numbers in full, in groups of three."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def where(value: dict[str, Any], language: str) -> str:
    return fill(table()["where"][value["kind"]][language], value)


def sentence(cause: str, values: dict[str, Any], language: str, size: list[int] | None = None,
             text: dict[str, str] | None = None, axes: list[str] | None = None,
             triton: bool = False) -> str:  # fmt: skip
    """The sentence of a cause with its values; an exercise's own `text` comes first.

    `triton`: the answer is a Triton kernel, whose sentences come before those that speak of threads.
    """
    filled: dict[str, Any] = {}
    for key, value in values.items():
        if key in ("operation", "direction", "space", "stride", "does_first", "does_second"):
            filled[key] = word(str(value), language)
        elif key == "where":
            filled[key] = where(value, language)
        elif key == "only":
            filled[key] = fill(table()["only"][value["kind"]][language], value) if value else ""
        elif key in ("first", "second") and isinstance(value, dict):
            name = "thread_of" if value.get("block") else "thread"
            filled[key] = word(name, language, **value)
        elif key == "limit" and value >= 1000:
            filled[key] = number(value)
        elif isinstance(value, float) and value == int(value) and key != "limit" and abs(value) >= 100:
            filled[key] = f"{int(value):,}"
        else:
            filled[key] = value
    filled["size"] = size_words(size, axes) if size else ""
    if "only" not in filled:
        filled["only"] = ""
    template = (text or {}).get(language) or entry(cause, triton)[language]
    line = singular(fill(template, filled).strip()) if language == "en" else fill(template, filled).strip()
    return line.removeprefix("：").removeprefix(": ").rstrip(".。")


def singular(text: str) -> str:
    return re.sub(
        r"(?<![\d.,])1(?:\.0)? (barrier|byte|bank conflict|time|rounding|request|element|instruction)s\b", r"1 \1", text
    )


def entry(cause: str, triton: bool = False) -> dict[str, str]:
    """A cause's sentences by language, and its section; empty if it is an exercise's own."""
    own: dict[str, str] = table()["triton"].get(cause, {}) if triton else {}
    found: dict[str, str] = own or table()["cause"].get(cause, {})
    return found


def names(cause: str, triton: bool = False) -> set[str]:
    """The values that a cause's sentence is filled with; empty if there is no such cause."""
    return {field for _, field, _, _ in string.Formatter().parse(entry(cause, triton).get("en", "")) if field}


def section(cause: str, triton: bool = False) -> str:
    return entry(cause, triton).get("section", "")


def counters(found: dict[str, float], budget: dict[str, float], language: str) -> str:
    """ "; 4.0 sectors per load, …" for the line that says right."""
    rows, parts = table()["counters"], []
    for name in budget or {"instructions_per_warp": 0}:
        if name not in found:
            continue
        value = found[name]
        text = f"{value:.1f}" if name.startswith("sectors") or (value < 10 and value != int(value)) else f"{value:,.0f}"
        limit = budget.get(name)
        tail = fill(rows["budget"][language], {"limit": number(limit)}) if limit else ""
        parts.append(fill(rows[name][language], {"value": text}) + tail)
    comma, mark = ("，", "；") if language == "zh" else (", ", "; ")
    line = mark + comma.join(parts) if parts else ""
    return singular(line) if language == "en" else line
