"""softcuda's tests on a library built with sanitizers: python tools/sanitize.py [--thread] [PYTEST ARGUMENT ...]

AddressSanitizer and UBSan, and without arguments all of tests/softcuda.  Leaks are not looked for: the library keeps
its device until the process is gone, on purpose, and Python frees little at its end.  What is found is written to files
and reported at the end, and is a failure whatever the tests say: one that expects its program to fail cannot hide it.

--thread: ThreadSanitizer, and without further arguments the tests in which several threads are at work.  What kernels
do with device memory is the program's affair: the lane loops, which touch it, are compiled without the checks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from softcuda import _toolkit  # type: ignore[attr-defined]  # mypy takes the folder for it

ROOT = Path(__file__).parents[1]
CHECKED = ROOT / "softcuda" / "build" / "checked"
# glibc hands the stack of a thread that has ended, and the thread-local memory beside it, to the next one.  Of the lock
# that it takes ThreadSanitizer knows nothing: the freeing looks like a race with the destructors of what lay there.
NO_RACE = "race:_dl_deallocate_tls\n"
THREADED = ["driver", "programs/test_blocks.py", "programs/test_dynamic_parallelism.py", "programs/test_repeatable.py",
            "test_python_libraries.py"]  # fmt: skip


def build(folder: Path, checks: str) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    configure: list[str | Path]
    configure = ["cmake", "-G", "Ninja", "-S", ROOT / "softcuda", "-B", folder, f"-DSOFTCUDA_SANITIZE={checks}",
                 "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DSKBUILD_PROJECT_VERSION=0",
                 f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    subprocess.run(configure, check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, f"-j{os.cpu_count()}"], check=True, env=environment)


def compiler_without_preload(folder: Path) -> Path:
    """NVIDIA's compiler as it is, but for LD_PRELOAD: its cicc does not start with a sanitizer's runtime in it."""
    toolkit = _toolkit.nvidia()
    assert toolkit, _toolkit.INSTALL
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    for path in (*toolkit.iterdir(), *(toolkit / "bin").iterdir()):
        if path.name not in ("bin", "nvcc"):
            (folder / path.relative_to(toolkit)).symlink_to(path)
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{toolkit}/bin/nvcc" "$@"\n')
    nvcc.chmod(0o755)
    return folder


def report(reports: Path) -> bool:
    """The head of each report, equal ones once; false if there is none."""
    heads: dict[str, Path] = {}
    for path in sorted(reports.iterdir()):
        lines = path.read_text(errors="replace").splitlines()
        if any("#3 " in line and "pycuda::context_stack::~context_stack" in line for line in lines):
            continue  # PyCUDA itself aborts where a program ends with a context on its stack
        head = [re.sub(r"==\d+==|0x[0-9a-f]+ ?", "", line) for line in lines if re.search(r"ERROR|WARNING|#\d", line)]
        heads.setdefault("\n".join(head[:12]), path)
    for first, path in heads.items():
        print(f"\n{path}\n{first}")
    return bool(heads)


def main(arguments: list[str]) -> int:
    threads = "--thread" in arguments
    tests = [each for each in arguments if each != "--thread"]
    folder = CHECKED / ("thread" if threads else "address")
    build(folder, "thread" if threads else "address,undefined")
    # The runtime has to come first in a process whose program was not built with it, and needs the library that throws.
    preload = [subprocess.run(["g++", f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout
               for library in ("libtsan.so" if threads else "libasan.so", "libstdc++.so.6")]  # fmt: skip
    reports = folder / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    (folder / "no_race.txt").write_text(NO_RACE)
    # Freed memory is kept aside to notice its use: less than tests that measure memory allow.
    address = "detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=48"
    environment = {
        **os.environ,
        "SOFTCUDA_LIBRARY": str(folder / "package" / "libcuda.so.1"),
        "SOFTCUDA_BUILD": str(folder),  # tests/softcuda/native.py: C++ programs of tests link with these objects
        "SOFTCUDA_TOOLKIT": str(compiler_without_preload(folder / "toolkit")),
        # UBSan has no file of its own beside ASan: it aborts, and ASan writes where that was, as it does for an assert.
        "ASAN_OPTIONS": f"{address}:handle_abort=1:log_path={reports}/report",
        "UBSAN_OPTIONS": f"print_stacktrace=1:abort_on_error=1:log_path={reports}/report",
        "TSAN_OPTIONS": f"halt_on_error=1:suppressions={folder / 'no_race.txt'}:log_path={reports}/report",
    }
    # ThreadSanitizer wants addresses where they always are, and that before it starts.
    command = [*(["setarch", "-R"] if threads else []), "env", f"LD_PRELOAD={' '.join(map(str.strip, preload))}",
               sys.executable, "-m", "pytest", *tests]  # fmt: skip
    if not any(Path(each.partition("::")[0]).exists() for each in tests):
        every = ROOT / "tests" / "softcuda"
        command += [str(every / name) for name in THREADED] if threads else [str(every)]
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    return 1 if report(reports) else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
