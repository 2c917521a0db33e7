"""docs/*.toml, held to a form: what is of another kind than its reader expects is one line, with the file and place."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastjsonschema

from warpbook import reads
from warpbook.book import BookError

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}


def table(**kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A table; the keys named, where they are there, are of these kinds."""
    return {"type": "object", "properties": kinds}


def table_of(kind: Mapping[str, Any]) -> dict[str, Any]:
    """A table whose values are all of one kind."""
    return {"type": "object", "additionalProperties": kind}


def tables(**kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A list of such tables, as [[name]] makes it."""
    return {"type": "array", "items": table(**kinds)}


def read_text(path: Path, name: str) -> str:
    try:
        return reads.text(path)
    except UnicodeDecodeError as error:
        raise BookError(f"{name}: not UTF-8 at byte {error.start}") from None


def parse(text: str, name: str, form: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a file that messages call `name`. Raises BookError for what is no TOML, or not of the form."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"{name}: {error}") from None
    except RecursionError:
        raise BookError(f"{name}: nested too deeply") from None
    try:
        validator(json.dumps(form))(data)
    except fastjsonschema.JsonSchemaValueException as error:
        found = error.name or ""  # data.change[0].pages
        raise BookError(f"{name}: {found.partition('.')[2]}{error.message.removeprefix(found)}") from None
    return data


@functools.cache
def validator(form: str) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] = fastjsonschema.compile(json.loads(form), use_formats=False)
    return made
