"""A browser to look at the site with, and to print it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAMS = ("chrome", "headless_shell", "chrome-headless-shell")  # as Playwright calls them
ADVICE = "no Chromium here; install it with `apt-get install chromium`"


def find() -> str | None:
    """Debian's Chromium or one of Playwright's; None where there is none."""
    if found := next((path for name in NAMES if (path := shutil.which(name))), None):
        return found
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    return next((str(path) for path in sorted(cache.glob("chromium*/chrome-*/*")) if path.name in PROGRAMS), None)
