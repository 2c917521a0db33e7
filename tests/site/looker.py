"""A browser that outlives a test: it starts once, for all that a process of pytest looks at."""

from __future__ import annotations

import json
import subprocess

import pytest
from background import stop


class Looker:
    """Scripts of this folder, one after another in one Node with one Chromium, which starts when first asked."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.node: subprocess.Popen[str] | None = None

    def look(self, script: str, *given: object, seconds: int = 700) -> list[dict[str, str]]:
        """What `script`, called with `given`, finds wrong. One that fails or is late fails alone."""
        if not self.node or self.node.poll() is not None:
            self.node = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        assert self.node.stdin and self.node.stdout
        try:
            self.node.stdin.write(json.dumps({"script": script, "given": given, "seconds": seconds}) + "\n")
            self.node.stdin.flush()
            answer = json.loads(self.node.stdout.readline() or f'{{"failed": "{script}: Node stopped"}}')
        except BaseException:  # a test's time is over: what is answered later is not the next one's answer
            self.stop()
            raise
        if "failed" in answer:
            self.stop()
            pytest.fail(answer["failed"], pytrace=False)
        return list(answer["problems"])

    def stop(self) -> None:
        if self.node and self.node.stdin:
            self.node.stdin.close()
            try:
                self.node.wait(5)
            except subprocess.TimeoutExpired:
                stop(self.node, 20)  # Playwright ends Chromium, too
        self.node = None


def said(problem: dict[str, str]) -> str:
    return f"/{problem['page']} ({problem['scheme']}): {problem['what']}"
