"""Builds softcuda for libFuzzer and runs the targets: python fuzz.py [--seconds 60] [--keep] [TARGET ...]

Needs clang++ with its sanitizer runtimes.  Each target starts from its committed corpus, corpus/TARGET.tar.xz; what it
finds goes to softcuda/build/checked/fuzz/TARGET, inputs that crash to crashes/ beside it.  --keep then reduces both to
the inputs that cover something of their own, into the corpus.

To add an input by hand, or to look at one (needs no clang):

    python fuzz.py --unpack load     write the corpus into a folder, whose path it prints
    python fuzz.py --pack load       make the archive of the files that are there now, whatever their names
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import corpora

from softcuda import _toolkit

HERE = Path(__file__).parent
SOFTCUDA = HERE.parents[2] / "softcuda"
BUILD = SOFTCUDA / "build" / "checked" / "fuzz"
UNPACKED = BUILD / "corpus"
CHECKS = "fuzzer-no-link,address,undefined"
LENGTHS = {"load": 4000, "launch": 3000, "driver": 700, "link": 600}  # bytes of the longest input
ENVIRONMENT = {**os.environ, "SOFTCUDA_QUIET": "1", "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0"}


def build(targets: list[str]) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    configure = ["cmake", "-G", "Ninja", "-S", SOFTCUDA, "-B", BUILD, "-DCMAKE_CXX_COMPILER=clang++",
                 "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", f"-DSOFTCUDA_SANITIZE={CHECKS}",
                 "-DSKBUILD_PROJECT_VERSION=0", f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    subprocess.run(configure, check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "baseline", "lanes_generic"], check=True, env=environment)
    objects = sorted(BUILD.glob("CMakeFiles/**/*.o"))
    toolkit = _toolkit.nvidia()
    assert toolkit, _toolkit.INSTALL
    for target in targets:
        subprocess.run(
            ["clang++", "-std=c++20", "-g1", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize=enum",
             "-fno-sanitize-recover=all", f"-I{SOFTCUDA / 'src'}", f"-I{toolkit / 'include'}",
             HERE / f"{target}.cpp", *objects, "-o", BUILD / f"fuzz_{target}", "-lpthread", "-ldl"], check=True,
        )  # fmt: skip


def fuzz(target: str, seconds: int) -> bool:
    """False when an input crashed it; its log is kept beside the crash."""
    found, crashes = BUILD / target, BUILD / "crashes"
    found.mkdir(exist_ok=True)
    crashes.mkdir(exist_ok=True)
    command = [BUILD / f"fuzz_{target}", found, committed(target), f"-max_total_time={seconds}",
               f"-max_len={LENGTHS[target]}", f"-artifact_prefix={crashes}/{target}-", "-rss_limit_mb=2500",
               "-malloc_limit_mb=1000", "-timeout=300", "-close_fd_mask=3", "-print_final_stats=1"]  # fmt: skip
    if target != "driver":
        command.append(f"-dict={HERE / 'ptx.dict'}")
    log = BUILD / f"{target}.log"
    with log.open("w") as out:
        code = subprocess.run(command, stderr=out, env=ENVIRONMENT).returncode
    runs = next((line.split()[-1] for line in log.read_text().splitlines() if "number_of_executed_units" in line), "?")
    print(f"{target}: {runs} inputs, {'well' if code == 0 else f'FAILED, see {log} and {crashes}'}")
    return code == 0


def committed(target: str) -> Path:
    """A folder with the committed corpus."""
    folder = BUILD / f"{target}.committed"
    shutil.rmtree(folder, ignore_errors=True)
    corpora.unpack(target, folder)
    return folder


def keep(target: str) -> None:
    fresh = BUILD / f"{target}.kept"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    command = [BUILD / f"fuzz_{target}", "-set_cover_merge=1", "-close_fd_mask=3", fresh, committed(target)]
    subprocess.run([*command, BUILD / target], check=True, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    pack(target, fresh)


def unpack(target: str) -> None:
    folder = UNPACKED / target
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{target}: {len(corpora.unpack(target, folder))} inputs in {folder}")


def pack(target: str, folder: Path) -> None:
    new, gone = corpora.pack(target, folder)
    print(f"{target}: {new} inputs new, {gone} gone, in {corpora.archive(target)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--unpack", action="store_true", help="write the corpus into a folder, to add an input by hand")
    parser.add_argument("--pack", action="store_true", help="make the archive of what is in that folder")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(corpora.TARGETS))
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(corpora.TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(corpora.TARGETS)}")
    targets = asked.targets or list(corpora.TARGETS)
    if asked.unpack:
        for target in targets:
            unpack(target)
        return 0
    if asked.pack:
        if absent := [target for target in targets if not (UNPACKED / target).is_dir()]:
            parser.error(f"{UNPACKED / absent[0]} is not there; first: fuzz.py --unpack {absent[0]}")
        for target in targets:
            pack(target, UNPACKED / target)
        return 0
    build(targets)
    well = [fuzz(target, asked.seconds) for target in targets]
    if asked.keep:
        for target in targets:
            keep(target)
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
