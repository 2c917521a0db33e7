"""softcuda's wheel, as the set-up built it: fit for other machines, with its licence, and one version everywhere."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from softcuda import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = list((ROOT / ".cache" / "softcuda").glob("*.whl"))
    if not found:
        pytest.fail("there is no wheel in .cache/softcuda: make setup", pytrace=False)
    return found[0]


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"softcuda-{__version__}.dist-info/METADATA").decode()
        assert f"softcuda-{__version__}.dist-info/licenses/LICENSE" in archive.namelist()
        assert archive.read(f"softcuda-{__version__}.dist-info/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    return Parser().parsestr(text)


def test_metadata(metadata):
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("softcuda", __version__, "MIT")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "## Two more programs" in metadata.get_payload()


def test_its_dependencies_are_the_locks_versions(metadata):
    lock = (ROOT / "requirements.lock").read_text()
    wanted = metadata.get_all("Requires-Dist")
    [triton] = [requirement for requirement in wanted if requirement.startswith("triton")]
    assert (
        triton.startswith("triton>=3.8") and "extra == " in triton
    )  # a user's choice; make test-triton has its own lock
    for requirement in wanted:
        if requirement is triton:
            continue
        assert f"\n{re.match('[^ ;]+', requirement)[0]} " in lock


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> Path:
    """An environment outside of the repository with the wheel in it; what the wheel asks for is lent from this one."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, symlinks=True)
    install = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*install, "--python", folder / "bin" / "python", wheel], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("platlib") + "\n")
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SOFTCUDA", "PYTHON"))}
    clean |= {"SOFTCUDA": "force", "PATH": f"{folder / 'bin'}:{os.defpath}"}
    return subprocess.run([folder / "bin" / command[0], *command[1:]], cwd=folder.parent, env=clean, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip


def test_it_is_softcuda_elsewhere_too(elsewhere):
    done = run(elsewhere, "softcuda", "info")
    assert done.returncode == 0, done.stdout
    (packages,) = elsewhere.glob("lib/python3*/site-packages")
    assert f"{packages / 'softcuda' / 'lib' / 'libcuda.so.1'}" in done.stdout


@pytest.mark.parametrize(("number", "fails"), [(0, False), (1, False), (2, True)])
def test_the_readmes_programs_run_elsewhere(elsewhere, metadata, number, fails):
    programs = re.findall(r"```python\n(.*?)```", metadata.get_payload(), re.DOTALL)
    (elsewhere.parent / "program.py").write_text(programs[number])
    done = run(elsewhere, "softcuda", "run", "program.py")
    assert done.returncode == fails, done.stdout
    assert ("softcuda: illegal address: kernel fill" in done.stdout) == fails


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="manylinux knows other names here")
def test_it_runs_on_linux_with_glibc_2_35_and_later(wheel):
    """Debian 12, Ubuntu 22.04.  What the library needs of the system is what auditwheel counts."""
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True)
    tag = re.search(r"manylinux_2_(\d+)_" + platform.machine(), shown.stdout)
    assert tag, shown.stdout + shown.stderr
    assert int(tag[1]) <= max(35, int(platform.libc_ver()[1].split(".")[1]))
