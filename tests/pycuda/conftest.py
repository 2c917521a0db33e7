"""PyCUDA's sources at the locked version: its test suite and its examples are tests of softcuda."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "pycuda"


def download() -> Path:
    """PyCUDA's sdist, whose hash is the lock's; kept under .cache."""
    [stanza] = re.findall(r"^pycuda==.*\n(?:    --hash=.*\n)+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    version, hashes = re.match(r"pycuda==(\S+)", stanza)[1], re.findall(r"sha256:(\w+)", stanza)
    sdist = CACHE / f"pycuda-{version}.tar.gz"
    if not (sdist.is_file() and hashlib.sha256(sdist.read_bytes()).hexdigest() in hashes):
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = CACHE / "sdist.txt"
        wanted.write_text(stanza)
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
        ]
        command += ["--no-deps", "--no-build-isolation", "--no-binary", "pycuda", "--dest", CACHE, "-r", wanted]
        subprocess.run(command, check=True, cwd=CACHE)
    return sdist


@pytest.fixture(scope="session")
def sources(tmp_path_factory) -> Path:
    """Its folders test/ and examples/; not its package, which must not stand in for the installed one."""
    folder = tmp_path_factory.mktemp("pycuda")
    with tarfile.open(download()) as archive:
        # Nothing outside `folder`; Pythons before 3.11.4 have no such filter, and the file's hash is checked anyway.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        for member in archive.getmembers():
            _, _, member.name = member.name.partition("/")
            if member.name.startswith(("test/", "examples/")):
                archive.extract(member, folder)
    return folder


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """For a process of its own on softcuda.

    Tests that fill 4 to 17 GB of device memory, and want up to six times as much of the host's, skip themselves on a
    device that has less, as they do on a small GPU.  SOFTCUDA_MEMORY=8G runs the ones that any CPU can.
    """
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SOFTCUDA", "PYTEST"))}
    kept = {k: v for k, v in os.environ.items() if k in ("SOFTCUDA_LIBRARY", "SOFTCUDA_MEMORY")}
    return clean | {"SOFTCUDA_MEMORY": "4G"} | kept | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "MPLBACKEND": "Agg"}
