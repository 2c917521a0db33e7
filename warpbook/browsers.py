"""A browser to look at the site with, and to print it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def driving(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that drives a browser. If we are stopped, it closes its browser, and both end within a second."""
    with process:
        try:
            yield process
        except BaseException:
            process.send_signal(signal.SIGINT)  # Playwright and Lighthouse close their browsers at this one
            try:
                process.wait(0.8)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def drive(
    command: list[str], input: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that drives a browser to its end; its output is kept as text."""
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", env=env)
    with driving(started) as process:
        out, err = process.communicate(input)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
