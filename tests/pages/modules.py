"""Modules of the book's programs, for tests of what these work out by hand."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from warpbook.book import here


@contextmanager
def module_of(article: str, name: str) -> Iterator[ModuleType]:
    """A module in an article's folder, imported as its programs do it; then forgotten, with what it took from there.

    Articles have modules of the same names. It makes no context, which would outlive the test in this process.
    """
    pytest.importorskip("pycuda.driver")
    folder = here().snippets / article
    places = [str(folder), str(here().snippets)]
    sys.path[:0] = places
    try:
        yield importlib.import_module(name)
    finally:
        for place in places:
            sys.path.remove(place)
        for path in folder.glob("*.py"):
            sys.modules.pop(path.stem, None)
