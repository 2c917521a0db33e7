"""Typography of the built page: `tidy` mends what no author should have to watch, `faults` names the rest.

In Chinese, one blank stands between Han and Latin letters or digits (CSS adds none to it: text-autospace acts where
there is no blank), none beside full-width punctuation, and none where a line of the source ended between two Han
characters, though a link or an emphasis begin there. Code, formulas and drawings are left alone.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from warpbook.markup import TAG, VOID

HAN = "\u3005-\u3007\u3400-\u9fff"
MARKS = "，。、；：？！（）《》〈〉【】"
INLINE = {"a", "abbr", "b", "bdi", "data", "em", "i", "mark", "s", "span", "strong", "sub", "sup", "time"}
CLOSED = {"button", "code", "label", "math", "pre", "script", "select", "style", "svg", "textarea"}
WHOLE = {"pre", "svg"}  # of these, whose tags are most of a page's
CLOSED_CLASSES = re.compile(
    r'class="[^"]*\b(?:arithmatex|katex|highlight|headerlink|footnote-(?:back)?ref|wb-switch|wb-cite__text)\b'
)
WORDS = re.compile(
    r'<code|class="[^"]*\b(?:arithmatex|katex)\b'
)  # of what is closed, what is read as a word of the line
BLANK = " \t\n"
OPENING = {'"': "“", "'": "‘"}
JOINED = re.compile(rf"(?<=[{HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{HAN}])")

# What `faults` names: a pattern, and what is wrong where it matches. \ue000 stands for code or a formula.
FAULTS = {
    "zh": {
        rf"[{HAN}]\s?[,;:!?](?!\w)": "half-width punctuation after a Chinese word",
        rf"[{HAN}] ?\((?!\d+\)|\w+(?:, \w+)+\))": "a half-width parenthesis after Chinese",
        rf"(?<![\w\ue000])\([^()]*[{HAN}][^()]*\)": "half-width parentheses around Chinese",
        rf"[{BLANK}][{MARKS}]|[{MARKS}][{BLANK}]": "a blank beside full-width punctuation",
        rf"[{HAN}][{BLANK}]+[{HAN}]": "a blank between two Chinese characters",
        rf"[{HAN}][A-Za-z0-9\ue000]|[A-Za-z0-9%\ue000][{HAN}]": "no blank between Chinese and Latin, digits or code",
        rf"[\"'][{HAN}]|[{HAN}][\"']|[「」『』]": "other quotation marks than “ ” and ‘ ’",
        rf"[{HAN}]\.\.\.?|。。|[{HAN}]--": "an ellipsis is ……, a dash ——",
        r"[Ａ-Ｚａ-ｚ０-９]": "full-width letters or digits",
    },
    "en": {
        r"[\"']": "a straight quotation mark",
        r"(?<=\w[.,;:]) {2,}(?=\w)": "two blanks",
        rf"(?<![{HAN}])[{MARKS}]": "full-width punctuation",
        r" [,;:!?](?=\s)": "a blank before punctuation",
    },
}


def pieces(content: str) -> Iterator[tuple[str, str, bool]]:
    """HTML as (kind, text, whether it ends a line of text).

    The kinds: "tag", "text", and of text left alone "word" if it is read as one (code, a formula), else "omitted".
    """
    closed: list[str] = []
    kind = ""
    at = 0
    while True:
        if kind == "omitted" and closed and closed[-1] in WHOLE and (inner := inside(content, closed[-1], at)):
            yield "omitted", inner, closed[-1] == "svg"
            at += len(inner)
        tag = TAG.search(content, at)
        text = content[at : tag.start() if tag else None]
        if text:
            yield kind if closed else "text", text, False
        if not tag:
            return
        name = (tag[2] or "").lower()
        yield "tag", tag[0], bool(name) and name not in INLINE and name not in CLOSED
        at = tag.end()
        if tag[2] is None or tag[4] or name in VOID:
            continue
        if not tag[1]:
            if not closed:
                kind = "word" if WORDS.search(tag[0]) else "omitted"
            if closed or name in CLOSED or CLOSED_CLASSES.search(tag[3]):
                closed.append(name)
        elif closed and closed[-1] == name:
            closed.pop()


def inside(content: str, name: str, at: int) -> str:
    """What stands in an element that begins before `at`, as one piece; empty where it holds another of its kind."""
    text = content[at : max(at, content.find(f"</{name}>", at))]
    return "" if f"<{name}" in text else text


def tidy(content: str, language: str) -> str:
    """A page's HTML with Chinese blanks put right, or with English quotation marks and apostrophes."""
    return chinese(content) if language == "zh" else english(content)


