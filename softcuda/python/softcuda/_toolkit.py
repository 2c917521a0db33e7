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
NVCC, NVRTC = "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc"
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
    named = os.environ.get("SOFTCUDA_TOOLKIT", "")
    if named and os.access(Path(named, "bin", "nvcc"), os.X_OK):
        return Path(named)
    for entry in (str(Path(__file__).resolve().parents[1]), *sys.path):
        if entry and os.access(path := Path(entry, "nvidia", "cu13", "bin", "nvcc"), os.X_OK):
            return path.parents[1]
    return None


def versions(toolkit: Path | None = None) -> dict[str, str]:
    """Versions of NVIDIA's packages, by name: those that `toolkit` is made of, or those of this Python."""
    found = {}
    for folder in [toolkit.parents[1]] if toolkit else [Path(entry) for entry in reversed(sys.path) if entry]:
        for name in (*PACKAGES, NVRTC):
            for path in folder.glob(f"{name.replace('-', '_')}-*.dist-info"):
                found[name] = path.name.removesuffix(".dist-info").rpartition("-")[2]
    return found


def mixture(toolkit: Path) -> str:
    """What is wrong if the packages that make `toolkit` are of several releases, and what to do; else empty."""

    def release(version: str) -> str:
        return ".".join(version.split(".")[:2])

    found = {name: version for name, version in versions(toolkit).items() if name in PACKAGES}
    nvcc = found.get(NVCC, "")
    others = [f"{name} {version}" for name, version in found.items() if release(version) != release(nvcc)]
    if not nvcc or not others:
        return ""
    right = [f"{name}=={PACKAGES[name]}" for name in found if release(found[name]) != release(PACKAGES[name])]
    return (
        f"{', '.join(others)} beside nvcc {nvcc} in {toolkit}: headers such as cooperative_groups.h may not compile;"
        f" pip install {' '.join(right)} (what needs the other release, PyTorch say, goes into another environment)"
    )


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
