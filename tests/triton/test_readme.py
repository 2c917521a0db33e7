"""What softcuda's README shows and says of Triton."""

from __future__ import annotations

import re
import tomllib

import settings
from cases import CASES

from softcuda import _triton

SOFTCUDA = settings.HERE.parents[1] / "softcuda"
SECTION = (SOFTCUDA / "README.md").read_text().partition("\n## Triton\n")[2].partition("\n## ")[0]
TUTORIALS = 7  # of the cases: layer normalisation is two


def test_its_program_runs(run):
    [program] = re.findall(r"```py\n(.*?)```", SECTION, re.DOTALL)
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_its_numbers_are_right():
    assert f"{len(CASES) - TUTORIALS} other cases" in SECTION
    assert f"tried with {_triton.TRIED}" in SECTION.replace("\n", " ")
    oldest = ".".join(map(str, _triton.OLDEST))
    assert f"version {oldest} or newer" in SECTION
    extras = tomllib.loads((SOFTCUDA / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "PyTorch 2.13.0 for the CPU and Triton 3.9.0" in SECTION
    assert extras["triton"] == [f"triton>={oldest}"]


def test_the_default_set_up_does_not_bring_triton():
    for lock in ("requirements.lock", "requirements-site.lock"):
        assert not re.search("^triton==", (SOFTCUDA.parent / lock).read_text(), re.MULTILINE)
