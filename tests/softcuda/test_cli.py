"""The softcuda command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from softcuda import __version__


@pytest.fixture
def softcuda(tmp_path):
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SOFTCUDA")}
        return subprocess.run(
            [sys.executable, "-m", "softcuda", *arguments],
            cwd=tmp_path, capture_output=True, text=True, env={**clean, **environment},
        )  # fmt: skip

    run.folder = tmp_path
    return run


def test_version(softcuda):
    assert softcuda("--version").stdout == f"softcuda {__version__}\n"


def test_run_is_python_with_softcuda_forced(softcuda):
    (softcuda.folder / "beside.py").write_text("value = 7\n")
    (softcuda.folder / "program.py").write_text(
        "import os, sys, beside\n"
        "print(__name__, sys.argv, os.environ['SOFTCUDA'], beside.value)\n"
        "sys.exit(5)\n"
    )  # fmt: skip
    done = softcuda("run", "program.py", "--flag", "-m", "x")
    assert done.stdout == "__main__ ['program.py', '--flag', '-m', 'x'] force 7\n"
    assert done.returncode == 5


def test_run_module(softcuda):
    (softcuda.folder / "tool.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert softcuda("run", "-m", "tool", "--version").stdout == "__main__ ['--version']\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "softcuda: run what? softcuda run program.py, or softcuda run -m module"),
        (["run", "nothing.py"], "softcuda: no program nothing.py"),
    ],
)
def test_mistakes_are_one_line(softcuda, arguments, message):
    done = softcuda(*arguments)
    assert done.returncode == 1
    assert done.stderr == message + "\n"


def test_info_tells_what_would_be_used_and_why(softcuda):
    done = softcuda("info", SOFTCUDA="force", SOFTCUDA_DEVICE="t4")
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    rows = {key.strip(): value.strip() for key, value in rows.items()}
    assert rows["would use"] == "softcuda: SOFTCUDA=force"
    assert rows["softcuda"].startswith(__version__)
    assert {"nvcc", "NVIDIA's nvcc", "host compiler", "PyCUDA", "profiles"} <= rows.keys()


def test_info_names_a_mistake_and_fails(softcuda):
    done = softcuda("info", SOFTCUDA_DEVICE="none", SOFTCUDA="force")
    assert done.returncode == 1
    assert "SOFTCUDA_DEVICE=none is not one of b200, h200, rtx4090, rtx5090, t4" in done.stdout
