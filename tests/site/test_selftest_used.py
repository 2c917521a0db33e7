"""A track's self-test in a small book: answered by keyboard in a real browser, kept, and read without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from test_builds import make

from warpbook.book import CONFIGS, Book, write_text

TITLES = {"en": ("You will be able to", "You need"), "zh": ("读完这一篇，你能够", "你需要")}
ARTICLE = """---
summary: "Copies."
---

# Copying {{ #copying }}

!!! goals "{goals}"
    - count.

!!! needs "{needs}"
    - nothing.

## Count {{ #count }}
"""
QUESTION = """
[[question]]
article = "copying"
section = "count"
en = "What does `k<<<1, {i}>>>()` touch?"
zh = "`k<<<1, {i}>>>()` 涉及几个扇区？"
right = {{en = "{i} sectors", zh = "{i} 个扇区"}}
why_en = "Count {i}."
why_zh = "数 {i}。"
wrong = [
  {{en = "A line of 128 bytes", zh = "一行 128 字节", why_en = "Not {i}: lines.", why_zh = "不是 {i}：那是行。"}},
  {{en = "Nothing", zh = "一个也没有", why_en = "Not {i}: none.", why_zh = "不是 {i}：那是零个。"}},
]
"""


def test_a_self_test_is_answered_by_keyboard(
    small_site: Book, tmp_path: Path, serve: Callable[[Path], str], look: Callable[..., None], validate: Callable
) -> None:
    nav = "nav:\n  - Home: index.md\n  - First:\n      - First: first/index.md\n      - Copying: first/copying.md\n"
    for language, (goals, needs) in TITLES.items():
        config, pages = small_site.root / CONFIGS[language], small_site.docs / language
        write_text(config, re.sub(r"^nav:\n(.*\n)*?(?=\n)", nav, config.read_text("utf-8"), flags=re.MULTILINE))
        (pages / "copying.md").unlink()
        write_text(pages / "first" / "copying.md", ARTICLE.format(goals=goals, needs=needs))
        write_text(pages / "first" / "index.md", '---\nsummary: "S."\n---\n\n# First\n\n{{ selftest }}\n')
    write_text(small_site.docs / "selftests" / "first.toml", "".join(QUESTION.format(i=100 + i) for i in range(3)))
    site = tmp_path / "site"
    done = make(small_site, site)
    assert done.returncode == 0, done.stderr
    page, article = ((site / name / "index.html").read_text("utf-8") for name in ("first", "first/copying"))
    for file in ("assets/selftest.js", "assets/selftest.css"):  # only where they are wanted
        assert file in page and file not in article
    validate(site)
    look("selftest.mjs", serve(site), "first/")
