"""The site's style sheet: one file for the reader, and fonts of the glyphs that the site shows.

It is assembled from Material's sheets, KaTeX's, and our own parts that each have one meaning. Of Material's and
KaTeX's a built site keeps the rules that some page or script can use (`trim`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

import material  # type: ignore[import-not-found,import-untyped,unused-ignore]
import tinycss2  # type: ignore[import-untyped,unused-ignore]
from tinycss2.ast import AtRule, Declaration, Node, QualifiedRule  # type: ignore[import-untyped,unused-ignore]

from warpbook import tools
from warpbook.book import Book
from warpbook.site import minify

FOLDER = "style"  # under theme/
PARTS = (  # later ones win
    "colours",
    "frame",
    "text",
    "reading",
    "code",
    "listings",
    "numbers",
    "charts",
    "explore",
    "exercises",
    "map",
    "labs",
    "home",
    "whole",
    "screens",
)
ADDRESS = "assets/site.css"
FONTS = "assets/katex/fonts"
OURS = "/* Warpbook */"  # what follows is kept whole
MATERIAL = Path(material.__file__).parent / "templates" / "assets" / "stylesheets"


def sheet(book: Book) -> str:
    """The whole sheet: Material's, KaTeX's, and ours in the order of `PARTS`."""
    [main], [palette] = (list(MATERIAL.glob(f"{name}.*.min.css")) for name in ("main", "palette"))
    katex = tools.modules(book) / "katex" / "dist" / "katex.min.css"
    theirs = [re.sub(r"/\*#.*?\*/", "", path.read_text("utf-8")) for path in (main, palette)]
    set_ = re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(\"\w+\"\)", "", katex.read_text("utf-8"))
    theirs.append(set_.replace("url(fonts/", "url(katex/fonts/"))
    ours = [(book.root / "theme" / FOLDER / f"{part}.css").read_text("utf-8") for part in PARTS]
    return "\n".join([*theirs, OURS, *ours])


def is_theirs(name: str) -> bool:
    """Whether an address is of a sheet that is part of ours."""
    return name.startswith("assets/stylesheets/")


# -- of a built site, what is used -------------------------------------------------------------------------------------

CLASSES = re.compile(r'\s(?:class|id|data-md-color-\w+)="([^"]*)"')
NAME = re.compile(r"[\w-]+")
STRING = re.compile(r'"([^"\n]*)"|\'([^\'\n]*)\'|`([^`]*)`')
# What Material's script puts into a page; it knows of much else that no page has.
MADE = re.compile(
    r"js\Z|focus-visible\Z|md-(annotation|clipboard|code|content|dialog|header|icon|nav|search|sidebar|tooltip|top|typeset)"
)
GLYPHS = re.compile(r'<span(?: class="([^"]*)")?(?: style="[^"]*")?>([^<\s][^<]*)')
END = re.compile(r"<(?!/?(?:span|svg|path|line)\b)|\Z")  # of a formula
FACES = {  # of KaTeX's classes, in the order of katex.min.css; what has none of them is in Main-Regular
    "mathnormal": "Math-Italic",
    "mathit": "Main-Italic",
    "mathbf": "Main-Bold",
    "textbf": "Main-Bold",
    "textit": "Main-Italic",
    "boldsymbol": "Math-BoldItalic",
    "amsrm": "AMS-Regular",
    "mathbb": "AMS-Regular",
    "mathcal": "Caligraphic-Regular",
    "mathfrak": "Fraktur-Regular",
    "mathscr": "Script-Regular",
    "mathsf": "SansSerif-Regular",
    "textsf": "SansSerif-Regular",
    "mathtt": "Typewriter-Regular",
    "texttt": "Typewriter-Regular",
    "size1": "Size1-Regular",
    "size2": "Size2-Regular",
    "size3": "Size3-Regular",
    "size4": "Size4-Regular",
    "small-op": "Size1-Regular",
    "large-op": "Size2-Regular",
}
PIECES = ("Size1-Regular", "Size4-Regular")  # of which tall brackets are put together, in spans without a class


def glyphs(pages: Iterable[str]) -> dict[str, set[str]]:
    """By face, the characters that formulas are set with.

    >>> found = glyphs(['<span class="katex-html"><span class="mord mathnormal">x</span><span class="mord">1</span>'])
    >>> found["Math-Italic"], found["Main-Regular"]
    ({'x'}, {'1'})
    """
    found: dict[str, set[str]] = {face: set() for face in ("Main-Regular", *FACES.values())}
    for page in pages:
        for formula in page.split('<span class="katex-html"')[1:]:
            for classes, text in GLYPHS.findall(END.split(formula, maxsplit=1)[0]):
                faces = {FACES[name] for name in classes.split() if name in FACES} or {"Main-Regular"}
                for face in faces if classes else (*faces, *PIECES):
                    found[face].update(text)
    return found


def trim(site: Path) -> None:
    """Take out of a built site's sheet the rules, and out of its fonts the glyphs, that nothing on it uses."""
    names: set[str] = set()
    pages = [page.read_text("utf-8") for page in site.rglob("*.html")]
    for page in pages:
        for classes in set(CLASSES.findall(page)):
            names.update(classes.split())
    for script in site.rglob("assets/**/*.js"):
        text = script.read_text("utf-8")
        if "javascripts" not in script.parts:
            script.write_text(minify.script(text), "utf-8")
        strings = STRING.findall(text)
        said = {name for string in strings for name in NAME.findall("".join(string))}
        names.update(filter(MADE.match, said) if "javascripts" in script.parts else said)
    for path in site.rglob("assets/*.css"):
        if path.name != Path(ADDRESS).name:  # of a few pages
            path.write_text(minify.style(path.read_text("utf-8")), "utf-8")
    for path in site.rglob(ADDRESS):
        theirs, ours = path.read_text("utf-8").split(OURS)
        ours = minify.style(ours)
        path.write_text(used(theirs, names, ours) + ours, "utf-8")
    shown = {face: wanted for face, wanted in glyphs(pages).items() if wanted}
    made: dict[str, bytes] = {}
    for font in site.rglob(f"{FONTS}/*.woff2"):
        face = font.stem.removeprefix("KaTeX_")
        if face in shown:
            made[face] = made.get(face) or subset(font.read_bytes(), shown[face])
            font.write_bytes(made[face])


