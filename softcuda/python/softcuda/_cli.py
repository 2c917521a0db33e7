"""The `softcuda` command: run a program on softcuda, or tell what would be used and why."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import os
import platform
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from softcuda import __version__, _output, _select, _toolkit

USAGE = {
    "run": "softcuda run [--seed N] [-m] PROGRAM [ARGUMENTS...]",
    "profile": "softcuda profile [--json FILE] [-m] PROGRAM [ARGUMENTS...]",
    "check": "softcuda check [--json FILE] [--strict] [--seed N] [-m] PROGRAM [ARGUMENTS...]",
    "trace": "softcuda trace --kernel NAME [--block X[,Y[,Z]]] [--launch N] [--steps N] [-o FILE] [-m] PROGRAM"
    " [ARGUMENTS...]",
    "info": "softcuda info",
}
SEED = "--seed N        shuffle the order of warps and blocks; 0: do not"
JSON = "--json FILE     write JSON into FILE and no table"
MODULE = "-m              PROGRAM is a module, as with python -m"
HELP = {
    "run": ("Run a program on softcuda, whatever the machine has.", SEED, MODULE),
    "profile": ("Run a program and count what its launches asked of the hardware, by source line.", JSON, MODULE),
    "check": (
        "Run a program and look for races, uninitialised reads, barriers that not every thread reaches, and the like.",
        JSON,
        "--strict        findings in kernels that PyCUDA generates count, too",
        SEED,
        MODULE,
    ),
    "trace": (
        "Run a program and write down what each step of one block does, as JSON.",
        "--kernel NAME   whose launch",
        "--block X,Y,Z   of its blocks this one; without it the first",
        "--launch N      the Nth launch of that kernel; without it the first",
        "--steps N       at most N steps; without it 20,000",
        "-o FILE         into FILE; without it NAME.trace.json",
        MODULE,
    ),
    "info": ("Print what a program would run on, and why.",),
}  # fmt: skip

# Libraries whose kernels are compiled already, by their top-level module.
COMPILED = {"cupy": "CuPy", "jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


class Bystanders:
    """First on sys.meta_path: finds nothing, and says once of each library in COMPILED why it will find no device."""

    def __init__(self) -> None:
        self.untold = set(COMPILED)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self.untold:
            self.untold.remove(name)
            sys.stderr.write(
                f"softcuda: {COMPILED[name]} brings machine code for GPUs and the CUDA runtime, which softcuda cannot "
                "run: it sees no CUDA device here\n"
            )


def not_python(program: Path) -> str:
    """What to say if `program` is not one that Python can run; empty if it is."""
    if not program.is_file():
        return f"no program {program}"
    if program.suffix in (".cu", ".cuh", ".ptx", ".cubin", ".fatbin"):
        return (
            f"{program} is no Python program; a kernel is started from one, with pycuda.compiler.SourceModule "
            "(CUDA C++) or pycuda.driver.module_from_file (PTX)"
        )
    with program.open("rb") as file:
        start = file.read(1024)
    if start.startswith(b"\x7fELF"):
        return (
            f"{program} is a compiled program; what nvcc links brings machine code for GPUs and the CUDA runtime, "
            "which softcuda cannot run: start its kernels from Python, with pycuda.compiler.SourceModule"
        )
    if b"\0" in start and not start.startswith(b"PK"):  # a zip file may be a Python program
        return f"{program} is no Python program"
    return ""


def check_program(command: str, arguments: list[str]) -> None:
    """End with one line if `[-m] PROGRAM ...` names none that can run."""
    module = arguments[:1] == ["-m"]
    arguments = arguments[module:]
    if not module and arguments and arguments[0].startswith("-"):
        sys.exit(f"softcuda: {command} has no option {arguments[0]}; softcuda {command} --help shows those it has")
    if not arguments:
        sys.exit(f"softcuda: {command} what? softcuda {command} program.py, or softcuda {command} -m module")
    if not module and (mistake := not_python(Path(arguments[0]))):
        sys.exit(f"softcuda: {mistake}")


def check_seed(arguments: list[str]) -> None:
    """End with one line if `--seed N ...` has no seed."""
    seed = "".join(arguments[1:2])
    if not seed.isdecimal() or len(seed) > 20 or int(seed) >= 2**64:
        sys.exit(f"softcuda: --seed {seed} is not a whole number below 2**64 (0: no shuffling)")


def run(arguments: list[str]) -> int:
    """Run a program or module on softcuda whatever the machine has, as `python` would run it."""
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
        _select.activate_once()  # for programs, too, that open libcuda.so.1 in a way the hook does not see
    except _select.SelectError as error:
        sys.exit(str(error))
    sys.meta_path.insert(0, Bystanders())
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


def finish_launches() -> None:
    """Kernels may still run when the program has come to its end; here Ctrl-C ends it as anywhere in the program."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).cuCtxSynchronize()


def put_first(folder: str) -> None:
    """On sys.path, where Python has put its own guess, unless it was told not to (-P)."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


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
    written = _output.show("\n".join(f"{key:<{width}}  {value}" for key, value in rows))
    return int(failed or not written)


def help_on(command: str) -> str:
    about, *options = HELP[command]
    return "\n".join([f"usage: {USAGE[command]}", "", about, *[""] * bool(options), *(f"  {one}" for one in options)])


def help_on_all() -> str:
    lines = [f"  {command:<9} {HELP[command][0]}" for command in USAGE]
    return "\n".join(
        [
            "A CUDA device made of software.",
            "",
            *("usage: " * (i == 0) + " " * 7 * (i > 0) + usage for i, usage in enumerate(USAGE.values())),
            "       softcuda --version",
            "",
            *lines,
            "",
            "softcuda COMMAND --help shows a command's options.",
        ]
    )


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
    if command == "profile":
        from softcuda import _profile

        return _profile.main(arguments)
    if command == "check":
        from softcuda import _check

        return _check.main(arguments)
    if command == "trace":
        from softcuda import _trace

        return _trace.main(arguments)
    if arguments:
        sys.exit(f"softcuda: info takes no arguments, and here is {arguments[0]}")
    return info()
