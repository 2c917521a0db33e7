"""The set-up in a checkout that cannot be written: nothing to do is no error, else one line says what to do."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def setup(book, monkeypatch):
    spec = importlib.util.spec_from_file_location("setup_env", book.root / "tools" / "setup_env.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "setup_env", module)  # dataclasses look for it
    spec.loader.exec_module(module)

    def refuse(self, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(sys, "argv", ["setup_env.py", "site"])
    return module


def test_a_checkout_that_is_set_up_may_be_read_only(setup, monkeypatch, capsys):
    monkeypatch.setattr(setup, "up_to_date", lambda *_: True)
    assert setup.main() == 0
    assert capsys.readouterr() == ("", "")


def test_one_that_is_not_is_told_so_in_one_line(setup, monkeypatch, capsys):
    monkeypatch.setattr(setup, "up_to_date", lambda *_: False)
    assert setup.main() == 1
    said = capsys.readouterr().err
    assert "Read-only file system; make " in said and said.count("\n") == 1
