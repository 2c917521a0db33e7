"""What a reader's device must fetch and do for each page, held against targets and against what was measured before.

`make audit` builds the site, serves it compressed on this machine, opens every page of both languages in Chromium as
a telephone would (tools/audit.mjs), and has Lighthouse judge six of them. What it found is one table; the committed
baseline (audit.json) keeps what a page was like before. The weight of a page needs no browser, and `make test` holds
pages to it too.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import platform
import re
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from warpbook import tools
from warpbook.book import DEVELOPERS, Book, BookError, write_json
from warpbook.site.style import FONTS, glyphs

MOST_BYTES = 150_000  # compressed, on first load by a telephone
MOST_SHIFT = 0.02  # of the layout, while a page loads and is read to its end (cumulative layout shift)
LEAST = {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100}
JUDGED = (
    "",
    "models/attention/",
    "snippets/softmax/softmax/",
)  # by Lighthouse, in each language: home, an article, a lab
RUNS = 3  # of Lighthouse; the median counts
# How much worse than the baseline a page may be before it is reported. Lighthouse's points vary from run to run.
MORE_BYTES = 0.03
MORE_SHIFT = 0.005
FEWER_POINTS = 2

TYPES = (".html", ".css", ".js", ".mjs", ".json", ".svg", ".txt", ".xml", ".md", ".ipynb")  # are sent compressed


@dataclass(frozen=True)
class Weight:
    """Of a page's first load: bytes as sent (gzip -9), without headers, and how many files."""

    bytes: int
    requests: int


@dataclass(frozen=True)
class Seen:
    """Of a page in a browser. LCP: ms until the largest part of the first screen is drawn, not slowed down."""

    bytes: int
    requests: int
    shift: float
    lcp: int
    axe: int
    problems: tuple[str, ...]  # requests to other hosts, errors, axe's rules


# -- without a browser -------------------------------------------------------------------------------------------------

LINKED = re.compile(
    r'<link rel="(?:stylesheet|icon)"[^>]* href="([^"]+)"|<(?:script|img)\b[^>]* src="([^"]+)"'
)  # not data-src
IMPORTED = re.compile(r'(?:^|[;\n])\s*(?:import|export)\b[^"\';]*["\'](\.[^"\']+)["\']')


