"""What was made of files is used again as long as they read the same, and not a moment longer."""

from __future__ import annotations

import ast
import os

import pytest

from warpbook import reads
from warpbook.book import here
from warpbook.records import records
from warpbook.source.pages import Page

ROOMS = ("source", "records", "blocks", "exercises", "pipeline", "run")


@pytest.fixture
def made():
    """What the remembered functions below were called with, in order."""
    return []


@pytest.fixture
def inner(made):
    @reads.remembered
    def read(path):
        made.append(path.name)
        return reads.text(path) if reads.is_file(path) else "none"

    return read


@pytest.fixture
def outer(made, inner):
    @reads.remembered
    def join(folder):
        made.append("all")
        return " ".join(inner(path) for path in reads.listed(folder, "*.txt"))

    return join


def test_a_file_that_reads_the_same_is_not_read_anew(small, write, inner, made):
    path = write("a.txt", "one")
    assert [inner(path), inner(path)] == ["one", "one"]
    os.utime(path, ns=(1, 1))
    assert inner(path) == "one" and made == ["a.txt"]


def test_an_edit_is_seen_though_size_and_time_stay(small, write, inner):
    path = write("a.txt", "one")
    before = path.stat()
    assert inner(path) == "one"
    path.write_text("two", "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert inner(path) == "two"


def test_a_file_that_comes_and_goes_is_seen(small, write, inner):
    path = small.root / "a.txt"
    assert inner(path) == "none"
    write("a.txt", "one")
    assert inner(path) == "one"
    path.unlink()
    assert inner(path) == "none"


def test_what_a_remembered_function_reads_counts_for_its_caller(small, write, inner, outer, made):
    write("a.txt", "one")
    inner(write("b.txt", "two"))  # known before `outer` asks for it
    assert outer(small.root) == "one two"
    write("b.txt", "three")
    assert outer(small.root) == "one three"
    write("c.txt", "four")
    assert outer(small.root) == "one three four"
    assert made == ["b.txt", "all", "a.txt", "all", "b.txt", "all", "c.txt"]


def test_what_was_read_before_an_error_counts_too(small, write):
    path = write("a.txt", "bad")

    @reads.remembered
    def hold(path):
        if reads.text(path) == "bad":
            raise ValueError
        return "good"

    @reads.remembered
    def judge(path):
        try:
            return hold(path)
        except ValueError:
            return "wrong"

    assert judge(path) == "wrong"
    path.write_text("better", "utf-8")
    assert judge(path) == "good"


def test_a_file_that_is_no_text_is_an_answer(small, inner):
    path = small.root / "a.txt"
    path.write_bytes(b"\xff")
    for _ in range(2):
        with pytest.raises(UnicodeDecodeError):
            inner(path)
    path.write_text("one", "utf-8")
    assert inner(path) == "one"


def test_where_files_are_settled_each_is_read_once(small, write, inner, monkeypatch):
    path = write("a.txt", "one")
    with reads.settled():
        assert inner(path) == reads.text(path) == "one"
        path.write_text("two", "utf-8")
        assert inner(path) == reads.text(path) == "one"
    assert inner(path) == reads.text(path) == "two"


def test_snippets_within_snippets_count(small, write):
    write("snippets/a/inner.cu", "int a;\n")
    write("snippets/a/outer.cu", '--8<-- "snippets/a/inner.cu"\nint b;\n')
    path = write("docs/en/x.md", '# X\n\n```cuda\n--8<-- "snippets/a/outer.cu"\n```\n')
    for name in ("a", "c", "d"):
        write("snippets/a/inner.cu", f"int {name};\n")
        assert Page(small, path).blocks[0].code.split() == ["int", f"{name};", "int", "b;"]


def test_a_record_that_its_reader_changes_is_nobody_else_s(small, write):
    records.write(small, "softcuda", "x", records.empty())
    record = records.read(small, "softcuda", "x")
    record["programs"]["x/a.py"] = {}
    assert records.read(small, "softcuda", "x") == records.look(small, "softcuda", "x") == records.empty()


# What does not ask through reads.py: the caches, what is run or recorded, the modules and templates of the tool itself.
OTHERS = {
    "blocks/charts/layout.py",
    "blocks/ends.py",
    "blocks/explore.py",
    "blocks/mathematics.py",
    "exercises/commands.py",
    "exercises/progress.py",
    "records/profile.py",
    "records/recorder.py",
    "records/sass.py",
    "records/schema.py",
    "run/child.py",
    "run/run.py",
    "source/references.py",
}
DIRECT = {
    *("exists", "is_dir", "is_file", "stat", "glob", "rglob", "iterdir", "scandir"),
    *("open", "read_bytes", "read_text"),
}
OURS = {"read_text", "toml.read_text", "reads.exists", "reads.is_file"}  # the first is that of exercises.py


def test_rooms_that_remember_ask_for_files_through_reads():
    """Else a result would outlive an edit of a file that nobody noted."""
    package = here().root / "warpbook"
    found = []
    for path in (path for room in ROOMS for path in sorted((package / room).rglob("*.py"))):
        name = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in DIRECT and called not in OURS and name not in OTHERS:
                found.append(f"{name}:{node.lineno}: {called}")
    assert found == []
