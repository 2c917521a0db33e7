"""Where things are: softcuda's library and compiler stand-in, NVIDIA's compiler from the Python packages, profiles."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

PACKAGES = {  # as in pyproject.toml
    "nvidia-cuda-nvcc": "13.0.88",
    "nvidia-nvvm": "13.0.88",
    "nvidia-cuda-crt": "13.0.88",
    "nvidia-cuda-runtime": "13.0.88",
    "nvidia-cuda-cccl": "13.0.85",
}
INSTALL = "pip install " + " ".join(f"{package}=={version}" for package, version in PACKAGES.items())


def package_folders() -> list[Path]:
    """Folders that may hold the package's files: an editable install keeps the built library apart from the source."""
    here = Path(__file__).resolve().parent
    found = [here, *(Path(entry, "softcuda") for entry in sys.path if entry)]
    return list(dict.fromkeys(found))


def library() -> Path | None:
    """softcuda's libcuda.so.1; SOFTCUDA_LIBRARY names another build of it."""
    if named := os.environ.get("SOFTCUDA_LIBRARY"):
        return Path(named)
    for folder in package_folders():
        if (path := folder / "lib" / "libcuda.so.1").is_file():
            return path
    return None


def stand_in() -> Path:
    """The folder whose `nvcc` gives softcuda PTX."""
    return Path(__file__).resolve().parent / "bin"


def nvidia() -> Path | None:
    """NVIDIA's compiler from the Python packages: the folder that holds bin/nvcc, or None."""
    if named := os.environ.get("SOFTCUDA_TOOLKIT"):
        return Path(named)
    for entry in (str(Path(__file__).resolve().parents[1]), *sys.path):
        if entry and os.access(path := Path(entry, "nvidia", "cu13", "bin", "nvcc"), os.X_OK):
            return path.parents[1]
    return None


def profiles() -> dict[str, dict]:
    """Device profiles by id."""
    folder = Path(__file__).resolve().parent / "profiles"
    paths = [path for path in sorted(folder.glob("*.json")) if path.stem != "attributes"]
    return {path.stem: json.loads(path.read_text()) for path in paths}


def which(name: str, skip: Path | None = None) -> Path | None:
    """The first executable `name` on PATH that does not lie in `skip`."""
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(entry or ".", name)
        if path.is_file() and os.access(path, os.X_OK) and not (skip and path.parent.resolve() == skip):
            return path
    return None
