"""ES modules as one classic script, for pages opened from a folder: there browsers load no modules.

It knows what the modules of theme/assets/explore use: named imports and exports, one a line, and import() of a module
beside them. All else is an error, not a guess.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpbook.blocks import explore
from warpbook.book import BookError

IMPORT = re.compile(r'^import \{(?P<names>[^}]*)\} from "(?P<module>\./[\w.-]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) )", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
EXPORTS = "const made = {}; for (const url of job) made[url] = Object.keys(await import(url)); answer(made);"


def classic(folder: Path, entry: str) -> str:
    """The script that does what `<script type="module" src="ENTRY">` does, with all modules of `folder` in it."""
    sources = {f"./{path.name}": path.read_text("utf-8") for path in sorted(folder.glob("*.js"))}
    main = f"./{entry}"
    urls = {name: (folder / name).as_uri() for name in sources if name != main}
    exported = explore.ask(EXPORTS, list(urls.values()))

    def module(name: str) -> str:
        gives = ", ".join(exported[urls[name]])
        return f'modules["{name}"] = (() => {{\n{body(name, sources[name])}\nreturn {{ {gives} }};\n}})();'

    parts = [module(name) for name in in_order(sources) if name != main]
    start = '"use strict";\n(() => {\nconst modules = {};\nconst imported = async (name) => modules[name];'
    return "\n".join([start, *parts, body(main, sources[main]), "})();\n"])


def in_order(sources: dict[str, str]) -> list[str]:
    """The modules, each after those that it imports."""
    out: list[str] = []

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise BookError(f"{name}: modules import each other in a circle: {' → '.join([*way, name])}")
        if name not in sources:
            raise BookError(f"{way[-1]}: there is no module {name}")
        for match in IMPORT.finditer(sources[name]):
            visit(match["module"], (*way, name))
        if name not in out:
            out.append(name)

    for name in sources:
        visit(name, ())
    return out


def body(name: str, source: str) -> str:
    def taken(match: re.Match[str]) -> str:
        return f'const {{{match["names"].replace(" as ", ": ")}}} = modules["{match["module"]}"];\n'

    text = EXPORT.sub("", IMPORT.sub(taken, source))
    if left := LEFT.search(text):
        raise BookError(f"{name}: this form cannot be bundled: {left[0]}")
    return re.sub(r"\bimport\(", "imported(", text)
