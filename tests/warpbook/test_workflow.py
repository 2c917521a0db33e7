"""The workflow file: actions pinned by hash, and no more rights than a job needs."""

from __future__ import annotations

import re

import pytest
import yaml


@pytest.fixture(scope="module")
def text(book) -> str:
    return (book.root / ".github" / "workflows" / "book.yml").read_text("utf-8")


def test_every_action_is_pinned_by_hash_with_its_version_beside(text):
    uses = [line.strip() for line in text.splitlines() if "uses:" in line]
    assert uses
    for line in uses:
        assert re.fullmatch(r"(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_only_the_deployment_may_write(text):
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert rights == {"deploy": {"pages": "write", "id-token": "write"}}
    assert "pull_request_target" not in text


def test_what_it_calls_is_there(text, book):
    makefile = (book.root / "Makefile").read_text("utf-8")
    for target in re.findall(r"run: make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
