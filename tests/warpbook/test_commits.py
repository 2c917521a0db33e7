"""What `make lint` asks of a commit's message."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.inputs("tools/commits.py")

TOOL = Path(__file__).parents[2] / "tools" / "commits.py"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch):
    """commit(message, …) in a repository of its own, whose first commit is older than the check."""
    for variable, value in {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}.items():
        monkeypatch.setenv(variable, value)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "older than the check, and no subject that it would take")
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    git(tmp_path, "add", ".")
    commit(tmp_path, "Check the messages of commits")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)


def check(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    command = [sys.executable, folder / "tools" / "commits.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr.splitlines()


RIGHT = [
    "Fix Han punctuation width in Firefox",
    "Refuse --output that is not a built site\n\nIt was deleted.",
    "Put warpbook/ into rooms that import one way only",
    "Pass addresses through",
    "Feed the parser from a file",
    "Bring back the fences",
    "Embed the font",
    "Re-read a page that changed meanwhile",
    'Revert "A subject that was long before anybody asked for fewer characters than it has"',
    "Rename " + 65 * "x",
]
WRONG = [
    ("Fixed the fences", "begins with “Fixed”"),
    ("Fixing the fences", "begins with “Fixing”"),
    ("Fixes the fences", "begins with “Fixes”"),
    ("The fences are right", "begins with “The”"),
    ("Paragraphs keep their places", "begins with “Paragraphs”"),
    ("fix the fences", "capitalised verb"),
    ("tools: fix the fences", "capitalised verb"),
    ("Tools: fix the fences", "capitalised verb"),
    ("字体", "capitalised verb"),
    ("Fix the fences.", "full stop"),
    ("Fix the fences\nin both languages", "second line"),
    ("Rename " + 66 * "x", "has 73 characters"),
]


@pytest.mark.parametrize("message", RIGHT)
def test_a_message_as_it_should_be(repository, message):
    commit(repository, message)
    assert check(repository) == (0, [])


@pytest.mark.parametrize(("message", "wrong"), WRONG)
def test_a_message_that_is_refused_in_one_line_and_how_to_mend_it(repository, message, wrong):
    commit(repository, message)
    status, (line, advice) = check(repository)
    assert status == 1
    assert wrong in line and f"“{message.splitlines()[0]}”" in line
    assert "git commit --amend" in advice and "git rebase -i" in advice


def test_commits_that_a_merge_brings_are_new_too(repository):
    git(repository, "checkout", "-q", "-b", "side", "HEAD^")
    commit(repository, "it was begun before the check")
    git(repository, "checkout", "-q", "main")
    commit(repository, "Fix the fences")
    git(repository, "merge", "-q", "--no-ff", "-m", "merge branch side", "side")
    status, (line, _) = check(repository)
    assert status == 1 and "it was begun" in line


def test_a_range_of_ones_own(repository):
    commit(repository, "Fixed the fences")
    commit(repository, "Add a gate")
    assert check(repository, "HEAD^..HEAD") == (0, [])
    assert check(repository, "HEAD^^..HEAD")[0] == 1


def test_a_shallow_clone_does_not_fail(repository, tmp_path_factory):
    commit(repository, "Add a gate")
    folder = tmp_path_factory.mktemp("clone") / "book"
    git(repository, "clone", "-q", "--depth", "1", repository.as_uri(), str(folder))
    assert check(folder) == (0, [])


def test_a_folder_without_git_does_not_fail(repository):
    shutil.rmtree(repository / ".git")
    assert check(repository) == (0, [])


def test_an_archive_inside_another_repository_does_not_fail(repository):
    """Whose commits are none of ours."""
    inner = repository / "vendored"
    shutil.copytree(repository / "tools", inner / "tools")
    commit(repository, "Fixed the fences")
    assert check(inner) == (0, [])
