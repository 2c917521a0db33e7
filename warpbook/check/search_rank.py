"""What readers type into the search box finds its page among the first three results: docs/queries.toml.

The index is made of the pages as `warpbook check` has read them, and the site's own worker is asked: no site is built.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from warpbook import reads, toml, tools
from warpbook.book import Book, BookError
from warpbook.site import search

FILE = "queries.toml"  # under docs/
SCRIPT = Path(__file__).with_name("search.mjs")
FORM = toml.table_of(toml.table_of(toml.TEXT))
FIRST = 3  # results that a reader looks at


def queries(book: Book, language: str) -> dict[str, str]:
    """The page that each query must find; none where there is no such file."""
    path = book.docs / FILE
    if not reads.exists(path):
        return {}
    found = toml.parse(toml.read_text(path, f"docs/{FILE}"), f"docs/{FILE}", FORM)
    return dict(found.get(language, {}))


def ask(site: Path, wanted: dict[str, str]) -> dict[str, list[str]]:
    """The addresses that the search of a built site, or of the part of it that is searched, finds for each query."""
    command = [tools.node(), str(SCRIPT), str(site), json.dumps(list(wanted))]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    if done.returncode:
        raise BookError(f"the search worker fails: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    return dict(zip(wanted, json.loads(done.stdout), strict=True))


def missed(answers: dict[str, list[str]], wanted: dict[str, str], language: str) -> list[str]:
    """One line for each query whose page is not among the first results."""
    return [
        f'docs/{FILE}: [{language}]: "{query}" finds {", ".join(found[:FIRST]) or "nothing"}, and {page} not among the '
        f"first {FIRST}; give that page words in docs/{search.FILE} (also), or the other less weight (boost)"
        for query, page in wanted.items()
        if f"{page}/" not in (found := answers[query])[:FIRST]
    ]


def documents_of(book: Book, language: str, source: str, searched: str) -> list[dict[str, Any]]:
    """What is searched of a page; `searched` is its HTML with its formulas as TeX."""
    name = source.removesuffix(".md")
    return search.documents(book, language, name, f"{name}/".removesuffix("index/"), searched)


def problems(book: Book, language: str, documents: list[dict[str, Any]]) -> list[str]:
    """As `missed`, of a site in which these documents are searched."""
    wanted = queries(book, language)
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        site = Path(folder)
        search.write(site, documents)
        theirs = material_worker()
        worker = site / search.WORKER
        worker.parent.mkdir(parents=True)
        worker.write_text(search.worker(book, theirs.name), "utf-8")
        shutil.copy(theirs, worker.parent)
        return missed(ask(site, wanted), wanted, language)


def material_worker() -> Path:
    import material  # type: ignore[import-untyped]

    folder = Path(str(material.__file__)).parent / "templates" / "assets" / "javascripts"
    return next(path for path in reads.listed(folder, "workers/*.js") if search.MATERIALS.search(path.as_posix()))
