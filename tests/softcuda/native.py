"""C++ programs of the tests, linked with the object files that softcuda's own build made: what is tested is what ships.

`make setup` leaves that build in softcuda/build; ninja brings it up to date when sources have changed since.
SOFTCUDA_BUILD names another one, made with sanitizers (tools/sanitize.py).
"""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SOFTCUDA = Path(__file__).parents[2] / "softcuda"
SOURCE = SOFTCUDA / "src"
NINJA = Path(sysconfig.get_path("scripts"), "ninja")
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-math-errno", f"-I{SOURCE}"]


def build_folder() -> Path:
    if named := os.environ.get("SOFTCUDA_BUILD"):
        return Path(named)
    builds = list(SOFTCUDA.glob("build/*/build.ninja"))
    if not builds:
        pytest.fail("softcuda is not built here: make setup", pytrace=False)
    return max(builds, key=lambda path: path.stat().st_mtime).parent


def levels() -> list[str]:
    """The SIMD levels that this CPU can run, and the build that is tested has."""
    if "SOFTCUDA_BUILD" in os.environ or platform.machine() not in ("x86_64", "AMD64"):
        return ["generic"]
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return ["generic"] + ["avx2"] * ("avx2" in flags and "fma" in flags) + ["avx512"] * ("avx512bw" in flags)


def patience(seconds: float) -> float:
    """The time limit for a program that computes for long: code with sanitizers takes several times as long."""
    return seconds * 6 if "SOFTCUDA_BUILD" in os.environ else seconds


def clean_environment() -> dict[str, str]:
    """This process's without softcuda's settings, but for the build and the compiler that are tested."""
    tested = ("SOFTCUDA_LIBRARY", "SOFTCUDA_TOOLKIT")
    return {name: value for name, value in os.environ.items() if not name.startswith("SOFTCUDA") or name in tested}


def sanitizers() -> list[str]:
    """The flag that the objects of SOFTCUDA_BUILD were compiled with; none for the ordinary build."""
    cache = build_folder() / "CMakeCache.txt"
    lines = [line for line in cache.read_text().splitlines() if line.startswith("SOFTCUDA_SANITIZE:")]
    checks = lines[0].partition("=")[2] if lines else ""
    return [f"-fsanitize={checks}", "-fno-sanitize=enum", "-fno-sanitize-recover=all"] if checks else []


def sources_of(made: str, build: Path) -> set[Path]:
    """The sources of an object file of the build, under softcuda/: one, or those that are compiled together with it."""
    target, _, inner = made.removeprefix("CMakeFiles/").partition("/")
    if not inner.startswith("Unity/"):
        return {Path(inner).with_suffix("")}
    together = (build / "CMakeFiles" / target / inner).with_suffix("")
    return {Path(line.split('"')[1]).relative_to(SOFTCUDA)
            for line in together.read_text().splitlines() if line.startswith("#include")}  # fmt: skip


def objects(*patterns: str) -> list[Path]:
    """Object files of the sources that match, of every SIMD level: "ptx/*.cpp", "machine/lanes_float.cpp"."""
    build = build_folder()
    with (build / ".tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one ninja at a time, whatever pytest-xdist does
        done = subprocess.run([NINJA, "-C", build, "-j2"], capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"softcuda does not build:\n{done.stdout[-3000:]}", pytrace=False)
    # What ninja knows: the folder may hold object files of earlier builds.
    targets = subprocess.run([NINJA, "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    made = [line.partition(":")[0] for line in targets.stdout.splitlines() if line.partition(":")[0].endswith(".o")]
    sources = {path.relative_to(SOFTCUDA) for pattern in patterns for path in SOURCE.glob(pattern)}
    # As in the library: where two hold the same inline function, the one for every CPU comes first.
    level = ["baseline.dir", "lanes_generic.dir", "lanes_avx2.dir", "lanes_avx512.dir"]
    found = [path for path in made if Path(path).parts[1] in level and sources_of(path, build) & sources]
    return [build / path for path in sorted(found, key=lambda path: (level.index(Path(path).parts[1]), path))]


def program(target: Path, sources: list[Path], *flags: str, using: list[Path] | None = None) -> Path:
    """Compile `sources`, two at a time, and link them with the objects `using`."""
    flags = (*flags, *(sanitizers() if using else []))

    def compiled(source: Path) -> Path:
        made = target.with_name(f"{source.stem}.o")
        subprocess.run(["g++", *FLAGS, *flags, "-c", source, "-o", made], check=True)
        return made

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(compiled, sources))
    subprocess.run(["g++", *flags, *made, *(using or []), "-o", target, "-lpthread"], check=True)
    return target
