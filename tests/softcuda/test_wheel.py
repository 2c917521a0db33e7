"""softcuda's wheel, as the set-up built it: fit for other machines, with its licence, and one version everywhere."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
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
    assert "## Three programs" in metadata.get_payload()


def test_its_dependencies_are_the_locks_versions(metadata):
    lock = (ROOT / "requirements.lock").read_text()
    for requirement in metadata.get_all("Requires-Dist"):
        assert f"\n{re.match('[^ ;]+', requirement)[0]} " in lock


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="manylinux knows other names here")
def test_it_runs_on_linux_with_glibc_2_35_and_later(wheel):
    """Debian 12, Ubuntu 22.04.  What the library needs of the system is what auditwheel counts."""
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True)
    tag = re.search(r"manylinux_2_(\d+)_" + platform.machine(), shown.stdout)
    assert tag, shown.stdout + shown.stderr
    assert int(tag[1]) <= max(35, int(platform.libc_ver()[1].split(".")[1]))
