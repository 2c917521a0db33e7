"""What search engines read: each page in every language, when its source changed, where the sitemaps are."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

DEFAULT = "en"  # for readers of any other language


def alternates(languages: list[dict[str, str]], addresses: dict[str, str]) -> list[dict[str, str]]:
    """The page's address in each language, and for readers of none of them."""
    found = [{"lang": one["lang"], "absolute": addresses[one["lang"]]} for one in languages]
    return [*found, {"lang": "x-default", "absolute": addresses[DEFAULT]}]


@cache
def changes(root: Path) -> dict[str, str]:
    """The day of the last commit of each file, by its path from `root`; nothing where git cannot say."""
    git = ["git", "-C", str(root), "-c", "core.quotePath=false"]

    def said(*command: str) -> str:
        try:
            return subprocess.run([*git, *command], capture_output=True, text=True, encoding="utf-8", timeout=60).stdout
        except (OSError, subprocess.SubprocessError):
            return ""

    if said("rev-parse", "--is-shallow-repository").strip() != "false":
        return {}  # a shallow clone has one day for all
    out: dict[str, str] = {}
    day = ""
    for line in said("log", "--format=%x00%cs", "--name-only", "--relative", "--", "docs", "snippets").splitlines():
        if line.startswith("\0"):
            day = line[1:]
        elif line:
            out.setdefault(line, day)
    return out


def robots(site_url: str, languages: list[dict[str, Any]]) -> str:
    """robots.txt: everything may be read; each language has a sitemap."""
    maps = [f"Sitemap: {site_url.rstrip('/')}/{one['path']}sitemap.xml" for one in languages]
    return "\n".join(["User-agent: *", "Allow: /", "", *maps, ""])
