"""The workflow file: actions pinned by hash, and no more rights than a job needs."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatch

import pytest
import yaml

from warpbook.blocks import ends


@pytest.fixture(scope="module")
def text(book) -> str:
    return (book.root / ".github" / "workflows" / "book.yml").read_text("utf-8")


@pytest.fixture(scope="module", params=["book.yml", "links.yml", "newest.yml", "wheel.yml"])
def each(book, request) -> str:
    return (book.root / ".github" / "workflows" / request.param).read_text("utf-8")


def test_every_action_is_pinned_by_hash_with_its_version_beside(each):
    uses = [line.strip() for line in each.splitlines() if "uses:" in line]
    assert uses
    for line in uses:
        if line == "uses: ./softcuda":  # this repository's own
            continue
        assert re.fullmatch(r"(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_only_the_deployment_may_write(text):
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert rights == {"deploy": {"pages": "write", "id-token": "write"}, "notebooks": {"contents": "write"}}
    assert "pull_request_target" not in text


def test_containers_are_pinned_by_digest_with_their_tag_beside(each):
    for line in re.findall(r"^ *(?:container|image):.*", each, re.MULTILINE):
        assert re.fullmatch(r" *(?:container|image): [\w./-]+:[\w.-]+@sha256:[0-9a-f]{64} # \S+", line), line


def test_the_gpu_job_waits_for_an_approval_and_runs_main_only(text):
    """A pull request may edit the workflow; the environment's reviewers are asked before a job reaches the machine."""
    own = {name: job for name, job in yaml.safe_load(text)["jobs"].items() if "self-hosted" in job["runs-on"]}
    assert own.keys() == {"gpu"} and own["gpu"]["environment"] == "gpu"
    assert "github.event_name == 'workflow_dispatch' && github.ref == 'refs/heads/main'" in own["gpu"]["if"]
    beside = text.partition("  gpu:\n")[0].rpartition("\n\n")[2]
    for setting in ("runner group", "required reviewers", "Require approval for all external contributors"):
        assert setting in beside


def test_records_are_put_together_from_the_shards_and_nothing_else(text):
    """The run has other artifacts, and two shards have files of the same names."""
    jobs = yaml.safe_load(text)["jobs"]
    [kept] = [step["with"] for step in jobs["gpu"]["steps"] if "upload-artifact" in step.get("uses", "")]
    [taken] = [step["with"] for step in jobs["records"]["steps"] if "download-artifact" in step.get("uses", "")]
    steps = [step for job in jobs.values() for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
    assert taken == {"pattern": "records-*", "path": "shards"}
    assert [name for step in steps if fnmatch(name := step["with"]["name"], taken["pattern"])] == [kept["name"]]
    assert ".venv/bin/warpbook merge shards/*" in [step.get("run") for step in jobs["records"]["steps"]]


def test_no_token_is_in_a_command_line(each):
    for job in yaml.safe_load(each)["jobs"].values():
        for step in job["steps"]:
            assert not re.search(r"token|secrets\.|\$\{\{ *(?!matrix\.)\w", step.get("run", ""), re.IGNORECASE), step


def test_git_is_given_the_token_by_a_helper(text, tmp_path):
    [step] = [step for step in yaml.safe_load(text)["jobs"]["notebooks"]["steps"] if "run" in step]
    given = {key: str(value) for key, value in step["env"].items()}
    environment = {**os.environ, **given, "TOKEN": "t0ken", "HOME": str(tmp_path)}

    def asked(host: str) -> str:
        question = f"protocol=https\nhost={host}\n\n"
        return subprocess.run(
            ["git", "credential", "fill"],
            input=question,
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    assert "username=x-access-token\npassword=t0ken\n" in asked("github.com")
    assert "t0ken" not in asked("example.org")


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
    assert jobs["deploy"]["needs"] == "site" and jobs["site"]["needs"] == ["test", "torch"]


@pytest.mark.parametrize("file", ["book.yml", "newest.yml"])
def test_pytorch_comes_from_an_index_that_a_variable_names(book, file):
    """PyPI has no build for the CPU; without the variable Triton is tested alone, and nothing large is downloaded."""
    job = yaml.safe_load((book.root / ".github" / "workflows" / file).read_text("utf-8"))["jobs"]["torch"]
    assert job["env"]["PIP_EXTRA_INDEX_URL"] == "${{ vars.TORCH_INDEX }}"
    assert job["env"]["ONLY"] == "${{ vars.TORCH_INDEX == '' && 'triton' || '' }}"
    runs = [step["run"] for step in job["steps"] if step.get("run", "").startswith("make ")]
    assert runs[0].startswith("make setup-torch") and "make test-triton" in runs


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


def test_the_wheel_is_tried_with_every_python_that_it_names(book):
    """On Debian 12, whose own Python is 3.11, and on Ubuntu 24.04, whose own is 3.12."""
    workflow = yaml.safe_load((book.root / ".github" / "workflows" / "wheel.yml").read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job, own in (("debian-12", "3.11"), ("ubuntu-24-04", "3.12")):
        [run] = [step["run"] for step in workflow["jobs"][job]["steps"] if "try_wheel.sh" in step.get("run", "")]
        [tried] = re.findall(r"dist/\*\.whl ([^#]*)", run)
        assert {own if "python3" in word else word for word in tried.split()} == {"3.11", "3.12", "3.13", "3.14"}
    [build] = [step for step in workflow["jobs"]["debian-12"]["steps"] if "pip wheel" in step.get("run", "")]
    assert build, "built once"


def test_the_actions_program_has_no_race(book, tmp_path):
    """What the action finds would be marked in every pull request."""
    jobs = yaml.safe_load((book.root / ".github" / "workflows" / "wheel.yml").read_text("utf-8"))["jobs"]
    [make] = [step["run"] for step in jobs["action"]["steps"] if step.get("run", "").startswith("sed")]
    (tmp_path / "tests" / "softcuda" / "check").mkdir(parents=True)
    source = (book.root / "tests" / "softcuda" / "check" / "race.py").read_text()
    (tmp_path / "tests" / "softcuda" / "check" / "race.py").write_text(source)
    subprocess.run(["bash", "-e", "-c", make], cwd=tmp_path, check=True)
    assert (tmp_path / "fine.py").read_text() == source.replace("    a[thr", "    __syncthreads();\n    a[thr")
