"""softcuda's tests on a library built with AddressSanitizer and UBSan: python tools/sanitize.py [PYTEST ARGUMENT ...]

Without arguments all of tests/softcuda.  Leaks are not looked for: the library keeps its device until the process is
gone, on purpose, and Python frees little at its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "softcuda" / "build" / "checked" / "address"


def build() -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    configure: list[str | Path]
    configure = ["cmake", "-G", "Ninja", "-S", ROOT / "softcuda", "-B", BUILD, "-DSOFTCUDA_SANITIZE=address,undefined",
                 "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DSKBUILD_PROJECT_VERSION=0",
                 f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    subprocess.run(configure, check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD], check=True, env=environment)


def main(tests: list[str]) -> int:
    build()
    find = ["g++", "-print-file-name=libasan.so"]
    environment = {
        **os.environ,
        "SOFTCUDA_LIBRARY": str(BUILD / "package" / "libcuda.so.1"),
        "SOFTCUDA_BUILD": str(BUILD),  # tests/softcuda/native.py: C++ programs of tests link with these objects
        # AddressSanitizer has to come first in a process whose program was not built with it.
        "LD_PRELOAD": subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, "-m", "pytest", *(tests or ["tests/softcuda"])]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
