"""The `softcuda` command: run a program on softcuda, or tell what would be used and why."""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from softcuda import __version__, _select, _toolkit

USAGE = """softcuda run [-m] PROGRAM [ARGUMENTS...]
       softcuda info
       softcuda --version"""


def run(arguments: list[str]) -> int:
    """Run a program or module on softcuda whatever the machine has, as `python` would run it."""
    module = arguments[:1] == ["-m"]
    arguments = arguments[module:]
    if not arguments:
        sys.exit("softcuda: run what? softcuda run program.py, or softcuda run -m module")
    os.environ["SOFTCUDA"] = "force"  # child processes inherit it
    sys.argv = arguments
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return 0
    program = Path(arguments[0])
    if not program.is_file():
        sys.exit(f"softcuda: no program {program}")
    sys.path[0] = str(program.resolve().parent)
    runpy.run_path(str(program), run_name="__main__")
    return 0


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def soft_device(library: Path) -> tuple[str, int, tuple[int, int]]:
    """Name, memory in bytes and compute capability, as softcuda's own driver answers."""
    cuda = ctypes.CDLL(str(library))
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    for function, *arguments in (
        ("cuInit", 0),
        ("cuDeviceGet", ctypes.byref(device), 0),
        ("cuDeviceGetName", name, len(name), device),
        ("cuDeviceTotalMem_v2", ctypes.byref(memory), device),
        ("cuDeviceGetAttribute", ctypes.byref(major), 75, device),
        ("cuDeviceGetAttribute", ctypes.byref(minor), 76, device),
    ):
        if code := getattr(cuda, function)(*arguments):
            raise OSError(f"{function} answered error {code}")
    return name.value.decode(), memory.value, (major.value, minor.value)


def compiler_version(nvcc: Path | None) -> str:
    if nvcc is None:
        return f"none ({_toolkit.INSTALL})"
    answer = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    release = next((line.split(",")[-1].strip() for line in answer.splitlines() if "release" in line), "?")
    return f"{release}  {nvcc}"


def info() -> int:
    """Print what a PyCUDA program started now would run on, and why."""
    rows: list[tuple[str, str]] = [("softcuda", f"{__version__}, Python {platform.python_version()}")]
    failed = 0
    try:
        choice = _select.choose()
        rows.append(("would use", f"{'softcuda' if choice.soft else 'the NVIDIA driver'}: {choice.reason}"))
        for device in choice.devices:
            version = choice.driver_version
            rows.append(("device", f"{device} (driver API {version // 1000}.{version % 1000 // 10})"))
        if choice.soft:
            profile = _select.device_name()
            library = _toolkit.library()
            rows.append(("library", str(library or "not built; reinstall the package")))
            failed = library is None
            if library:
                try:
                    name, memory, (major, minor) = soft_device(library)
                    rows.append(("device", f"{name} (compute capability {major}.{minor})"))
                    rows.append(("memory", f"{memory / 2**30:.1f} GiB ({memory} bytes)"))
                except (OSError, AttributeError) as error:
                    rows.append(("device", f"{profile}: the library does not answer: {error}"))
                    failed = 1
        _select.set_path(choice.soft)
    except _select.SelectError as error:
        rows.append(("error", str(error).removeprefix("softcuda: ")))
        failed = 1
    nvcc = _toolkit.which("nvcc")
    rows.append(("nvcc", str(nvcc or "none on PATH")))
    own = _toolkit.nvidia()
    rows.append(("NVIDIA's nvcc", compiler_version(own / "bin" / "nvcc" if own else nvcc)))
    rows.append(("host compiler", str(_toolkit.which("g++") or "no g++ on PATH: apt-get install g++")))
    rows.append(("PyCUDA", version_of("pycuda")))
    rows.append(("profiles", ", ".join(f"{key} ({each['name']})" for key, each in _toolkit.profiles().items())))
    width = max(len(key) for key, _ in rows)
    for key, value in rows:
        print(f"{key:<{width}}  {value}")
    return int(failed)


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:  # what follows belongs to the program
        return run(arguments[1:])
    parser = argparse.ArgumentParser(prog="softcuda", usage=USAGE, description="A CUDA device made of software.")
    parser.add_argument("--version", action="version", version=f"softcuda {__version__}")
    parser.add_argument("command", choices=["run", "info"])
    parser.parse_args(arguments)
    return info()
