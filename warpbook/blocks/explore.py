"""Interactive figures: `{{ explore:sectors stride=2 }}`, `{{ explore:banks }}`, `{{ explore:occupancy }}`.

Formulas, drawing and controls are JavaScript modules in theme/assets/explore. Node draws each figure at build by the
same modules that answer to the reader, so nothing moves when they start, and without a script the figure stands still.
"""

from __future__ import annotations

import hashlib
import html
import json
import shlex
import subprocess
from functools import lru_cache
from typing import Any

from warpbook import tools
from warpbook.book import Book, BookError, here, write_cache

FIGURES = ("sectors", "banks", "occupancy")
MODULES = here().root / "theme" / "assets" / "explore"
PROFILES = here().root / "softcuda" / "python" / "softcuda" / "profiles"
ATTRIBUTES = {  # of a device, as limits.js calls them
    "threads": "MAX_THREADS_PER_MULTIPROCESSOR",
    "blocks": "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "registers": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "reserved": "RESERVED_SHARED_MEMORY_PER_BLOCK",
}
DRAW = """
const {figure} = await import(`${folder}/figure.js`);
const {name, language, given, devices, id} = job;
let made;
try { made = {html: figure(name, await import(`${folder}/${name}.js`), language, given, devices, id)}; }
catch (error) { if (!(error instanceof RangeError)) throw error; made = {error: error.message}; }
answer(made);
"""
STILL = {
    "en": "This is how the figure starts; its controls need JavaScript.",
    "zh": "这是图的初始状态；其中的控件需要 JavaScript。",
}


def figure(book: Book, text: str, language: str, root: str) -> str:
    """HTML of `banks index="x*33"`. Raises BookError (without a place) for what cannot be drawn."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise BookError(f"explore:{text}: a quotation mark is not closed") from None
    if name not in FIGURES:
        raise BookError(f'nothing to explore is called "{name}"; there are: {", ".join(FIGURES)}')
    if wrong := next((word for word in words if "=" not in word), None):
        raise BookError(f'explore:{text}: "{wrong}" is not an option=value')
    given = dict(word.split("=", 1) for word in words)
    own = f"-{hashlib.sha256(text.encode()).hexdigest()[:6]}" if given else ""
    job = {"name": name, "language": language, "given": given, "devices": devices(), "id": f"explore-{name}{own}"}
    made = drawn(book, job)
    if "error" in made:
        raise BookError(f"explore:{text}: {made['error']}")
    address = html.escape(f"{root.removesuffix('/')}/" if root else "", quote=True)
    return (
        f'{made["html"]}<noscript><p class="wb-explore__still">{STILL[language]}</p></noscript>'
        f'<script type="module" src="{address}assets/explore/explore.js"></script>'
    )


def drawn(book: Book, job: dict[str, Any]) -> dict[str, str]:
    """What Node draws, or what the cache knows of it."""
    cache_file = book.root / ".cache" / "explore.json"
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(MODULES.glob("*.js")))).hexdigest()
    key = hashlib.sha256(json.dumps([sources, job]).encode()).hexdigest()
    try:
        cache: dict[str, dict[str, str]] = json.loads(cache_file.read_text("utf-8"))
    except (OSError, json.JSONDecodeError):
        cache = {}
    if key not in cache:
        cache[key] = ask(DRAW, job)
        write_cache(cache_file, cache)
    return cache[key]


def ask(code: str, job: Any) -> Any:
    """Run JavaScript with `job` and `folder`, where the modules are; what it gives to `answer`."""
    head = "import {readFileSync} from 'node:fs'; const {job, folder} = JSON.parse(readFileSync(0, 'utf8'));"
    tail = "const answer = (made) => process.stdout.write(JSON.stringify(made));"
    done = subprocess.run(
        [tools.node(), "--no-warnings", "--input-type=module", "-e", f"{head}{tail}{code}"],
        input=json.dumps({"job": job, "folder": MODULES.as_uri()}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error" in line] or ["no message"]
        raise BookError(f"theme/assets/explore: Node fails: {said[0]}")
    return json.loads(done.stdout)


@lru_cache
def devices() -> dict[str, dict[str, Any]]:
    """The devices that softcuda can be, with what limits occupancy on them: the H200 first, then the newest."""
    found = {}
    for path in PROFILES.glob("*.json"):
        profile = json.loads(path.read_text("utf-8"))
        if "compute_capability" in profile:
            found[path.stem] = described(profile)
    return dict(sorted(found.items(), key=lambda item: (item[0] != "h200", -item[1]["major"], item[1]["name"])))


def described(profile: dict[str, Any]) -> dict[str, Any]:
    major, minor = profile["compute_capability"]
    limits = {name: profile["attributes"][attribute] for name, attribute in ATTRIBUTES.items()}
    name = profile["name"].removeprefix("NVIDIA ").removeprefix("GeForce ")
    return {"name": f"{name} ({major}.{minor})", "major": major, **limits}
