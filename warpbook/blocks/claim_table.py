"""`{{ claims }}`: an article's claims as a table."""

from __future__ import annotations

import html

from warpbook.blocks import ledger
from warpbook.book import BookError
from warpbook.numbers import hold_together
from warpbook.records import claims
from warpbook.source.pages import Page

WORDS = {
    "en": {
        "source": "Source",
        "published": "published: {} ({})",
        "gates": "Regression gates: set after measuring, so that a change for the worse is noticed",
    },
    "zh": {
        "source": "出处",
        "published": "公布值：{}（{}）",
        "gates": "回归门槛：实测之后设定，用来发现性能退化",
    },
}


def claim_table(page: Page, language: str, device: str) -> str:
    """The article's claims: what was predicted, what came out, how good the prediction was and whether a goal was met.

    The gates are folded below.
    """
    words = ledger.WORDS[language] | WORDS[language]
    found = claims.judged(page.book, device, page.article)
    if not found:
        if claims.of_article(page.book, page.article):
            raise BookError("no GPU record, so nothing to judge")
        raise BookError(f"no claims; write them in snippets/{page.article}/claims.toml")

    def sentence(one: claims.Judged) -> str:
        return html.escape(hold_together(one.claim.text("text", language)))

    rows = [
        [sentence(one), html.escape(one.shown("predicted")),
         ledger.measured(one, language) + ledger.goal_mark(one, language),
         ledger.prediction_mark(one, language),
         html.escape(hold_together(sources(one, language, words["published"])) or "–")]
        for one in found
    ]  # fmt: skip
    gates = [
        [sentence(one), html.escape(one.gate(language)), ledger.gate_mark(one, language)]
        for one in found
        if one.claim.gates
    ]
    score = html.escape(hold_together(" ".join(ledger.score_lines(found, language))))
    folded = (
        f'<details class="wb-gates"><summary>{html.escape(words["gates"])}</summary><div class="wb-claims">'
        f"{table([words[key] for key in ('claim', 'gate', 'verdict')], gates)}</div></details>"
    )
    return (
        f'<div class="wb-claims" tabindex="0" role="group" aria-label="{words["claim"]}">'
        f"{table([words[key] for key in ('claim', 'predicted', 'measured', 'prediction', 'source')], rows)}</div>"
        f'<p class="wb-score">{score}</p>{folded if gates else ""}'
    )


def table(head: list[str], rows: list[list[str]]) -> str:
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
