"""The GitHub Action (softcuda/action.yml) and install.sh: how they are written, and their steps on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import native
import pytest
import yaml

from softcuda import _action

SOFTCUDA = Path(__file__).parents[2] / "softcuda"
RACE = (Path(__file__).parent / "check" / "race.py").read_text()
TEXT = (SOFTCUDA / "action.yml").read_text()
ACTION = yaml.safe_load(TEXT)
STEPS = ACTION["runs"]["steps"]
RUNS = {step.get("id", step["name"]): step for step in STEPS if "run" in step}
KEY, INSTALL, CHECK = RUNS["key"], RUNS["softcuda, PyCUDA and the project's packages"], RUNS["check"]


def test_its_actions_are_pinned_by_hash_with_their_versions_beside() -> None:
    uses = [line.strip() for line in TEXT.splitlines() if "uses:" in line and not line.startswith("#")]
    assert len(uses) == 2
    for line in uses:
        assert re.fullmatch(r"(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_it_pins_what_the_workflows_pin() -> None:
    workflow = (SOFTCUDA.parent / ".github" / "workflows" / "book.yml").read_text()
    [setup] = re.findall(r"uses: (actions/setup-python@.*)", TEXT)
    assert setup in workflow


def test_no_input_is_part_of_a_script() -> None:
    """A title of a pull request that a workflow hands on would be run as a command."""
    for step in RUNS.values():
        assert "${{" not in step["run"] and step["shell"] == "bash"


def test_every_input_is_described_and_used() -> None:
    for name, about in ACTION["inputs"].items():
        assert about["description"].endswith(".") and ("default" in about or about.get("required"))
        assert f"inputs.{name}" in TEXT, name
    used = set(re.findall(r"inputs\.([\w-]+)", TEXT))
    assert used == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"


def test_its_output_is_one_of_a_step() -> None:
    [(step, name)] = re.findall(r"steps\.(\w+)\.outputs\.(\w+)", ACTION["outputs"]["sarif"]["value"])
    assert RUNS[step] is CHECK and name == "sarif"


# --- its steps --------------------------------------------------------------------------------------------------------


@pytest.fixture
def step(tmp_path: Path):
    """step(STEP, folder, inputs…) runs a step as GitHub does; what it wrote as outputs stands in step.outputs."""
    outputs = tmp_path / "outputs"

    def run(one: dict, folder: Path, path: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
        values = {f"inputs.{name}": str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        values |= {f"inputs.{name}": value for name, value in inputs.items()}
        given = {name: values[value.strip("${} ")] for name, value in one.get("env", {}).items()}
        outputs.write_text("")
        github = {"GITHUB_OUTPUT": str(outputs), "GITHUB_WORKSPACE": str(folder), "GITHUB_ACTIONS": "true"}
        python = f"{path}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}".strip(os.pathsep)
        clean = native.clean_environment() | {
            "SOFTCUDA_QUIET": "1",
            "GITHUB_ACTION_PATH": str(SOFTCUDA),
            "PATH": python,
        }
        script = tmp_path / "script.sh"
        script.write_text(one["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", script]
        done = subprocess.run(command, cwd=folder, env=clean | github | given, capture_output=True, text=True)
        run.outputs = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        return done

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "race.py").write_text(RACE)
    (folder / "test_race.py").write_text("def test_it():\n    import race\n")
    return folder


@pytest.mark.parametrize("command", ["race.py", "python race.py", "pytest -q -p no:cacheprovider test_race.py"])
def test_a_race_is_annotated_in_the_pull_request(step, project: Path, command: str) -> None:
    done = step(CHECK, project, command=command)
    assert done.returncode == 1, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert line.startswith(
        "::error file=race.py,line=13,title=softcuda check%3A race in shared memory in kernel reverse::"
    )
    assert step.outputs == {"sarif": "softcuda.sarif"}
    [run] = json.loads((project / "softcuda.sarif").read_text())["runs"]
    [result] = run["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 13


def test_a_program_without_findings_passes(step, project: Path) -> None:
    (project / "fine.py").write_text(RACE.replace("    a[thr", "    __syncthreads();\n    a[thr"))
    done = step(CHECK, project, command="fine.py", sarif="")
    assert done.returncode == 0 and "::" not in done.stdout and "nothing found" in done.stdout, done.stderr
    assert not list(project.glob("*.sarif"))


def test_a_command_is_words_and_no_shell_code(step, project: Path) -> None:
    (project / "words.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = step(CHECK, project, command="words.py 'a b' $(touch pwned); touch `touch pwned` $HOME")
    assert "['a b', '$(touch', 'pwned);', 'touch', '`touch', 'pwned`', '$HOME']" in done.stdout
    assert not (project / "pwned").exists()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"command": ""}, "the input `command` names no program: write, for example, python -m pytest tests"),
        ({"command": "python"}, "the input `command` names no program: write, for example, python -m pytest tests"),
        ({"command": "x.py 'a"}, "the input `command` cannot be split into words (No closing quotation): x.py 'a"),
        ({"command": "x.py", "strict": "yes"}, "the input `strict` is true or false, not yes"),
        ({"command": "x.py", "sarif": "a\nb=c"}, "the input `sarif` is the name of a file, and has several lines"),
    ],
)
def test_a_wrong_input_is_one_annotation(step, project: Path, inputs: dict[str, str], message: str) -> None:
    done = step(CHECK, project, **inputs)
    assert (done.returncode, done.stdout, done.stderr) == (1, f"::error title=softcuda action::{message}\n", "")
    assert step.outputs == {}


def test_a_wrong_device_is_one_line(step, project: Path) -> None:
    done = step(CHECK, project, command="race.py", device="h2000")
    assert done.returncode == 1 and done.stderr.startswith("softcuda: SOFTCUDA_DEVICE=h2000 is not one of ")


def test_words_of_a_command() -> None:
    same = ["-m", "pytest", "tests"]
    commands = ("pytest tests", "-m pytest tests", "python -m pytest tests", "python3.13 -m pytest 'tests'")
    assert [_action.words_of(command) for command in commands] == [same] * 4
    assert _action.words_of("python program.py -m x") == ["program.py", "-m", "x"]


RECORD = '#!/bin/sh\nfor word in "$0" "$@"; do printf "%s|" "${word##*/}" >> "$LOG"; done; echo >> "$LOG"\n'


def record_calls(folder: Path, *names: str) -> Path:
    """Stand-ins for commands, which write down how they are called."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(RECORD)
        (folder / name).chmod(0o755)
    return folder


