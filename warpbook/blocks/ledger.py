"""`{{ score }}`, `{{ ledger }}`: every claim of the book on every device: predicted, measured, how good it was.

What a reader can learn from stands first: the score of the predictions and of the goals, both made before measuring,
then each of them; a goal stands beneath the number that it is about. The gates, which were set after measuring so that
a change for the worse is noticed, are a second table, folded.
"""

from __future__ import annotations

import html
from typing import Any

from warpbook import reads
from warpbook.book import CPU, PRIMARY, SOFTCUDA, Book, BookError
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
        "prediction": "Prediction",
        "goal": "Goal",
        "goal_of": "goal: {}",
        "judged": ", ",
        "met": "met",
        "missed": "missed",
        "gate": "Held to",
        "verdict": "Verdict",
        "device": "Device",
        "date": "Date",
        "close": "within 25 %",
        "near": "within 2×",
        "off": "off",
        "none": "–",
        "pending": "not yet measured on a GPU",
        "holds": "holds",
        "short": "falls short",
        "all": "all",
        "score": "{device}: of {all} predictions made before measuring, {close} came within 25 %, {near} within a "
        "factor of 2, and {off} were off by more.",
        "goals": " Goals set before measuring: {met} of {all} met.",
        "also": " ",
        "waiting": "{pending} claims are not yet measured on a GPU.",
        "gates": "Regression gates: {held} of {all} hold",
        "about": "A gate is set after a first measurement, so that a change for the worse is noticed. It says nothing "
        "about how well anything was predicted.",
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
        "prediction": "预测是否准确",
        "goal": "目标",
        "goal_of": "目标：{}",
        "judged": "，",
        "met": "达到",
        "missed": "未达到",
        "gate": "检验门槛",
        "verdict": "判定",
        "device": "设备",
        "date": "日期",
        "close": "误差 25 % 以内",
        "near": "相差不到 2 倍",
        "off": "偏差超过 2 倍",
        "none": "–",
        "pending": "尚未在 GPU 上实测",
        "holds": "成立",
        "short": "未达到",
        "all": "全部",
        "score": "{device}：测量之前共作出 {all} 条预测，其中 {close} 条误差在 25 % 以内，{near} 条相差不到 2 倍，"
        "{off} 条偏差超过 2 倍。",
        "goals": "测量之前共设定 {all} 个目标，达到 {met} 个。",
        "also": "另",
        "waiting": "有 {pending} 条结论尚未在 GPU 上实测。",
        "gates": "回归门槛：{all} 条中 {held} 条成立",
        "about": "门槛是在首次实测之后设定的，用来及时发现性能退化，与预测准不准无关。",
        "filtered": "共 {all} 条，显示 {shown} 条。",
        "softcuda": "无 GPU（softcuda）",
    },
}
KEYS = ("article", "claim", "predicted", "measured", "prediction", "published", "device", "date")


def table(book: Book, language: str, root: str) -> str:
    """Every claim of every article on every recorded device. theme/assets/ledger.js sorts and filters the table."""
    words = WORDS[language]
    found = claims.everything(book, records.devices(book))
    if not found:
        raise BookError("no record has a claim")
    head = "".join(f'<th scope="col">{words[key]}</th>' for key in KEYS)
    body = "".join(row(book, one, language, root) for one in found)
    devices = {one.device: device_name(one, words) for one in found}
    articles = {one.article: title(book, one.article, language) for one in found}
    verdicts = {
        kind: words[kind] for kind in ("close", "near", "off", "none", "pending") if kind in map(verdict, found)
    }
    goals: dict[str, str] = {
        kind: words[kind] for kind in ("met", "missed", "pending") if kind in [one.goal for one in found]
    }
    choices = (("article", articles), ("prediction", verdicts), ("goal", goals), ("device", devices))
    filters = "".join(select(words[key], key, options, words["all"]) for key, options in choices)
    return (
        f'<div class="wb-ledger"{attribute("data-filtered", words["filtered"])}>'
        f'<div class="wb-ledger__filters" hidden>{filters}</div>'
        f'<div class="wb-claims" tabindex="0" role="group" aria-label="{words["label"]}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<p class="wb-ledger__filtered" role="status"></p>{gates(book, found, language)}</div>'
    )


