"""A page as the site shows it: the expanded text with values in its prose, outputs under its blocks.

What Markdown must not touch (outputs, charts, tables of claims) stands in the text as a token in a paragraph of
its own, and `place` puts the HTML there afterwards.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from warpbook.blocks import charts, devices, explore, ledger, line_counters, listings
from warpbook.blocks.outputs import Outputs
from warpbook.book import SOFTCUDA, BookError
from warpbook.numbers import hold_together
from warpbook.records import claims, lines, records
from warpbook.records.values import Values, render, substitute
from warpbook.source import changes, errata, glossary, prose, tracks
from warpbook.source.pages import EXPRESSION, Block, Page

CJK = r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]"
STOPS = "，。；：、！？）」』】》"  # full-width: they carry their own blank
LEGIBLE = 10  # CSS pixels: the smallest letters of a drawing, on the smallest screen
DIRECTIVE = re.compile(
    r"(claims|notes|changes|glossary|errata|tracks|track|paths|articles|ledger|score|devices|"
    r"lines:[\w#@./-]+|gutter:[\w:#@./-]+|chart:[^{}]+|explore:[^{}]+|"
    r"figure:[a-z0-9_-]+|output:[\w./-]+)\Z"
)
WRITTEN = ("changes", "glossary", "errata", "tracks", "track", "paths", "articles")  # as Markdown, by `written`
NOTE = re.compile(r"\[\^[^\]]+\]:")
WORDS = {
    "en": {
        "claim": "Claim",
        "predicted": "Predicted",
        "measured": "Measured",
        "gate": "Held to",
        "source": "Source",
        "published": "published: {} ({})",
        "sources": "Sources",
        "pending": "not yet measured on a GPU",
        "prediction": "Prediction",
        "gates": "Regression gates: set after measuring, so that a change for the worse is noticed",
        "verdict": "Verdict",
    },
    "zh": {
        "claim": "结论",
        "predicted": "预测",
        "measured": "实测",
        "gate": "检验门槛",
        "source": "出处",
        "published": "公布值：{}（{}）",
        "sources": "出处",
        "pending": "尚未在 GPU 上实测",
        "prediction": "预测是否准确",
        "gates": "回归门槛：实测之后设定，用来发现性能退化",
        "verdict": "判定",
    },
}

SHOWN_PROGRAM = re.compile(r'^(\s*(?:```+|~~~+)\s*)text( .*title="[^"]*\.py".*)$')


@dataclass
class Rendered:
    """Markdown for the site, the HTML behind its tokens, and one line for each thing wrong."""

    markdown: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def markdown_of(page: Page, language: str, values: Values, root: str = "") -> Rendered:
    """The page's Markdown after expansion. A missing value is a problem and a `?`, so that a preview goes on."""
    out = Rendered()
    lines: list[str] = []
    fenced = {block.start: block for block in page.blocks}
    closing = ends(page)
    outputs = Outputs(page, language)
    out.problems += outputs.problems()
    listing: Block | None = None  # the last one shown
    python = 0
    i = 0
    while i < len(page.lines):
        block = fenced.get(i)
        if block:
            end = i + len(block.lines) + 1
            fence, *rest = (line.text for line in page.lines[i : end + 1])
            # A program that is shown and not run here has its colours: blocks of py3 are never run.
            lines += [SHOWN_PROGRAM.sub(r"\1py3\2", fence), *rest]
            listing = block
            if block.is_python:
                add_token(out, lines, outputs.box(python), block.indent)
                python += 1
            i = end + 1
            continue
        line = page.lines[i]
        where = f"{page.name}:{line.page_number}"
        alone = EXPRESSION.fullmatch(line.text.strip())
        directive = DIRECTIVE.match(alone[1]) if alone else None
        if directive and directive[1] in WRITTEN:
            lines += tried(
                out, where, language, partial(written, out, directive[1], page, language, values, root)
            ).split("\n")
        elif directive and directive[1] == "notes":
            add_token(
                out, lines, tried(out, where, language, partial(listings.notes, page, i, listing)), indent_of(line.text)
            )
        elif directive:
            shown = partial(show, page, language, values, directive[1], outputs, root, listing)
            made = tried(out, where, language, shown)
            add_token(out, lines, made, indent_of(line.text))
        else:
            text = substitute(line.text, partial(value, out, where, page, language, values, root))
            join(lines, text, fresh=i == 0 or (i - 1) in closing)
        i += 1
    out.problems += prose.bare(page)
    out.markdown = "\n".join(with_heading(lines, WORDS[language]["sources"])) + "\n"
    return out