def used(sheet: str, names: set[str], beside: str = "") -> str:
    """The rules whose classes and ids are all among `names`, and the custom properties that a rule or `beside` reads.

    >>> used(".a{--x:1}.a .b{top:0}.b:not(.c){top:var(--y)}:root{--y:0}", {"b"})
    '.b:not(.c){top:var(--y)}:root{--y:0}'
    """
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    kept = "".join(written(rule, names) for rule in rules)
    while True:
        read = set(re.findall(r"var\(\s*(--[\w-]+)", kept + beside))
        rules = tinycss2.parse_stylesheet(kept, skip_comments=True, skip_whitespace=True)
        less = "".join(written(rule, None, read) for rule in rules)
        if less == kept:
            return less
        kept = less


def written(rule: Node, names: set[str] | None, read: set[str] | None = None) -> str:
    """A rule with what can apply of it; empty where nothing can. With `names` None every selector can."""
    if isinstance(rule, QualifiedRule):
        selectors = [s for s in split(rule.prelude) if names is None or may_match(s, names)]
        body = declarations(rule.content, read)
        return f"{','.join(tinycss2.serialize(s).strip() for s in selectors)}{{{body}}}" if selectors and body else ""
    if isinstance(rule, AtRule) and rule.lower_at_keyword in ("media", "supports") and rule.content is not None:
        inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
        body = "".join(written(one, names, read) for one in inner)
        return f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{body}}}" if body else ""
    return str(rule.serialize())


def declarations(content: list[Node], read: set[str] | None) -> str:
    if read is None:
        return str(tinycss2.serialize(content))
    listed = tinycss2.parse_declaration_list(content, skip_comments=True, skip_whitespace=True)
    return ";".join(
        tinycss2.serialize([one]).rstrip(";")
        for one in listed
        if not (isinstance(one, Declaration) and one.name.startswith("--") and one.name not in read)
    )


def split(prelude: list[Node]) -> list[list[Node]]:
    """The selectors of a list."""
    out: list[list[Node]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            out.append([])
        else:
            out[-1].append(token)
    return out


def may_match(selector: list[Node], names: set[str]) -> bool:
    """Whether all that it asks for by name is there; what stands within :is(), :not() and the like is not looked at."""
    for before, token in zip([None, *selector], selector, strict=False):
        is_class = before is not None and before.type == "literal" and before.value == "."
        if token.type == "ident" and is_class and token.value not in names:
            return False
        if token.type == "hash" and token.value not in names:
            return False
        if token.type == "[] block":
            attribute, _, value = tinycss2.serialize(token.content).partition("=")
            if attribute == "dir" and value == "rtl":  # no language of ours
                return False
            if attribute.startswith("data-md-color-") and value and value not in names:
                return False
    return True


def subset(font: bytes, shown: Iterable[str]) -> bytes:
    """A font with the glyphs of these characters only."""
    from fontTools import subset as subsetter  # type: ignore[import-untyped,unused-ignore]
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped,unused-ignore]

    opened = TTFont(io.BytesIO(font), recalcTimestamp=False)  # the same pages give the same font
    options = subsetter.Options(flavor="woff2", hinting=False, layout_features=[], name_IDs=[1, 2], glyph_names=False)
    made = subsetter.Subsetter(options)
    made.populate(unicodes=[ord(c) for c in shown])
    made.subset(opened)
    out = io.BytesIO()
    subsetter.save_font(opened, out, options)
    return out.getvalue()