def pages(site: Path) -> list[str]:
    """Addresses of all pages but the contributors', English ones first: `models/attention/`."""
    found = [path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")]
    found = [name for name in found if name.split("/")[0] != DEVELOPERS]
    return sorted(
        (f"{name}/" if name != "." else "" for name in found), key=lambda name: (name.startswith("zh/"), name)
    )


def weigh(site: Path, page: str) -> Weight:
    """What the page, its sheet, the scripts that come at once and the fonts of its formulas weigh together."""
    text = (site / page / "index.html").read_text("utf-8")
    files = {site / page / "index.html"}
    wanted = [(site / page / (style or script)).resolve() for style, script in LINKED.findall(text)]
    while wanted:
        path = wanted.pop()
        if path not in files:
            files.add(path)
            if path.suffix == ".js" and "javascripts" not in path.parts:
                wanted += [(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text("utf-8"))]
    assets = (site / "zh" if page.startswith("zh/") else site) / FONTS
    files |= {assets / f"KaTeX_{face}.woff2" for face, shown in glyphs([text]).items() if shown}
    return Weight(sum(sent(path) for path in files), len(files))


@functools.cache
def sent(path: Path) -> int:
    return len(compressed(path))


def compressed(path: Path) -> bytes:
    """A file as GitHub Pages would send it."""
    content = path.read_bytes()
    return gzip.compress(content, 9, mtime=0) if path.suffix in TYPES else content


# -- with one ----------------------------------------------------------------------------------------------------------


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site on a port of this machine, compressed and as lasting as on GitHub Pages."""
    kept: dict[Path, bytes] = {}

    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            path = Path(self.translate_path(self.path))
            path = path / "index.html" if path.is_dir() else path
            if not path.is_file():
                self.send_error(404)
                return
            if path not in kept:
                kept[path] = compressed(path)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(path))
            if path.suffix in TYPES:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(kept[path])))
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            self.wfile.write(kept[path])

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def report(line: str) -> None:
    print(line, flush=True)


def look(book: Book, address: str, names: list[str], report: Callable[[str], None] = report) -> dict[str, Seen]:
    """Open each page as a telephone, read it to its end, let axe look at it in light and dark."""
    chromium = tools.chromium()
    if not chromium:
        raise BookError(tools.CHROMIUM_ADVICE)
    script = book.root / "tools" / "audit.mjs"
    command = [tools.node(), str(script), str(tools.modules(book)), chromium, address]
    found: dict[str, Seen] = {}
    with tools.driving(
        subprocess.Popen([*command, json.dumps(names)], stdout=subprocess.PIPE, text=True, encoding="utf-8")
    ) as process:
        assert process.stdout
        for line in process.stdout:
            one = json.loads(line)
            name = one.pop("page")
            found[name] = Seen(**one | {"problems": tuple(one["problems"])})
            report(row(name, found[name]))
    if process.returncode or set(found) != set(names):
        raise BookError("the browser stopped; what it said is above")
    return found


def judge(book: Book, address: str, page: str) -> dict[str, float]:
    """Lighthouse's points for a page on a telephone, medians of some runs; TBT and LCP in ms; the machine's speed."""
    entry = tools.modules(book) / "lighthouse" / "cli" / "index.js"
    if not entry.exists():
        raise BookError("node_modules/lighthouse is missing; run `make setup`")
    options = [
        "--quiet",
        "--output=json",
        "--chrome-flags=--headless=new --no-sandbox",
        f"--only-categories={','.join(LEAST)}",
    ]
    found = []
    for _ in range(RUNS):
        done = tools.drive(
            [tools.node(), str(entry), address + page, *options],
            env=os.environ | {"CHROME_PATH": tools.chromium() or ""},
        )
        if done.returncode:
            raise BookError(f"Lighthouse: /{page}: {done.stderr.strip().splitlines()[-1:]}")
        report = json.loads(done.stdout)
        scores = {name: round(100 * report["categories"][name]["score"]) for name in LEAST}
        audits = {"lcp": "largest-contentful-paint", "tbt": "total-blocking-time"}
        times = {name: round(report["audits"][audit]["numericValue"]) for name, audit in audits.items()}
        found.append(scores | times | {"benchmark": round(report["environment"]["benchmarkIndex"])})
    return {name: statistics.median(run[name] for run in found) for name in found[0]}


# -- what is found -----------------------------------------------------------------------------------------------------


def row(name: str, seen: Seen) -> str:
    marks = "; ".join(missed(seen))
    figures = f"{seen.bytes / 1000:7.1f} KB {seen.requests:5}  {seen.shift:.3f} {seen.lcp:5} ms {seen.axe:3}"
    return f"/{name:<58} {figures}  {marks}".rstrip()


def missed(seen: Weight | Seen) -> list[str]:
    """Targets that a page misses."""
    out = []
    if seen.bytes > MOST_BYTES:
        out.append(f"weighs {seen.bytes / 1000:.1f} KB, and {MOST_BYTES // 1000} is the most")
    if isinstance(seen, Seen):
        if seen.shift > MOST_SHIFT:
            out.append(f"moves by {seen.shift:.3f} as it loads or is read, and {MOST_SHIFT} is the most")
        out += seen.problems
    return out


def short(points: dict[str, float]) -> list[str]:
    """Lighthouse's points that are too few."""
    return [
        f"{name}: {points[name]:g} points, and {least} is the least"
        for name, least in LEAST.items()
        if points[name] < least
    ]


def worse(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """What is worse than in the baseline by more than is allowed, of figures by name."""
    out = []
    for name, was in before.items():
        value = now.get(name, was)
        least = {"bytes": was * (1 + MORE_BYTES), "requests": was, "axe": was, "shift": was + MORE_SHIFT}
        if name in least and value > least[name]:
            out.append(f"{name}: {value:g}, and {was:g} before")
        if name in LEAST and value < was - FEWER_POINTS:
            out.append(f"{name}: {value:g} points, and {was:g} before")
    return out


def path_of(book: Book) -> Path:
    return book.root / "audit.json"


def baseline(book: Book) -> dict[str, Any]:
    """{"pages": {page: figures}, "lighthouse": {page: points and times}, "machine": on what they were found}."""
    try:
        return dict(json.loads(path_of(book).read_text("utf-8")))
    except FileNotFoundError:
        return {"pages": {}, "lighthouse": {}, "machine": ""}
    except ValueError:
        raise BookError("audit.json: cannot be read; write it anew with `make audit ARGS=--update`") from None


def audit(
    book: Book,
    site: Path,
    only: str = "",
    quick: bool = False,
    update: bool = False,
    report: Callable[[str], None] = report,
) -> list[str]:
    """Measure the pages whose address starts with `only` (in either language), and unless `quick` with Lighthouse too.

    What is wrong, a line each. `update` takes what was found into the baseline, instead of comparing with it.
    """
    before = baseline(book)
    names = [name for name in pages(site) if name.removeprefix("zh/").startswith(only)]
    judged = [place + page for page in JUDGED for place in ("", "zh/") if page.startswith(only) and not quick]
    if not names:
        raise BookError(f'{site}: no page whose address starts with "{only}"')
    report(f" {'page':<58} {'first load':>10} files  shift      LCP axe")
    with served(site) as address:
        seen = look(book, address, names, report)
        points: dict[str, dict[str, float]] = {}
        for page in judged:
            points[page] = judge(book, address, page)
            report(f"/{page:<44} " + ", ".join(f"{name} {value:g}" for name, value in points[page].items()))
    wrong = [f"/{name}: {what}" for name, one in seen.items() for what in missed(one)]
    wrong += [f"/{name}: {what}" for name, found in points.items() for what in short(found)]
    # Bytes as they are counted without a browser, so that `make test` holds pages to the same figures.
    figures = {name: asdict(weigh(site, name)) | {"shift": one.shift, "axe": one.axe} for name, one in seen.items()}
    if update:
        kept = {name: figures.get(name) or before["pages"].get(name) for name in pages(site)}
        made = {
            "machine": machine() if points else before["machine"],
            "lighthouse": before["lighthouse"] | points,
            "pages": {name: one for name, one in kept.items() if one},
        }
        write_json(path_of(book), made)
        return wrong
    wrong += [f"/{name}: {what}" for name, one in figures.items() for what in worse(one, before["pages"].get(name, {}))]
    wrong += [
        f"/{name}: {what}" for name, one in points.items() for what in worse(one, before["lighthouse"].get(name, {}))
    ]
    return wrong


def machine() -> str:
    """Where Lighthouse's times were found."""
    cpu = (
        re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    )
    return f"{cpu[1].strip() if cpu else platform.processor()}, {os.cpu_count()} processors"
