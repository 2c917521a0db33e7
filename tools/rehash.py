"""Give the records new hashes after the way of hashing, or words that it counted, have changed: no GPU is asked.

    .venv/bin/python tools/rehash.py --before REVISION

REVISION is the commit before the change, at which the records were fresh. For every part of every record this shows

1. that its hash is the one that REVISION's own tooling finds for REVISION's own sources: the record was fresh then;
2. that today's tooling finds the same hash for REVISION's sources and for today's: nothing that computes has changed.

Only then is the part's hash replaced by today's. A part that fails 1 or 2 is left as it is, and named; the exit status
is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from warpbook.book import Book, BookError, here, write_json

# Run by REVISION's tooling, so it uses what both have. Prints the hash of each part of each article.
ASK = """
import json, sys
from pathlib import Path
from warpbook.book import Book
try:
    from warpbook.records import records
    from warpbook.source.pages import pair_of_pages
except ImportError:  # before warpbook/ had rooms
    from warpbook import records
    from warpbook.pages import pair_of_pages
book, out = Book(Path(sys.argv[1])), {}
for article in book.articles():
    found = {records.program_name(p): records.program_hash(book, p) for p in book.programs(article)}
    for page in pair_of_pages(book, article)[:1]:
        found["blocks"] = records.block_hashes(page)
        found |= {command: records.counters_hash(book, command, page.metrics) for command in page.counters}
    out[article] = found
print(json.dumps(out))
"""


def hashes(tooling: Path, sources: Path) -> dict[str, dict[str, Any]]:
    """By article and part, as the tooling of one tree finds them for the sources of another."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tooling), str(tooling / "snippets")])}
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(sources)], cwd=tooling, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BookError(f"the tooling of {tooling} cannot hash {sources}: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return answer


def rehash(book: Book, before: Path) -> list[str]:
    """Write today's hashes into the records; one line for each part that could not be proven the same."""
    then, words, now = hashes(before, before), hashes(book.root, before), hashes(book.root, book.root)
    wrong: list[str] = []
    for path in sorted(book.records.glob("*/*.json")):
        article, name = path.stem, book.relative(path)
        record = json.loads(path.read_text("utf-8"))

        def renewed(part: str, kept: Any, article: str = article, name: str = name) -> Any:
            if kept == now[article].get(part):
                return kept
            if kept != then[article].get(part):
                wrong.append(f"{name}: {part}: was not fresh before")
            elif words[article].get(part) != now[article].get(part):
                wrong.append(f"{name}: {part}: what computes has changed")
            else:
                return now[article][part]
            return kept

        for part, entry in [*record["programs"].items(), *record["counters"].items()]:
            entry["code"] = renewed(part, entry["code"])
        printed = record["blocks"]["printed"]
        codes = renewed("blocks", [block["code"] for block in printed]) if printed else []
        for block, code in zip(printed, codes, strict=True):
            block["code"] = code
        write_json(path, record)
    return wrong + rehash_lines(book, then, words, now)


def rehash_lines(book: Book, then: dict[str, Any], words: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The same for records/softcuda/lines: a program's entry has its hash, the page's own that of its last block."""
    wrong = []
    for path in sorted((book.records / "softcuda" / "lines").glob("*.json")):
        article = path.stem
        data = json.loads(path.read_text("utf-8"))

        def of(found: dict[str, Any], program: str, article: str = article) -> str:
            return str(found[article][program] if program else found[article]["blocks"][-1])

        for program, entry in data["programs"].items():
            if entry["code"] == of(then, program) and of(words, program) == of(now, program):
                entry["code"] = of(now, program)
            elif entry["code"] != of(now, program):
                wrong.append(f"{book.relative(path)}: {program or 'the page'}: cannot be proven the same")
        write_json(path, data)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, metavar="REVISION")
    options = parser.parse_args()
    book = here()
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        archive = subprocess.run(
            ["git", "archive", "--format=tar", options.before], cwd=book.root, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        wrong = rehash(book, Path(folder))
    print("\n".join([*wrong, f"{len(wrong)} parts left as they were" if wrong else "all records have today's hashes"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
