"""What the system refuses is one line, for every command: what, where, what to do; no traceback."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from warpbook import cli, tools
from warpbook.book import Book, explain, write_bytes, write_cache

COMMANDS = [
    ["serve"], ["site"], ["offline"], ["pdf"], ["audit"], ["record"], ["merge", "x"], ["check"], ["followed", "x"],
    ["links"], ["claims"], ["new", "x/y"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_full_disk_and_a_folder_that_cannot_be_written_are_one_line(arguments, monkeypatch, capsys):
    for number, advice in ((errno.ENOSPC, "free some space"), (errno.EROFS, "choose a place where you may write")):

        def refuse(*_, number=number):
            raise OSError(number, os.strerror(number), "/somewhere/site")

        monkeypatch.setattr(cli, "carry_out", refuse)
        assert cli.main(arguments) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"/somewhere/site: {os.strerror(number)}; {advice}") and said.count("\n") == 1


def test_output_that_cannot_be_written_is_one_line(book: Book):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "warpbook", "claims"],
            cwd=book.root,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(book.root)},
        )
    assert done.returncode == 1
    assert done.stderr == f"standard output: {os.strerror(errno.ENOSPC)}; free some space, or write to another disk\n"


def test_a_reader_that_has_left_is_no_error(book: Book):
    """`warpbook claims | head -0`"""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "warpbook", "claims"]
    environment = {**os.environ, "PYTHONPATH": str(book.root)}
    done = subprocess.run(command, cwd=book.root, stdout=writing, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(writing)
    assert done.returncode == 1 and done.stderr == ""


def test_what_is_said_names_the_place_that_was_written_to():
    assert (
        explain(OSError(errno.EXDEV, "Invalid cross-device link", "/a", None, "/b")) == "/b: Invalid cross-device link"
    )
    assert explain(OSError("cannot do it")) == "cannot do it"
    assert explain(OSError(errno.EIO, "Input/output error"), Path("/a")) == "/a: Input/output error"


def test_a_file_that_finds_no_room_is_named_and_stays(tmp_path, write):
    path = write("kept.txt", "old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(OSError, match="too large") as error:
            write_bytes(path, b"x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert error.value.filename == str(path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("kept.txt", "old")]


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_left_out(number, small: Book, monkeypatch):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    write_cache(small.root / ".cache" / "katex.json", {"a": 1})
    assert not list(small.root.rglob("*.json"))


def test_a_signal_ends_a_command_as_an_error_does(monkeypatch):
    ended = []

    def wait(*_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            ended.append("tidied")

    monkeypatch.setattr(cli, "carry_out", wait)
    with pytest.raises(SystemExit) as status:
        cli.main(["check"])
    assert status.value.code == 128 + signal.SIGTERM and ended == ["tidied"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


DRIVER = """import pathlib, signal, sys
signal.signal(signal.SIGINT, lambda *_: (pathlib.Path("closed").touch(), sys.exit()) if {listens} else None)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.parametrize(("listens", "status"), [(True, 0), (False, -signal.SIGKILL)])
def test_a_browsers_driver_ends_with_us_and_may_close_its_browser_first(tmp_path, listens, status):
    """Stopped in any way, the driver is interrupted; one that does not listen is killed."""

    def stopped(process):
        with tools.driving(process) as driver:
            assert driver.stdout.readline() == "ready\n"
            sys.exit()

    code = DRIVER.format(listens=listens)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    with pytest.raises(SystemExit):
        stopped(process)
    assert process.returncode == status and (tmp_path / "closed").exists() == listens
