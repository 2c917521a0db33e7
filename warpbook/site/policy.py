"""The content-security policy of each page: scripts of this site only, and no handler written into an element.

The theme's few inline scripts, Material's and ours, are let in by their hashes. Any other inline script fails a strict
build, and is not let in. Styles within elements stay allowed: KaTeX sets formulas with them.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path

import material  # type: ignore[import-not-found,import-untyped,unused-ignore]

from warpbook.source.allowed_html import TAG, Refused, parsed, scheme_of

INLINE = re.compile(r"(?P<tag><script(?=[\s/>])[^>]*>)(?P<code>.*?)</script", re.DOTALL | re.IGNORECASE)
TEMPLATES = Path(material.__file__).parent / "templates"
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
FILLED = r"[\w./:%-]*"  # what a template may put into a script: an address of this site
DATA = {"application/json", "text/plain"}  # types of script elements that no browser runs
AT = '<meta charset="utf-8">'

FORBIDDEN = {"applet", "base", "embed", "foreignobject", "frame", "frameset", "iframe", "object", "portal"}
ADDRESSES = {"action", "data", "formaction", "from", "href", "poster", "src", "to", "values", "xlink:href"}
SCRIPTS = {"javascript", "vbscript"}
LIKELY = re.compile(
    rf"<(?:{'|'.join(sorted(FORBIDDEN))})\b|[\s\"'/](?:on[a-z]+|srcdoc|formaction)\s*="
    r"|=\s*[\"']?[\x00-\x20]*[jvd&][^<>]*[:&]",
    re.IGNORECASE,
)


@functools.cache
def known(theme: Path) -> re.Pattern[str]:
    """The inline scripts that Material's templates and those in the folder `theme` may write."""
    found = set()
    for folder in (TEMPLATES, theme):
        for template in sorted(folder.rglob("*.html")):
            for match in INLINE.finditer(template.read_text("utf-8")):
                found.add(FILLED.join(re.escape(part) for part in JINJA.split(match["code"])))
    return re.compile("|".join(sorted(found)))


def inline(page: str) -> list[str]:
    """The page's inline scripts; data in a script element is none."""
    out = []
    for match in INLINE.finditer(page):
        start = parsed(match["tag"]).start
        about = dict(start[1]) if start else {}
        if "src" not in about and about.get("type") not in DATA:
            out.append(match["code"])
    return out


def scripts(page: str, theme: Path) -> list[str]:
    """Hashes of the inline scripts that the theme has put into the page, as the policy writes them."""
    return sorted(
        {
            f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
            for code in inline(page)
            if known(theme).fullmatch(code)
        }
    )


def refused(page: str, theme: Path) -> list[Refused]:
    """What of a whole page, templates and all, could run a script that the theme does not have."""
    what = "an inline script that is none of the theme's is not allowed"
    foreign = [code.strip() for code in inline(page) if not known(theme).fullmatch(code)]
    out = [Refused(what, (code.split("\n")[0][:60], "<script")) for code in foreign]
    for tag in sorted(set(TAG.findall(page)) - HARMLESS):
        wrong = refused_tag(tag) if LIKELY.search(tag) else []
        out += wrong
        if not wrong:
            HARMLESS.add(tag)
    return out


def refused_tag(text: str) -> list[Refused]:
    start = parsed(text).start
    if not start:
        return []
    tag, attributes = start
    out = [Refused(f"<{tag}> is not allowed", (text, f"<{tag}"))] if tag in FORBIDDEN else []
    for name, value in attributes:
        address = value or ""
        scheme = scheme_of(address) if name in ADDRESSES else ""
        if name.startswith("on") or name in ("srcdoc", "formaction"):
            out.append(Refused(f"the attribute {name} of <{tag}> is not allowed", (text, f"{name}=", name)))
        elif scheme in SCRIPTS or (scheme == "data" and not address.strip().lower().startswith("data:image/")):
            out.append(Refused(f"the address {address.strip()[:60]!r} is not allowed", (text, address, f"{scheme}:")))
    return out


HARMLESS: set[str] = set()  # tags that were looked at: pages have most of theirs in common


def policy(page: str, theme: Path) -> str:
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self'", *scripts(page, theme)]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'none'",
        ]
    )


def with_policy(page: str, theme: Path) -> str:
    """The page with its policy, before anything that the policy is about."""
    return page.replace(AT, f'{AT}<meta http-equiv="Content-Security-Policy" content="{policy(page, theme)}">', 1)
