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
RUNS = re.findall(r"`(\w+\.py)`.*?```python\n(.*?)```.*?```console\n\$ softcuda run \1\n(.*?)```", TEXT, re.DOTALL)


def test_it_shows_three_programs_one_of_them_with_its_output():
    assert (len(PROGRAMS), len(RUNS)) == (3, 1)


@pytest.mark.parametrize("source", [source for source in PROGRAMS if source not in [run[1] for run in RUNS]])
def test_program(program, source):
    done = program(source)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "source", "output"), RUNS, ids=[run[0] for run in RUNS])
def test_output(tmp_path, name, source, output):
    (tmp_path / name).write_text(source)
    command = [sys.executable, "-m", "softcuda", "run", name]
    clean = native.clean_environment()
    done = subprocess.run(command, cwd=tmp_path, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    pattern = ".*".join(re.escape(part) for part in output.split("…"))
    assert re.fullmatch(pattern, done.stdout, re.DOTALL), done.stdout
