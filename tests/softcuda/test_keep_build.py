"""softcuda/tools/keep_build.py: libraries that were compiled once are found again, by what they were compiled from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "softcuda" / "tools" / "keep_build.py"


class Builds:
    """Sources, a compiler, two libraries that it made of them, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.source = folder / "src" / "machine.cpp"
        self.source.parent.mkdir()
        self.source.write_text("int one;")
        self.compiler = self.write_compiler(folder / "g++", "12.2")
        self.libraries = [folder / "libcuda.so.1", folder / "libnvJitLink.so.13"]
        for library in self.libraries:
            library.write_text(f"of {self.source.read_text()}")

    @staticmethod
    def write_compiler(path: Path, version: str) -> Path:
        """It says the name that it is called by, as GCC's does."""
        path.write_text(f'#!/bin/sh\necho "$(basename "$0") (Debian {version}-14) {version}"\n')
        path.chmod(0o755)
        return path

    def call(self, *words: object, flags: str = "-O2") -> str:
        command = [sys.executable, TOOL, *words, self.source.parent, self.compiler, flags]
        environment = os.environ | {"XDG_CACHE_HOME": str(self.cache)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip() + done.stderr

    def find(self, **options: str) -> Path:
        return Path(self.call("find", **options))

    def keep(self, found: Path) -> str:
        return self.call("keep", found, *self.libraries, "--")


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path)


def test_the_same_sources_find_what_was_kept(builds: Builds) -> None:
    found = builds.find()
    assert found.parent == builds.cache / "softcuda" and not found.exists()
    builds.keep(found)
    assert builds.find() == found
    assert sorted(path.name for path in found.iterdir()) == ["libcuda.so.1", "libnvJitLink.so.13"]
    assert (found / "libcuda.so.1").read_text() == "of int one;"
    assert list(found.parent.iterdir()) == [found]  # and nothing else is left there


def test_other_sources_and_other_flags_are_another_build(builds: Builds) -> None:
    first = builds.find()
    assert builds.find(flags="-O3") != first
    builds.source.write_text("int two;")
    assert builds.find() != first
    builds.source.write_text("int one;")
    assert builds.find() == first
    builds.source.rename(builds.source.with_name("other.cpp"))
    assert builds.find() != first


def test_the_compiler_counts_by_its_version(builds: Builds) -> None:
    first = builds.find()
    builds.compiler = builds.write_compiler(builds.compiler.with_name("c++"), "12.2")
    assert builds.find() == first
    builds.write_compiler(builds.compiler, "13.1")
    assert builds.find() != first


def test_sources_that_changed_meanwhile_are_not_kept(builds: Builds) -> None:
    found = builds.find()
    builds.source.write_text("int two;")
    builds.keep(found)
    assert not builds.cache.exists()


def test_a_cache_that_cannot_be_written_is_no_error(builds: Builds) -> None:
    builds.cache.write_text("a file")
    assert "the build is not kept in" in builds.keep(builds.find())


def test_old_builds_go(builds: Builds) -> None:
    kept = []
    for number in range(8):
        builds.source.write_text(f"int number{number};")
        kept.append(builds.find())
        builds.keep(kept[-1])
        os.utime(kept[-1], (number, number))
    assert [path.exists() for path in kept] == [False] * 2 + [True] * 6