def with_heading(lines: list[str], title: str) -> list[str]:
    """The page's footnotes under a heading of their own, where they stand together at its end."""
    notes = [i for i, line in enumerate(lines) if NOTE.match(line)]
    if not notes or any(line.startswith("## ") for line in lines[notes[0] :]):
        return lines
    return [*lines[: notes[0]], f"## {title} {{ #sources }}", "", *lines[notes[0] :]]


def indent_of(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def ends(page: Page) -> set[int]:
    return {block.start + len(block.lines) + 1 for block in page.blocks}


def join(lines: list[str], text: str, fresh: bool) -> None:
    """Add a line of prose. A line break between Han characters or after a full stop would be a blank, so it goes."""
    before = lines[-1] if lines and not fresh else ""
    han = re.search(rf"{CJK}$", before) and re.match(rf"\s*{CJK}", text)
    stop = re.search(f"[{STOPS}]$", before) and re.match(r"\s*(?!\d+\.\s|\*\s|\[\^)[\w$`*\[]", text)
    if (han or stop) and not before.lstrip().startswith(("#", ">", "!!!", "???", "===")):
        lines[-1] = before + text.lstrip()
    else:
        lines.append(text)


def value(out: Rendered, where: str, page: Page, language: str, values: Values, root: str, text: str) -> str:
    if prose.is_mark(text):
        return tried(out, where, language, partial(prose.mark, text, page, language))
    return tried(out, where, language, partial(render, text, page.article, language, values, root))


def written(out: Rendered, what: str, page: Page, language: str, values: Values, root: str) -> str:
    """Markdown put together from elsewhere: the glossary's terms, all corrections, all changes, reading order."""
    if what == "changes":
        return "\n".join(changes.markdown(page.book, language))
    if what == "glossary":
        return "\n".join(glossary.markdown(page.book, language))
    if what != "errata":
        return "\n".join(tracks.markdown(page.book, what, language, page))
    return "\n".join(
        errata.markdown(
            page.book, language, page, lambda of, where, text: value(out, where, of, language, values, root, text)
        )
    )


def tried(out: Rendered, where: str, language: str, make: Callable[[], str]) -> str:
    """What `make` gives; in its place words where a GPU has not been asked yet, or a `?` where something is wrong."""
    try:
        return make()
    except records.PendingError:
        return f'<span class="wb-pending">{WORDS[language]["pending"]}</span>'
    except BookError as error:
        if not any(problem.endswith(f": {error}") for problem in out.problems):  # once a page
            out.problems.append(f"{where}: {error}")
        return '<span class="wb-missing">?</span>'


def add_token(out: Rendered, lines: list[str], made: str, indent: str) -> None:
    if made:
        token = f"WARPBOOK{len(out.tokens)}TOKEN"
        out.tokens[token] = made
        lines += ["", indent + token, ""]


def place(content: str, tokens: dict[str, str]) -> str:
    """Put the HTML where its token stands."""
    return re.sub(r"<p>(WARPBOOK\d+TOKEN)</p>", lambda match: tokens.get(match[1], match[0]), content)


# -- directives --------------------------------------------------------------------------------------------------


def show(
    page: Page, language: str, values: Values, text: str, outputs: Outputs, root: str, listing: Block | None
) -> str:
    kind, _, name = text.partition(":")
    if kind == "lines":
        wanted = lines.parse(page, f"{{{{ {text} }}}}")
        if wanted is None:
            raise BookError(f'"{text}" is not lines:KERNEL, lines:KERNEL#LAUNCH or lines:KERNEL@PROGRAM.py')
        return line_counters.fold_out(page, language, wanted, listing, root)
    if kind == "gutter":
        return line_counters.excerpt(page.book, name, language, root)
    if kind == "chart":
        return of_each(values, lambda one: charts.draw(name, page.article, language, one))
    if kind == "explore":
        return explore.figure(page.book, name, language, root)
    if kind == "figure":
        return figure(page, name)
    if kind == "output":
        return outputs.of_program(name)
    if kind == "score":
        return ledger.scores(page.book, language)
    if kind == "ledger":
        return ledger.table(page.book, language, root)
    if kind == "devices":
        return devices.table(page.book, language, root)
    return of_each(values, lambda one: claim_table(page, language, one.device))


def of_each(values: Values, draw: Callable[[Values], str]) -> str:
    """What the reader sees of the device chosen: a view for each device that has one, the primary one's first."""
    views = {values.device: draw(values)}
    for other in values.others:
        if other.device != SOFTCUDA:  # no clock
            try:
                views[other.device] = draw(other)
            except BookError:
                continue
    if len(set(views.values())) == 1:
        return views[values.device]
    first = next(iter(views))
    panes = "".join(
        f'<div data-device="{device}"{"" if device == first else " hidden"}>{view}</div>'
        for device, view in views.items()
    )
    return f'<div class="wb-views">{panes}</div>'


def figure(page: Page, name: str) -> str:
    """An SVG drawn by hand, inline, so that it takes the page's colours and font."""
    path: Path = page.path.parent / "figures" / f"{name}.svg"
    if not path.exists():
        raise BookError(f"there is no {page.book.relative(path)}")
    text = path.read_text("utf-8")
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise BookError(f"{page.book.relative(path)}:{error.position[0]}: not well-formed SVG") from None
    drawing = re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL).strip()
    # On a phone it keeps a legible size and, if need be, scrolls by itself, by keyboard too.
    view = f'<div class="wb-figure__view" tabindex="0"{least_width(drawing)}>{drawing}</div>'
    return f'<figure class="wb-figure">{view}</figure>'


