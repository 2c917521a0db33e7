"""The content-security policy of each page: scripts of this site only, and no handler written into an element.

Material's few inline scripts are let in by their hashes. Styles within elements stay allowed: KaTeX sets formulas with
them.
"""

from __future__ import annotations

import base64
import hashlib
import re

INLINE = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL)
HANDLER = re.compile(r"<[a-zA-Z][^<>]*?\son[a-z]+\s*=")
AT = '<meta charset="utf-8">'


def scripts(page: str) -> list[str]:
    """Hashes of the page's inline scripts, as the policy writes them; data in a script element is none."""
    return sorted(
        {
            f"'sha256-{base64.b64encode(hashlib.sha256(match['code'].encode()).digest()).decode()}'"
            for match in INLINE.finditer(page)
            if " src=" not in match["attributes"] and " type=" not in match["attributes"]
        }
    )


def policy(page: str) -> str:
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self'", *scripts(page)]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'none'",
        ]
    )


def with_policy(page: str) -> str:
    """The page with its policy, before anything that the policy is about."""
    return page.replace(AT, f'{AT}<meta http-equiv="Content-Security-Policy" content="{policy(page)}">', 1)
