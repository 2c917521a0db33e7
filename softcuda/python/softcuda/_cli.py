"""The `softcuda` command: run a program on softcuda, or say what would be used and why."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import os
import platform
import runpy
import subprocess
import sys
import types
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

from softcuda import __version__, _hook, _host, _output, _select, _toolkit
from softcuda._usage import USAGE, check_program, check_seed, help_on, help_on_all


class Bystanders:
    """First on sys.meta_path: says of libraries that cannot use softcuda that they see no device, and follows Triton.

    The import hook does so too, but is silent with SOFTCUDA_QUIET; and a checkout on PYTHONPATH has no hook.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in _hook.COMPILED:
            _hook.warn_of_compiled(name)
        return _hook.notice(name) if name in _hook.FOLLOWED else None


def run(arguments: list[str]) -> int:
    """Run a program or module on softcuda whatever the machine has: as `python` would run it, or a compiled one."""
    if arguments[:1] == ["--seed"]:  # the order of warps and blocks, shuffled
        check_seed(arguments)
        os.environ["SOFTCUDA_SEED"] = arguments[1]
        arguments = arguments[2:]
    check_program("run", arguments)
    module = arguments[:1] == ["-m"]
    arguments = arguments[module:]
    try:
        _select.check_settings()
        os.environ["SOFTCUDA"] = "force"  # child processes inherit it
        if not module and (native := native_program(arguments[0])):
            _host.execute(native, arguments[1:])
        _select.activate_once()  # for programs, too, that open libcuda.so.1 in a way the hook does not see
    except _select.SelectError as error:
        sys.exit(str(error))
    sys.meta_path.insert(0, Bystanders())
    explain_missing_pycuda()
    sys.argv = arguments
    try:
        if module:
            put_first(os.getcwd())
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            program = Path(arguments[0])
            put_first(str(program.resolve().parent))
            runpy.run_path(str(program), run_name="__main__")
    except SystemExit:
        finish_launches()
        raise
    finish_launches()
    return 0


def native_program(name: str) -> Path | None:
    """What `name` is compiled to, if it is a .cu file, or itself, if it is a program for the machine; else None."""
    program = Path(name)
    if program.suffix == _host.SOURCE:
        return _host.compiled(program)
    return program if _host.is_compiled(program) else None


def finish_launches() -> None:
    """Kernels may still run when the program has come to its end; here Ctrl-C ends it as anywhere in the program."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).cuCtxSynchronize()


def put_first(folder: str) -> None:
    """On sys.path, where Python has put its own guess, unless -P forbids it."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def explain_missing_pycuda() -> None:
    """When the program ends because it imports PyCUDA and there is none, the last line says how to get it."""
    before = sys.excepthook

    def excepthook(kind: type[BaseException], value: BaseException, trace: types.TracebackType | None) -> None:
        before(kind, value, trace)
        if isinstance(value, ModuleNotFoundError) and value.name == "pycuda":
            sys.stderr.write(f"softcuda: PyCUDA is not installed for {sys.executable}: softcuda install-pycuda\n")

    sys.excepthook = excepthook


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
        return f"not installed: {_toolkit.INSTALL}"
    answer = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    release = next((line.split(",")[-1].strip() for line in answer.splitlines() if "release" in line), "?")
    return f"{release}  {nvcc}"


def nvrtc() -> str:
    """The compiler that Numba and cuda.core call; PyCUDA does without it."""
    if version := _toolkit.versions().get(_toolkit.NVRTC):
        return version
    with contextlib.suppress(OSError):
        ctypes.CDLL("libnvrtc.so.13")
        return "libnvrtc.so.13, the system's"
    return (
        f"not installed; Numba and cuda.core need it: pip install {_toolkit.NVRTC}=={_toolkit.PACKAGES[_toolkit.NVCC]}"
    )


def info() -> int:
    """Print what a PyCUDA program started now would run on, and why."""
    rows: list[tuple[str, str]] = [("softcuda", f"{__version__}, Python {platform.python_version()}")]
    failed, soft = 0, True
    try:
        choice = _select.choose()
        soft = choice.soft
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
    rows.append(("nvcc", str(_toolkit.which("nvcc") or "none on PATH")))
    own = _toolkit.nvidia()
    # The stand-in takes that of the packages and no other.
    nvcc = own / "bin" / "nvcc" if own else None if soft else _toolkit.which("nvcc", skip=_toolkit.stand_in())
    rows.append(("NVIDIA's nvcc", compiler_version(nvcc)))
    rows.append(("host compiler", str(_toolkit.which("g++") or "no g++ on PATH: apt-get install g++")))
    if own and (mixture := _toolkit.mixture(own)):
        rows.append(("mixed packages", mixture))
    rows.append(("PyCUDA", version_of("pycuda")))
    rows.append(("Numba", version_of("numba-cuda")))
    rows.append(("Triton", version_of("triton")))
    rows.append(("NVRTC", nvrtc()))
    rows.append(("profiles", ", ".join(f"{key} ({each['name']})" for key, each in _toolkit.profiles().items())))
    width = max(len(key) for key, _ in rows)
    written = _output.show("\n".join(f"{key:<{width}}  {value}" for key, value in rows))
    return int(failed or not written)


def main() -> int:
    command, *arguments = sys.argv[1:] or ["--help"]
    if command == "--version":
        return int(not _output.show(f"softcuda {__version__}"))
    if command in ("-h", "--help"):
        return int(not _output.show(help_on_all()))
    if command not in USAGE:
        known = ", ".join(USAGE)
        near = difflib.get_close_matches(command, USAGE, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        sys.exit(f"softcuda: there is no command {command}, only {known}{hint}")
    if arguments[:1] in (["-h"], ["--help"]):
        return int(not _output.show(help_on(command)))
    if command == "run":  # what follows belongs to the program
        return run(arguments)
    if command == "nvcc":
        return _host.nvcc(arguments)
    if command == "profile":
        from softcuda import _profile

        return _profile.main(arguments)
    if command == "check":
        from softcuda import _check

        return _check.main(arguments)
    if command == "trace":
        from softcuda import _trace

        return _trace.main(arguments)
    if command == "install-pycuda":
        from softcuda import _pycuda

        return _pycuda.main(arguments)
    if arguments:
        sys.exit(f"softcuda: info takes no arguments, and here is {arguments[0]}")
    return info()
