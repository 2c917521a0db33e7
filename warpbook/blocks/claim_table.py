"""`{{ claims }}`: an article's claims as a table."""

from __future__ import annotations

import html

from warpbook.book import BookError
from warpbook.numbers import hold_together
from warpbook.records import claims
from warpbook.source.pages import Page

WORDS = {
    "en": {
        "claim": "Claim",
        "predicted": "Predicted",
        "measured": "Measured",
        "gate": "Held to",
        "source": "Source",
        "published": "published: {} ({})",
    },
    "zh": {
        "claim": "结论",
        "predicted": "预测",
        "measured": "实测",
        "gate": "检验门槛",
        "source": "出处",
        "published": "公布值：{}（{}）",
    },
}


def claim_table(page: Page, language: str, device: str) -> str:
    """The article's claims as a table: what was predicted, what came out, what the record is held to."""
    words = WORDS[language]
    found = claims.judged(page.book, device, page.article)
    if not found:
        raise BookError("the record has no claims")
    rows = [
        [
            html.escape(hold_together(str(one.claim[language]))),
            html.escape(one.shown("predicted")),
            f"<strong>{one.shown('measured')}</strong>",
            html.escape(one.gate(language)),
            html.escape(hold_together(sources(one, language, words["published"])) or "–"),
        ]
        for one in found
    ]
    head = "".join(f'<th scope="col">{words[key]}</th>' for key in ("claim", "predicted", "measured", "gate", "source"))
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wb-claims" tabindex="0" role="group" aria-label="{words["claim"]}">{table}</div>'


def sources(one: claims.Judged, language: str, published: str) -> str:
    """Where the prediction comes from, and what somebody else found."""
    said = [one.text("source", language)]
    if one.claim.get("published") is not None:
        said.append(published.format(one.shown("published"), one.text("published_by", language)))
    return {"en": "; ", "zh": "；"}[language].join(text for text in said if text)