def test_what_is_installed(step, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """softcuda and PyCUDA first, so that a project that asks for PyCUDA has it."""
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    path = str(record_calls(tmp_path / "bin", "python"))
    for packages, last in (
        ("", []),
        ("-r a.txt\n pytest>=8  * $(touch pwned)", ["-r|a.txt|pytest>=8|*|$(touch|pwned)|"]),
    ):
        (tmp_path / "log").write_text("")
        done = step(INSTALL, project, path, packages=packages)
        assert done.returncode == 0, done.stderr
        pip = "python|-m|pip|install|--quiet|--disable-pip-version-check|"
        calls = (tmp_path / "log").read_text().splitlines()
        assert calls == [f"{pip}softcuda|", "python|-m|softcuda|install-pycuda|", *(pip + words for words in last)]
    assert not (project / "pwned").exists()


def test_the_caches_key_changes_with_the_sources(step, project: Path, tmp_path: Path) -> None:
    copy = {"run": f'GITHUB_ACTION_PATH="{tmp_path}/action"\n{KEY["run"]}'}
    (tmp_path / "action" / "build").mkdir(parents=True)
    keys = []
    for name in ("a.cpp", "build/b.o", "c.cpp"):
        (tmp_path / "action" / name).write_text("")
        assert step(copy, project).returncode == 0
        keys.append(step.outputs["key"])
    assert keys[0] == keys[1] != keys[2]
    assert re.fullmatch(r"softcuda-[\w.]+-[\w.]*-\w+-python3\.\d+-[0-9a-f]{16}", keys[0])


# --- install.sh -------------------------------------------------------------------------------------------------------


def install(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = native.clean_environment() | {"LOG": str(folder / "log")}
    return subprocess.run(
        [SOFTCUDA / "install.sh", *arguments], cwd=folder, env=clean, capture_output=True, text=True
    )  # fmt: skip


def test_one_command_installs_softcuda_and_pycuda(tmp_path: Path) -> None:
    record_calls(tmp_path / "env" / "bin", "python", "softcuda")
    assert install(tmp_path, "env").stdout == "softcuda: ready; . env/bin/activate\n"
    assert install(tmp_path, "env", "dist/softcuda.whl").returncode == 0
    pip, pycuda = "python|-m|pip|install|--quiet|--disable-pip-version-check|", "softcuda|install-pycuda|"
    assert (tmp_path / "log").read_text().splitlines() == [f"{pip}softcuda|", pycuda, f"{pip}softcuda.whl|", pycuda]


def test_install_sh_has_no_options(tmp_path: Path) -> None:
    done = install(tmp_path, "--help")
    assert (done.returncode, done.stderr) == (2, "usage: softcuda/install.sh [FOLDER [WHEEL]]\n")
    assert not list(tmp_path.iterdir())
