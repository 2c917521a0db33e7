"""Lab pages: each program of snippets/ as a notebook, cell by cell, with what it printed.

mkdocs-jupyter cuts the program into cells and colours them. Its own page carries half a megabyte of styles and loaders
for MathJax and mermaid; the templates in cells/ make a page of the cells alone, in a quarter of the time, and the
site's own style sheet draws them. What it made is kept in .cache/labs, for both languages. The kernels that the
program loads follow, or stand beside it where the screen is wide; each line of each file is an anchor.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from warpbook import reads
from warpbook.blocks import ends, listings
from warpbook.blocks.outputs import Outputs
from warpbook.book import Book, BookError, write_cache
from warpbook.exports import notebooks
from warpbook.source.pages import Page

PREFIX = ends.PROGRAMS
TEMPLATES = Path(__file__).with_name("cells")
MAKERS = ("jupytext", "mkdocs-jupyter", "nbconvert", "pygments")
CODE = re.compile(r'<div class="[^"]*\bhighlight\b[^"]*">\s*<pre>(.*?)</pre>\s*</div>', re.DOTALL)
WORDS = {
    "en": {
        "intro": "A program of {article}, cell by cell. Run it with",
        "files": "({source}, {notebook})",
        "source": "the file itself",
        "notebook": "as a notebook",
        "beside": "Files it loads",
    },
    "zh": {
        "intro": "{article}的程序，逐个单元格列出。运行方式：",
        "files": "（{source}、{notebook}）",
        "source": "源文件",
        "notebook": "Notebook",
        "beside": "它加载的文件",
    },
}


def use_templates() -> None:
    """Have mkdocs-jupyter make a page of the cells alone."""
    from mkdocs_jupyter.config import settings

    settings.templates_dir = str(TEMPLATES)


def kept(book: Book, name: str, make: Callable[[], str]) -> str:
    """What mkdocs-jupyter makes of the program `name`, or made of the same code before."""
    made_by = [*(version(maker) for maker in MAKERS), *(p.read_text() for p in sorted(TEMPLATES.rglob("*.j2")))]
    key = hashlib.sha256("\0".join([*made_by, reads.text(book.root / name)]).encode()).hexdigest()
    file = (book.root / ".cache" / "labs" / name.removeprefix(PREFIX)).with_suffix(".json")
    try:
        cache = json.loads(file.read_text("utf-8"))
        if cache["key"] == key:
            return str(cache["html"])
    except (OSError, ValueError, KeyError):
        pass
    made = make()
    write_cache(file, {"key": key, "html": made})
    return made


def cells(notebook: str) -> list[str]:
    """The coloured code of each cell of mkdocs-jupyter's HTML."""
    marks = re.compile(r"^.*-8&lt;-.*\n?", re.MULTILINE)  # of sections
    codes = (marks.sub("", code) for code in CODE.findall(notebook))
    return [code.strip("\n") for code in codes if code.strip()]


def lab(book: Book, name: str, notebook: str, language: str, root: str, problems: list[str]) -> str:
    """HTML of the page of `name` (snippets/reduction/ladder.py). What is wrong is added to `problems`."""
    words = WORDS[language]
    program = name.removeprefix(PREFIX)
    article = program.split("/")[0]
    path = book.page_of(article, language)
    link = article
    if path:
        where = path.relative_to(book.docs / language).with_suffix("").as_posix()
        link = f'<a href="{root}{where}/">{html.escape(Page(book, path).title)}</a>'
    source_of = book.snippets / program
    text = reads.text(source_of).splitlines()
    blocks, at = "", 1
    for cell in cells(notebook):
        code, lines, at = listings.numbered(program, cell, text, at)
        blocks += (
            f'<div class="language-python highlight wb-cell" data-lines="{lines}"><pre><span></span>'
            f'<code id="{source_of.name}:{lines.partition("-")[0]}">{code}\n</code></pre></div>'
        )
    output = ""
    if path:
        try:
            output = Outputs(Page(book, path), language).of_program(program)  # the article reports what is stale
        except BookError as error:
            problems.append(f"snippets/{program}: {error}")
    files = words["files"].format(
        source=f'<a href="{Path(program).name}">{words["source"]}</a>',
        notebook=f'<a href="{root}{notebooks.address(name)}" download>{words["notebook"]}</a>',
    )
    intro = f"<p>{words['intro'].format(article=link)} <code>python snippets/{program}</code> {files}</p>"
    loaded = "".join(listings.of_file(file, of_it) for file, of_it in listings.beside(book, source_of).items())
    if not loaded:
        return f"<h1>{html.escape(program)}</h1>{intro}{blocks}{output}"
    return (
        f'<h1>{html.escape(program)}</h1>{intro}<div class="wb-lab"><div>{blocks}{output}</div>'
        f'<section tabindex="0" aria-label="{words["beside"]}">'
        f'<p class="wb-lab__beside">{words["beside"]}</p>{loaded}</section></div>'
    )
