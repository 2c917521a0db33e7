"""The workflow file: actions pinned by hash, and no more rights than a job needs."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from warpbook.blocks import ends


@pytest.fixture(scope="module")
def text(book) -> str:
    return (book.root / ".github" / "workflows" / "book.yml").read_text("utf-8")


@pytest.fixture(scope="module", params=["book.yml", "links.yml"])
def each(book, request) -> str:
    return (book.root / ".github" / "workflows" / request.param).read_text("utf-8")


def test_every_action_is_pinned_by_hash_with_its_version_beside(each):
    uses = [line.strip() for line in each.splitlines() if "uses:" in line]
    assert uses
    for line in uses:
        assert re.fullmatch(r"(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_only_the_deployment_may_write(text):
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert rights == {"deploy": {"pages": "write", "id-token": "write"}, "notebooks": {"contents": "write"}}
    assert "pull_request_target" not in text


def test_what_they_call_is_there(each, book):
    makefile = (book.root / "Makefile").read_text("utf-8")
    for target in re.findall(r"run: make ([a-z-]+)", each):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_what_is_published_is_what_a_browser_has_opened(text):
    """Built once, looked at, uploaded; nothing is built again in between, and nothing is published without it."""
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step.get("run") or step["uses"].split("@")[0] for step in jobs["site"]["steps"]]
    built, looked, kept = (
        steps.index(step)
        for step in ("make site", 'make audit ARGS="--site site --quick"', "actions/upload-pages-artifact")
    )
    assert built < looked < kept and steps.count("make site") == 1
    assert jobs["site"]["steps"][kept]["with"] == {"path": "site"}
    assert not jobs["site"]["steps"][looked].keys() & {"if", "continue-on-error"}
    assert jobs["deploy"]["needs"] == "site" and jobs["site"]["needs"] == "test"


def test_colab_opens_what_is_pushed(text, book, tmp_path, write):
    """The notebooks' branch has the paths that the pages' links name."""
    step = next(s for s in yaml.safe_load(text)["jobs"]["site"]["steps"] if "notebooks" in s.get("name", ""))
    for name in ("models/attention.ipynb", "zh/models/attention.ipynb", "notebooks/attention/heads.ipynb"):
        write(f"site/{name}", "{}")
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, check=True)
    pushed = {path.relative_to(tmp_path / "colab").as_posix() for path in (tmp_path / "colab").rglob("*.ipynb")}
    link = ends.COLAB.format(repository="o/r", language="zh", name="models/attention")
    assert pushed == {"en/models/attention.ipynb", "zh/models/attention.ipynb"}
    assert link.endswith("/o/r/blob/notebooks/zh/models/attention.ipynb")
