"""What the fuzzers have found worth keeping, once more on the ordinary build: nothing crashes, nothing hangs."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import corpora
import native
import pytest

from softcuda import _toolkit

HERE = Path(__file__).parent


@pytest.mark.parametrize("target", ["load", "launch"])
def test_ptx(tmp_path: Path, target: str) -> None:
    """Texts that are parsed, laid out and, if they have kernels, launched."""
    sources = [HERE / f"{target}.cpp", HERE / "replay.cpp"]
    program = native.program(tmp_path / target, sources, using=native.objects("ptx/*.cpp", "machine/*.cpp"))
    replay(program, target, tmp_path)


@pytest.mark.parametrize("target", ["link", "driver"])
def test_driver(tmp_path: Path, target: str) -> None:
    """Images for cuModuleLoad and cuLink; sequences of calls with handles that are valid, stale, null and garbage."""
    toolkit, library = _toolkit.nvidia(), _toolkit.library()
    assert toolkit and library
    sources = [HERE / f"{target}.cpp", HERE / "replay.cpp"]
    program = native.program(
        tmp_path / target, sources, f"-I{toolkit / 'include'}", f"-Wl,-rpath,{library.parent}", using=[library]
    )
    replay(program, target, tmp_path)


def replay(program: Path, target: str, folder: Path) -> None:
    inputs = sorted(corpora.unpack(target, folder / "corpus"))
    assert inputs
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SOFTCUDA_")}
    done = subprocess.run([program, *inputs], capture_output=True, text=True, timeout=250, env=clean)
    assert done.returncode == 0, f"exit code {done.returncode} after\n{done.stderr[-1000:]}"


# -- the archives ------------------------------------------------------------------------------------------------------


CONTENTS = {"mine.ptx": b".version 9.0\n", "twin": b".version 9.0\n", "empty": b"", "odd": b"\0\xff"}


def test_what_is_packed_is_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, content in CONTENTS.items():
        (tmp_path / "in" / name).write_bytes(content)
    assert corpora.pack("load", tmp_path / "in", tmp_path) == (3, 0)
    assert sorted(corpora.read("load", tmp_path).values()) == [b"", b"\0\xff", b".version 9.0\n"]
    written = corpora.unpack("load", tmp_path / "out", tmp_path)
    assert {path.name: path.read_bytes() for path in written} == corpora.read("load", tmp_path)


def test_equal_inputs_make_equal_archives(tmp_path: Path) -> None:
    for folder, names in {"a": "xy", "b": "zw"}.items():
        (tmp_path / folder).mkdir()
        for content, name in zip((b"1", b"2"), names, strict=True):
            (tmp_path / folder / name).write_bytes(content)
            os.utime(tmp_path / folder / name, (len(folder), 5 + ord(name)))
        corpora.pack("load", tmp_path / folder, tmp_path / folder)
    assert corpora.archive("load", tmp_path / "a").read_bytes() == corpora.archive("load", tmp_path / "b").read_bytes()


def test_an_archive_that_has_the_inputs_already_stays(tmp_path: Path) -> None:
    """So that another release of liblzma does not show as a change."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_bytes(b"1")
    corpora.pack("load", tmp_path / "in", tmp_path)
    with tarfile.open(corpora.archive("load", tmp_path)) as packed:
        members = packed.getmembers()
    assert [(one.mtime, one.uid, one.gid) for one in members] == [(0, 0, 0)]
    before = corpora.archive("load", tmp_path).stat()
    assert corpora.pack("load", tmp_path / "in", tmp_path) == (0, 0)
    assert corpora.archive("load", tmp_path).stat() == before