def least_width(drawing: str) -> str:
    """The width at which a drawing's smallest letters are LEGIBLE, as a style."""
    wide = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', drawing)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', drawing)]
    return f' style="--wb-least: {math.ceil(LEGIBLE * float(wide[1]) / min(sizes))}px"' if wide and sizes else ""


def claim_table(page: Page, language: str, device: str) -> str:
    """The article's claims: what was predicted, what came out, how good the prediction was; the gates folded below."""
    words = WORDS[language]
    found = claims.judged(page.book, device, page.article)
    if not found:
        raise BookError(f"no claims; write them in snippets/{page.article}/claims.toml")

    def measured(one: claims.Judged) -> str:
        if one.is_pending:
            return f'<span class="wb-pending">{words["pending"]}</span>'
        return f"<strong>{one.shown('measured')}</strong>"

    rows = [
        [
            html.escape(hold_together(one.claim.text("text", language))),
            html.escape(one.shown("predicted")),
            measured(one),
            ledger.prediction_mark(one, language),
            html.escape(hold_together(sources(one, language, words["published"])) or "–"),
        ]
        for one in found
    ]
    gates = [
        [html.escape(hold_together(one.claim.text("text", language))), html.escape(one.gate(language)),
         ledger.gate_mark(one, language)]
        for one in found
        if one.claim.gates
    ]  # fmt: skip
    score = html.escape(hold_together(ledger.score_line(found, language)))
    return (
        f'<div class="wb-claims" tabindex="0" role="group" aria-label="{words["claim"]}">'
        f"{plain_table([words[key] for key in ('claim', 'predicted', 'measured', 'prediction', 'source')], rows)}</div>"
        f'<p class="wb-score">{score}</p>'
        f'<details class="wb-gates"><summary>{html.escape(words["gates"])}</summary><div class="wb-claims">'
        f"{plain_table([words[key] for key in ('claim', 'gate', 'verdict')], gates)}</div></details>"
    )


def plain_table(head: list[str], rows: list[list[str]]) -> str:
    """Cells are HTML."""
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def sources(one: claims.Judged, language: str, published: str) -> str:
    """Where the prediction comes from, and what somebody else found."""
    said = [one.claim.text("source", language)]
    if one.claim.published is not None:
        said.append(published.format(one.shown("published"), one.claim.text("published_by", language)))
    return {"en": "; ", "zh": "；"}[language].join(text for text in said if text)
