"""The messages of new commits: an imperative subject of at most 72 characters, and the why in the body.

    python tools/commits.py            all commits since this check exists; `make lint` calls it
    python tools/commits.py RANGE      of `git log RANGE`

Without git, or where a shallow clone has no history, there is nothing to check.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 72

# First words of a sentence or of a noun phrase, where a verb belongs.
NO_VERBS = """
a after all also an and another any as at because before both but by each every few first for from how if in into it
its last less many more most much new no nobody none not nothing now of old on once one only or other our several since
so some somebody something still such than that the their them then there these they this those to two until we what
when where whether which while who whoever why with without you your
"""
# Verbs that end as past forms, participles or third persons do.
VERBS = """
alias bias bring cling embed fling focus ping ring shed shred sing sling spring sting string swing wing wed
"""


@dataclass(frozen=True)
class Commit:
    name: str  # its short hash
    message: str


def problem(message: str) -> str | None:
    """What is wrong with a commit's message, as the end of a sentence that begins with its subject."""
    subject, *body = message.rstrip("\n").split("\n")
    if body and body[0].strip():
        return "is followed by text at once: leave the second line blank"
    if subject.startswith('Revert "'):
        return None  # git's own
    if len(subject) > LONGEST:
        return f"has {len(subject)} characters: at most {LONGEST}, and the why in the body"
    if subject.endswith((".", "。")):
        return "ends with a full stop: leave it out"
    found = re.match(r"[A-Za-z]+(?=[\s-]|$)", subject)
    if not found or not subject[0].isupper():
        return "does not begin with a capitalised verb, as “Fix the width of Han punctuation” does"
    first = found[0].lower()
    if first in NO_VERBS.split() or (first not in VERBS.split() and re.search(r"(?<!e)ed$|ing$|[^s]s$", first)):
        return f"begins with “{found[0]}”: say what the commit does in the imperative, as “Fix” or “Add”"
    return None


def git(*arguments: str) -> str | None:
    """What git says, or nothing where it cannot."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", errors="replace")
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def commits(revisions: list[str]) -> list[Commit]:
    """Newest first; merges have a subject of git's own."""
    log = git("log", "--no-merges", "-z", "--format=%h%n%B", *revisions, "--") or ""
    parts = [entry.partition("\n") for entry in log.split("\0") if entry]
    return [Commit(name, message) for name, _, message in parts]


def new_commits() -> list[Commit]:
    """Since the commit that brought this check, and those of branches that were merged after it."""
    own = Path(__file__).resolve().relative_to(ROOT).as_posix()
    first = (git("log", "--diff-filter=A", "--format=%H", "--", own) or "").split()
    if not first:
        return []
    before = git("rev-parse", "--verify", "--quiet", f"{first[-1]}^")
    return commits(["HEAD", f"^{(before or first[-1]).strip()}"])


def main(arguments: list[str]) -> int:
    checked = commits(arguments) if arguments else new_commits()
    wrong = [(commit, found) for commit in checked if (found := problem(commit.message))]
    for commit, found in wrong:
        print(f"{commit.name} “{commit.message.splitlines()[0] if commit.message else ''}” {found}", file=sys.stderr)
    if wrong:
        print("  the last commit: git commit --amend; an earlier one: git rebase -i HASH^, and reword", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
