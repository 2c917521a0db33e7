"""What no reader sees, left out of a page: marks around code that change no colour, and what KaTeX says twice.

Nothing else is touched: the text of a page, its structure and what a screen reader says are the same before and after.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(<pre[^>]*>)(.*?)(?=</pre>)", re.DOTALL)
# Blanks, names, operators and punctuation have the colour of code itself (theme/style/colours.css).
COLOURLESS = re.compile(r'<span class="(?:w|n|sa|kc|o|ow|p)">([^<]*)</span>|<span></span>')
TEX = re.compile(r"<semantics>(.*?)<annotation .*?</annotation></semantics>", re.DOTALL)
# HTML knows both namespaces; the rest is how a formula would look, were it not heard only.
NAMESPACE = re.compile(
    r' (?:xmlns="http://www\.w3\.org/(?:1998/Math/MathML|2000/svg)"|(?:stretchy|fence|separator|accent)="\w+")'
)
AS_WRITTEN = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)


def page(text: str) -> str:
    """
    >>> page('<p>Thus</p>\\n\\n  <pre><span class="n">f</span><span class="p">(</span><span class="mi">1</span>\\n\\n</pre>')
    '<p>Thus</p>\\n<pre>f(<span class="mi">1</span>\\n\\n</pre>'
    """
    text = CODE.sub(lambda match: match[1] + COLOURLESS.sub(lambda mark: mark[1] or "", match[2]), text)
    text = NAMESPACE.sub("", TEX.sub(r"\1", text))
    parts = AS_WRITTEN.split(text)  # text, as written, the name of its element, text, …
    parts[::3] = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[::3]]
    return "".join(part for i, part in enumerate(parts) if i % 3 < 2)
