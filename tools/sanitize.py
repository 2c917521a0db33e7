"""softcuda's tests on a library built with sanitizers: python tools/sanitize.py [--thread] [PYTEST ARGUMENT ...]

AddressSanitizer and UBSan, and without arguments all of tests/softcuda.  Leaks are not looked for: the library keeps
its device until the process is gone, on purpose, and Python frees little at its end.

--thread: ThreadSanitizer, and without further arguments the tests in which several threads are at work.  What kernels
do with device memory is the program's affair: the lane loops, which touch it, are compiled without the checks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from softcuda import _toolkit  # type: ignore[attr-defined]  # mypy takes the folder for it

ROOT = Path(__file__).parents[1]
CHECKED = ROOT / "softcuda" / "build" / "checked"
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


def main(arguments: list[str]) -> int:
    threads = "--thread" in arguments
    tests = [each for each in arguments if each != "--thread"]
    folder = CHECKED / ("thread" if threads else "address")
    build(folder, "thread" if threads else "address,undefined")
    # The runtime has to come first in a process whose program was not built with it, and needs the library that throws.
    preload = [subprocess.run(["g++", f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout
               for library in ("libtsan.so" if threads else "libasan.so", "libstdc++.so.6")]  # fmt: skip
    environment = {
        **os.environ,
        "SOFTCUDA_LIBRARY": str(folder / "package" / "libcuda.so.1"),
        "SOFTCUDA_BUILD": str(folder),  # tests/softcuda/native.py: C++ programs of tests link with these objects
        "SOFTCUDA_TOOLKIT": str(compiler_without_preload(folder / "toolkit")),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "halt_on_error=1",
    }
    # ThreadSanitizer wants addresses where they always are, and that before it starts.
    command = [*(["setarch", "-R"] if threads else []), "env", f"LD_PRELOAD={' '.join(map(str.strip, preload))}",
               sys.executable, "-m", "pytest", *tests]  # fmt: skip
    if not any(Path(each.partition("::")[0]).exists() for each in tests):
        every = ROOT / "tests" / "softcuda"
        command += [str(every / name) for name in THREADED] if threads else [str(every)]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