def scores(book: Book, language: str) -> str:
    """How good the book's predictions were, and how many goals were met: a line for each device."""
    found = claims.everything(book, records.devices(book))
    return "".join(
        f'<p class="wb-score">{html.escape(hold_together(line))}</p>' for line in score_lines(found, language)
    )


def score_lines(found: list[Judged], language: str) -> list[str]:
    """A line for each device, the primary one first; the whole book's score is that line."""
    devices = sorted({one.device for one in found}, key=lambda device: (device != PRIMARY, device == SOFTCUDA, device))
    return [score_line([one for one in found if one.device == device], language) for device in devices]


def score_line(found: list[Judged], language: str) -> str:
    """How good the predictions were and how many goals were met, of claims held against one device."""
    words, won = WORDS[language], claims.score(found)
    line = words["score"].format(
        device=device_name(found[0], words), all=won.comparable, close=won.close, near=won.near, off=won.off
    )
    met, judged = claims.goals(found)
    waiting = sum(one.is_pending for one in found)
    if waiting and not won.comparable:  # a new article: there is no score yet
        line = ""
    if judged:
        line += words["goals"].format(all=judged, met=met)
    if waiting:
        line += (words["also"] if line else "") + words["waiting"].format(pending=waiting)
    return line.strip()


def gates(book: Book, found: list[Judged], language: str) -> str:
    """The regression gates, folded; nothing where there is none."""
    words = WORDS[language]
    gated = [one for one in found if one.claim.gates]
    if not gated:
        return ""
    judged = [one for one in gated if one.holds is not None]
    said = words["gates"].format(held=sum(bool(one.holds) for one in judged), all=len(judged))
    rows = "".join(
        f"<tr><td>{html.escape(title(book, one.article, language))}</td>"
        f"<td>{html.escape(hold_together(one.claim.text('text', language)))}</td>"
        f"<td>{html.escape(one.gate(language))}</td><td>{measured(one, language)}</td>"
        f"<td>{gate_mark(one, language)}</td>"
        f"<td>{html.escape(device_name(one, words))}</td></tr>"
        for one in gated
    )
    head = "".join(
        f'<th scope="col">{words[key]}</th>' for key in ("article", "claim", "gate", "measured", "verdict", "device")
    )
    return (
        f'<details class="wb-gates"><summary>{html.escape(hold_together(said))}</summary><p>{words["about"]}</p>'
        f'<div class="wb-claims" tabindex="0" role="group" aria-label="{html.escape(said)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def row(book: Book, one: Judged, language: str, root: str) -> str:
    words = WORDS[language]
    address = page_address(book, one.article, language)
    article = html.escape(title(book, one.article, language))
    published = html.escape(hold_together(one.claim.text("published_by", language)))
    if one.claim.published_link:
        published = f"<a{attribute('href', one.claim.published_link)}>{published}</a>"
    device = html.escape(device_name(one, words))
    folder = SOFTCUDA if one.device == CPU else one.device
    if reads.exists(records.path_of(book, folder, one.article)):  # not before the device has run a new article
        device = f"<a{attribute('href', f'{root}records/{folder}/{one.article}.json')}>{device}</a>"
    source = html.escape(hold_together(one.claim.text("source", language)))
    cells: list[tuple[str, float | None]] = [
        (f'<a href="{root}{address}">{article}</a>' if address else article, None),
        (html.escape(hold_together(one.claim.text("text", language))), None),
        (number(one, "predicted", source), one.claim.predicted),
        (measured(one, language) + goal_mark(one, language), one.measured),
        (prediction_mark(one, language), distance(one)),
        (number(one, "published", published), one.claim.published),
        (device, None),
        (f"<time>{one.date[:10]}</time>" if one.date else "–", None),
    ]
    numeric = {2, 3, 4, 5}  # these sort by number, those of one unit together
    made = "".join(
        f"<td{sort_key(key, '' if i == 4 else one.unit) if i in numeric else ''}>{cell}</td>"
        for i, (cell, key) in enumerate(cells)
    )
    kinds = f'data-prediction="{verdict(one)}"' + (f' data-goal="{one.goal}"' if one.goal else "")
    return f'<tr data-article="{one.article}" {kinds} data-device="{one.device}">{made}</tr>'


def measured(one: Judged, language: str) -> str:
    return pending_mark(language) if one.is_pending else f"<strong>{one.shown('measured')}</strong>"


def pending_mark(language: str) -> str:
    """What stands in the place of a number that a GPU has not been asked for yet."""
    return f'<span class="wb-pending">{WORDS[language]["pending"]}</span>'


def verdict(one: Judged) -> str:
    return "pending" if one.is_pending else one.prediction or "none"


def prediction_mark(one: Judged, language: str) -> str:
    """How good the prediction was, in words and a colour."""
    kind = one.prediction or "none"
    return f'<span class="wb-verdict wb-verdict--{kind}">{WORDS[language][kind]}</span>'


def goal_mark(one: Judged, language: str) -> str:
    """The goal and, once measured, whether it was met: small, beneath the number; nothing without a goal."""
    words = WORDS[language]
    if one.goal is None:
        return ""
    said = html.escape(hold_together(words["goal_of"].format(one.goal_text(language))))
    if one.goal != "pending":
        kind = {"met": "holds", "missed": "short"}[one.goal]
        said += f'{words["judged"]}<span class="wb-verdict wb-verdict--{kind}">{words[one.goal]}</span>'
    return f' <small class="wb-goal">{said}</small>'


def gate_mark(one: Judged, language: str) -> str:
    kind = {True: "holds", False: "short", None: "none"}[one.holds]
    return f'<span class="wb-verdict wb-verdict--{kind}">{WORDS[language][kind]}</span>'


def distance(one: Judged) -> float | None:
    """The factor between prediction and measurement, 1 or more; None where they are not comparable."""
    if one.prediction is None or not one.claim.predicted or not one.measured:
        return 1.0 if one.prediction else None
    factor = one.measured / one.claim.predicted
    return max(factor, 1 / factor) if factor > 0 else 1e9


def sort_key(key: Any, unit: str) -> str:
    return f' data-sort="{"" if key is None else float(key)!r}"{attribute("data-unit", unit)}'


def number(one: Judged, key: str, source: str) -> str:
    """A number and, small beneath it, where it is from."""
    return one.shown(key) + (f"<small>{source}</small>" if source and getattr(one.claim, key) is not None else "")


def select(label: str, name: str, options: dict[str, str], everything: str) -> str:
    """A choice among several; nothing where there is no choice."""
    if len(options) < 2:
        return ""
    made = "".join(f"<option{attribute('value', key)}>{html.escape(text)}</option>" for key, text in options.items())
    return f'<label>{label} <select name="{name}"><option value="">{everything}</option>{made}</select></label>'


def device_name(one: Judged, words: dict[str, str]) -> str:
    return words["softcuda"] if one.device == SOFTCUDA else one.device_name or one.device


def title(book: Book, article: str, language: str) -> str:
    """The heading of the article's page; its name where it has none."""
    path = book.page_of(article, language)
    return Page(book, path).title if path else article


def page_address(book: Book, article: str, language: str) -> str:
    """Where the article's page is from the language's root; "" if it has none."""
    path = book.page_of(article, language)
    return f"{path.relative_to(book.docs / language).with_suffix('').as_posix()}/" if path else ""
