"""The programs that softcuda's README shows, run as it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import native
import pytest

README = Path(__file__).parents[2] / "softcuda" / "README.md"
TEXT = README.read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
FILES = dict(re.findall(r"`(\w+\.py)`[^`]*```python\n(.*?)```", TEXT, re.DOTALL))
RUNS = re.findall(r"```console\n\$ softcuda (run|profile|check) (\w+\.py)\n(.*?)```", TEXT, re.DOTALL)
STATUS = {"transpose.py": {"profile": 0, "check": 1}, "mistake.py": {"run": 1}}


def test_it_shows_three_programs_two_of_them_with_their_outputs():
    assert (len(PROGRAMS), len(RUNS)) == (3, 3)
    assert {name for _, name, _ in RUNS} == set(FILES)


def test_the_first_screen_shows_a_kernel_its_counters_and_a_race():
    first = TEXT.splitlines()[:55]
    assert sum(line.startswith(("$ softcuda profile", "$ softcuda check")) for line in first) == 2
    assert any("race in shared memory" in line for line in first)


@pytest.mark.parametrize("source", [source for source in PROGRAMS if source not in FILES.values()])
def test_program(program, source):
    done = program(source)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("command", "name", "output"), RUNS, ids=[f"{run[0]} {run[1]}" for run in RUNS])
def test_output(tmp_path, command, name, output):
    (tmp_path / name).write_text(FILES[name])
    words = [sys.executable, "-m", "softcuda", command, name]
    clean = native.clean_environment() | {"COLUMNS": "100"}
    errors = subprocess.STDOUT if command == "run" else subprocess.PIPE  # `run` shows what the program says of its end
    done = subprocess.run(words, cwd=tmp_path, env=clean, stdout=subprocess.PIPE, stderr=errors, text=True)
    pattern = ".*".join(re.escape(part) for part in output.split("…"))
    assert re.fullmatch(pattern, done.stdout, re.DOTALL), done.stdout
    assert done.returncode == STATUS[name][command]