def english(content: str) -> str:
    """Straight quotation marks and apostrophes as curly ones."""
    out = []
    last = " "
    for kind, text, ends in pieces(content):
        if ends:
            last = " "
        elif kind == "text":
            text = re.sub(r"&#x27;|&#39;|&quot;", lambda mark: html.unescape(mark[0]), text)
            marked = re.sub(r"(?<![^\s(\[“‘—–/])([\"'])(?!\s)", lambda mark: OPENING[mark[1]], last + text)
            text = marked[1:].replace('"', "”").replace("'", "’")
            last = text[-1]
        elif kind == "word":
            last = "x"
        out.append(text)
    return "".join(out)


def chinese(content: str) -> str:
    out: list[str] = []
    last = ""  # the character before, on the same line of text
    blank = -1  # where in `out` the blank after it stands, if there is one
    slot = 0  # where one would have to stand: before what begins there, after what ends there
    for kind, text, ends in pieces(content):
        if kind == "tag" or kind == "omitted":
            out.append(text)
            if ends:
                last, blank = "", -1
            elif kind == "omitted":
                blank = -1  # between two footnotes
            if blank < 0 and text.startswith("</"):
                slot = len(out)
            continue
        if kind == "word":
            joint(out, last, blank, slot, "x")
            out.append(text)
            last, blank, slot = "x", -1, len(out)
            continue
        body = text.lstrip(BLANK)
        if len(body) < len(text):
            out.append(text[: len(text) - len(body)])
            blank = len(out) - 1 if blank < 0 else blank
        if not body:
            continue
        joint(out, last, blank, slot, body[0])
        core = body.rstrip(BLANK)
        out.append(within(core))
        last, blank, slot = core[-1], -1, len(out)
        if len(core) < len(body):
            out.append(body[len(core) :])
            blank = len(out) - 1
    return "".join(out)


def joint(out: list[str], last: str, blank: int, slot: int, after: str) -> None:
    """Between two characters take away the blank at `blank`, or put one at `slot`, if it must be so."""
    if blank >= 0 and last and needless(last, after):
        out[blank] = ""
    elif blank < 0 and last and JOINED.search(last + after):
        out[slot - 1] += " "


def needless(before: str, after: str) -> bool:
    if before in MARKS or after in MARKS:
        return True
    return bool(re.match(rf"[{HAN}“”]", before) and re.match(rf"[{HAN}“”]", after))


def within(text: str) -> str:
    """A stretch of text without tags."""
    text = re.sub(
        rf"(?<=[^{BLANK}])[{BLANK}]+(?=[^{BLANK}])",
        lambda gap: "" if needless(gap.string[gap.start() - 1], gap.string[gap.end()]) else gap[0],
        text,
    )
    return JOINED.sub(" ", text)


def lines(content: str) -> list[str]:
    """The page's prose, a paragraph or a cell a line; \\ue000 where code or a formula stands."""
    out = [""]
    for kind, text, ends in pieces(content):
        if ends:
            out.append("")
        elif kind == "text":
            out[-1] += html.unescape(text)
        elif kind == "word" and not out[-1].endswith("\ue000"):
            out[-1] += "\ue000"
        elif kind == "omitted":  # a blank between two footnotes is none of the line
            out[-1] = out[-1].rstrip(BLANK)
    return [line.strip() for line in out if line.strip()]


def faults(content: str, language: str) -> list[str]:
    """What is wrong with the typography of a page's HTML, each with a few characters around it."""
    out = []
    for line in lines(content):
        for pattern, what in FAULTS[language].items():
            for match in re.finditer(pattern, line):
                around = line[max(0, match.start() - 12) : match.end() + 12].replace("\n", " ").replace("\ue000", "□")
                out.append(f"{what}: …{around}…")
    return out
