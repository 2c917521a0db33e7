"""`{{ ledger }}`: every claim of the book on every recorded device: predicted, published, measured, and the verdict."""

from __future__ import annotations

import html
from typing import Any

from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.markup import attribute
from warpbook.numbers import hold_together
from warpbook.records import claims, records
from warpbook.records.claims import Judged
from warpbook.source.pages import Page

WORDS = {
    "en": {
        "label": "Claims",
        "article": "Article",
        "claim": "Claim",
        "predicted": "Predicted",
        "published": "Published",
        "measured": "Measured",
        "gate": "Held to",
        "verdict": "Verdict",
        "device": "Device",
        "date": "Date",
        True: "holds",
        False: "falls short",
        None: "not measured",
        "all": "all",
        "count": "{held} of {all} claims hold on {device}",
        "filtered": "{shown} of {all} claims are shown.",
        "softcuda": "no GPU (softcuda)",
    },
    "zh": {
        "label": "结论",
        "article": "文章",
        "claim": "结论",
        "predicted": "预测",
        "published": "公布值",
        "measured": "实测",
        "gate": "检验门槛",
        "verdict": "判定",
        "device": "设备",
        "date": "日期",
        True: "成立",
        False: "未达到",
        None: "未测",
        "all": "全部",
        "count": "{device}：{all} 条结论中 {held} 条成立",
        "filtered": "共 {all} 条，显示 {shown} 条。",
        "softcuda": "无 GPU（softcuda）",
    },
}


def table(book: Book, language: str, root: str) -> str:
    """Every claim of every article on every recorded device. theme/assets/ledger.js sorts and filters the table."""
    words = WORDS[language]
    found = claims.everything(book, records.devices(book))
    if not found:
        raise BookError("no record has a claim")
    keys = ("article", "claim", "predicted", "published", "measured", "gate", "verdict", "device", "date")
    head = "".join(f'<th scope="col">{words[key]}</th>' for key in keys)
    body = "".join(row(book, one, language, root) for one in found)
    devices = {one.device: device_name(one, words) for one in found}
    articles = {one.article: title(book, one.article, language) for one in found}
    verdicts = {verdict(one): words[one.holds] for one in found}
    filters = "".join(
        select(words[key], key, options, words["all"])
        for key, options in (("article", articles), ("verdict", verdicts), ("device", devices))
    )
    counts = "".join(f"<li>{html.escape(count(found, device, words))}</li>" for device in devices)
    return (
        f'<div class="wb-ledger"{attribute("data-filtered", words["filtered"])}>'
        f'<div class="wb-ledger__filters" hidden>{filters}</div>'
        f'<div class="wb-claims" tabindex="0" role="group" aria-label="{words["label"]}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<p class="wb-ledger__filtered" role="status"></p><ul class="wb-ledger__count">{counts}</ul></div>'
    )


def row(book: Book, one: Judged, language: str, root: str) -> str:
    words = WORDS[language]
    address = page_address(book, one.article, language)
    article = html.escape(title(book, one.article, language))
    published = html.escape(hold_together(one.text("published_by", language)))
    if one.claim.get("published_link"):
        published = f"<a{attribute('href', one.claim['published_link'])}>{published}</a>"
    record = f"{root}records/{one.device}/{one.article}.json"
    cells = [
        (f'<a href="{root}{address}">{article}</a>' if address else article, None),
        (html.escape(hold_together(str(one.claim[language]))), None),
        (number(one, "predicted", html.escape(hold_together(one.text("source", language)))), one.claim["predicted"]),
        (number(one, "published", published), one.claim.get("published")),
        (f"<strong>{one.shown('measured')}</strong>", one.measured),
        (html.escape(one.gate(language)), gate_of(one)),
        (f'<span class="wb-verdict wb-verdict--{verdict(one)}">{words[one.holds]}</span>', one.margin),
        (f"<a{attribute('href', record)}>{html.escape(device_name(one, words))}</a>", None),
        (f"<time>{one.date[:10]}</time>", None),
    ]
    numeric = {2, 3, 4, 5, 6}  # these sort by number, those of one unit together
    made = "".join(
        f"<td{sort_key(key, '' if i == 6 else one.unit) if i in numeric else ''}>{cell}</td>"
        for i, (cell, key) in enumerate(cells)
    )
    return f'<tr data-article="{one.article}" data-verdict="{verdict(one)}" data-device="{one.device}">{made}</tr>'


def sort_key(key: Any, unit: str) -> str:
    return f' data-sort="{"" if key is None else float(key)!r}"{attribute("data-unit", unit)}'


def number(one: Judged, key: str, source: str) -> str:
    """A number and, small beneath it, where it is from."""
    return one.shown(key) + (f"<small>{source}</small>" if source and one.claim.get(key) is not None else "")


def gate_of(one: Judged) -> float | None:
    return next((one.claim[key] for key in ("at_least", "at_most") if one.claim.get(key) is not None), None)


def verdict(one: Judged) -> str:
    return {True: "holds", False: "short", None: "none"}[one.holds]


def count(found: list[Judged], device: str, words: dict[Any, str]) -> str:
    """The closing line of one device."""
    its = [one for one in found if one.device == device]
    name = SOFTCUDA if device == SOFTCUDA else its[0].device_name or device
    return hold_together(words["count"].format(held=sum(bool(one.holds) for one in its), all=len(its), device=name))


def select(label: str, name: str, options: dict[str, str], everything: str) -> str:
    """A choice among several; nothing where there is no choice."""
    if len(options) < 2:
        return ""
    made = "".join(f"<option{attribute('value', key)}>{html.escape(text)}</option>" for key, text in options.items())
    return f'<label>{label} <select name="{name}"><option value="">{everything}</option>{made}</select></label>'


def device_name(one: Judged, words: dict[Any, str]) -> str:
    return words["softcuda"] if one.device == SOFTCUDA else one.device_name or one.device


def title(book: Book, article: str, language: str) -> str:
    """The heading of the article's page; its name where it has none."""
    path = book.page_of(article, language)
    return Page(book, path).title if path else article


def page_address(book: Book, article: str, language: str) -> str:
    """Where the article's page is from the language's root; "" if it has none."""
    path = book.page_of(article, language)
    return f"{path.relative_to(book.docs / language).with_suffix('').as_posix()}/" if path else ""
