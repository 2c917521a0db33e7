"""Files that people or interrupted machines may get wrong, held to a schema: one line says where and what.

The schemas lie beside this module, as JSON Schema. A line of JSON cannot be named (the parser forgets it), so a place
is a path through the file: records/softcuda/x.json: programs.x/a.py.values.v0.time.value: must be number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

from warpbook import reads
from warpbook.book import BookError


def read_json(path: Path, name: str) -> Any:
    """The data of a JSON file that messages call `name`. Raises BookError for what is not JSON, NaN included."""

    def refuse(constant: str) -> float:
        raise BookError(f"{name}: {constant} is no number")

    try:
        return json.loads(reads.text(path), parse_constant=refuse, object_pairs_hook=unrepeated)
    except UnicodeDecodeError as error:
        raise BookError(f"{name}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise BookError(f"{name}:{error.lineno}: not JSON: {error.msg}") from None
    except RepeatedKeyError as error:
        raise BookError(f'{name}: "{error}" is there twice') from None
    except RecursionError:
        raise BookError(f"{name}: nested too deeply") from None
    except OSError as error:
        raise BookError(f"{name}: {error.strerror}") from None


class RepeatedKeyError(Exception):
    """A key of a JSON object that is there twice, of which Python would keep the last."""


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return made


def check(data: Any, schema: str, name: str) -> None:
    """Raise BookError, in one line, for data that are not as <schema>.schema.json has them."""
    try:
        validator(schema)(data)
    except fastjsonschema.JsonSchemaValueException as error:
        found = error.name or ""  # data.programs.x/a.py.values…
        place, what = found.partition(".")[2], error.message.removeprefix(found).strip()
        raise BookError(f"{name}: {place}: {what}" if place else f"{name}: {what}") from None


@cache
def validator(schema: str) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] = fastjsonschema.compile(
        json.loads(Path(__file__).with_name(f"{schema}.schema.json").read_text("utf-8")), use_formats=False
    )
    return made


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?` where a known word is near, for the end of a message; else an empty text."""
    import difflib

    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""


def suggest(word: str, known: Iterable[str], most: int = 6) -> str:
    """For the end of a message: the known word that is near, else what there is, `most` names at most."""
    names = sorted(known)
    if near := nearest(word, names):
        return near
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return f"; there are: {', '.join(names[:most]) or 'none'}{rest}"


def is_finite(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
