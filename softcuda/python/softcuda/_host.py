"""Programs in plain CUDA C++: `softcuda nvcc` compiles them for softcuda, and `softcuda run` starts what it made.

NVIDIA's nvcc does the whole work.  It is asked for the device that softcuda plays, for PTX beside the machine code
(softcuda executes the PTX and reads registers and stack out of the machine code), for both uncompressed, and for the
shared CUDA runtime, which is softcuda's own libcudart.so.13.  Programs find it by the run path that they are linked
with.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from softcuda import __version__, _nvcc, _select, _toolkit

SOURCE = ".cu"
KEPT = 20  # compiled programs in the cache; the oldest go
# What chooses a target or a runtime; with a value, which may be the next argument.
CHOSEN_HERE = {"arch", "gpu-architecture", "code", "gpu-code", "gencode", "generate-code", "cudart", "compress-mode"}
FLAGS_CHOSEN_HERE = {"no-compress", "lineinfo", "generate-line-info", "lcudart", "lcudart_static"}
# What leaves no program or object for the host: nvcc itself, or the stand-in that PyCUDA calls.
DEVICE_ONLY = {"cubin", "ptx", "fatbin"}
UNTOUCHED = {"preprocess", "E", "M", "MM", "generate-dependencies"}
# NVIDIA's libraries of machine code, by what their names begin with.
COMPILED = ("cublas", "cudnn", "cufft", "cufile", "curand", "cusolver", "cusparse", "nccl", "npp", "nvjpeg")


def capability() -> int:
    """Of the devices that softcuda plays, the lowest: its PTX runs on all of them."""
    devices = os.environ.get("SOFTCUDA_DEVICES", "")
    names = devices.split(",") if devices and not devices.isdecimal() else [os.environ.get("SOFTCUDA_DEVICE") or "h200"]
    _select.device_name()  # SelectError if the first is none
    profiles = _toolkit.profiles()
    versions = [profiles[name]["compute_capability"] for name in names if name in profiles]
    return min(major * 10 + minor for major, minor in versions)


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments that nvcc is to see, and the values of those that choose a target."""
    kept, targets, index = [], [], 0
    while index < len(arguments):
        word = arguments[index]
        name, has_value, value = word.lstrip("-").partition("=")
        taken = [word]
        index += 1
        if (
            word.startswith("-")
            and name in _nvcc.TAKES_VALUE | CHOSEN_HERE
            and not has_value
            and index < len(arguments)
        ):
            value = arguments[index]
            taken.append(value)
            index += 1
        if word.startswith("-") and name in CHOSEN_HERE:
            targets.append(value)
        elif word.startswith("-") and (name in FLAGS_CHOSEN_HERE or (name in ("l", "library") and value == "cudart")):
            pass
        else:
            kept += taken
    return kept, targets


def options(targets: list[str], debug: bool) -> list[str]:
    """nvcc's options for a program that runs on softcuda; `targets` are what its author asked for."""
    version = capability()
    # Features of one architecture alone (sm_90a) are had by asking for it, and on that device.
    special = [suffix for suffix in "af" if re.search(rf"_{version}{suffix}\b", " ".join(targets))]
    target = f"{version}{''.join(special[:1])}"
    library, toolkit = _toolkit.library(), _toolkit.nvidia()
    if library is None or toolkit is None:
        sys.exit(f"softcuda: {'its library is not built: reinstall the package' if toolkit else _toolkit.INSTALL}")
    return [
        f"-gencode=arch=compute_{target},code=[sm_{target},compute_{target}]",
        "--no-compress",
        "--cudart=shared",
        *(() if debug else ("-lineinfo",)),
        f"-L{library.parent}",
        f"-L{toolkit / 'lib'}",
        f"-Xlinker=-rpath={library.parent}",
    ]


def nvcc(arguments: list[str]) -> int:
    """`softcuda nvcc ...`: NVIDIA's compiler, for programs that run on softcuda.  The exit status is nvcc's."""
    flags = {word.lstrip("-").partition("=")[0] for word in arguments if word.startswith("-")}
    try:
        _select.check_settings()
        _select.set_path(soft=True)
        if flags & DEVICE_ONLY or flags & {"version", "V"}:
            sys.argv = ["nvcc", *arguments]
            _nvcc.main()
            return 0
        real = _nvcc.find_nvcc()
        if flags & UNTOUCHED or not arguments:
            return subprocess.run([real, *arguments]).returncode
        kept, targets = split(arguments)
        _nvcc.need_host_compiler(_nvcc.Request(kept))
        command = [real, *options(targets, bool(flags & {"G", "device-debug"})), *kept]
    except _select.SelectError as error:
        sys.exit(str(error))
    code = subprocess.run(command).returncode
    libraries = [word.partition("l")[2] for word in kept if re.match("-l[a-z]", word)]
    if code:
        _nvcc.warn_of_mixture(real)
        for name in libraries:
            if name.startswith(COMPILED):
                sys.stderr.write(
                    f"softcuda: lib{name} is machine code for GPUs, which softcuda cannot run: "
                    "leave out what needs it\n"
                )
    return code


# --- the programs that `softcuda run hello.cu` compiles


def digest(path: str) -> str:
    with contextlib.suppress(OSError):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return ""


def read_dependencies(file: Path) -> list[str]:
    """The files that a compilation read, from what nvcc -MD wrote: `target : source header \\`."""
    text = file.read_text(errors="replace").partition(":")[2].replace("\\\n", " ")
    return [word.replace("\\ ", " ") for word in re.split(r"(?<!\\)\s+", text) if word]


def cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softcuda" / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compiled(source: Path) -> Path:
    """The program that `source` is compiled to: from the cache if neither it nor a file that it includes has changed.

    Ends as nvcc did, in nvcc's words, if it does not compile.
    """
    try:
        return find_or_compile(source)
    except _select.SelectError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"softcuda: there is no place for compiled programs: {error}")


def find_or_compile(source: Path) -> Path:
    key = [str(source.resolve()), __version__, str(capability()), *map(str, (_toolkit.library(), _toolkit.nvidia()))]
    root = cache()
    folder = root / hashlib.sha256("\0".join(key).encode()).hexdigest()[:24]
    program, notes = folder / source.stem, folder / "dependencies.json"
    with contextlib.suppress(OSError, ValueError):
        before = json.loads(notes.read_text())
        if program.is_file() and before and all(digest(path) == was for path, was in before.items()):
            os.utime(folder)
            return program
    with tempfile.TemporaryDirectory(prefix="compiling-", dir=root) as name:
        made, listed = Path(name) / source.stem, Path(name) / "dependencies.d"
        code = nvcc([str(source), "-o", str(made), "-MD", "-MF", str(listed)])
        if code:
            has_main = re.search(rb"\bmain\s*\(", source.read_bytes())
            why = "nvcc's message stands above" if has_main else "it has no main(): start its kernels from one"
            sys.stderr.write(f"softcuda: {source} does not compile: {why}\n")
            sys.exit(code)
        read = {path: digest(path) for path in (*read_dependencies(listed), str(source.resolve()))}
        listed.unlink()
        (Path(name) / "dependencies.json").write_text(json.dumps(read))
        old = Path(name) / "old"
        with contextlib.suppress(OSError):
            folder.rename(old)  # both go with the temporary folder
        new = Path(tempfile.mkdtemp(prefix="compiled-", dir=root))
        for each in (made, Path(name) / "dependencies.json"):
            os.replace(each, new / each.name)
        try:
            new.rename(folder)
        except OSError:  # another process was faster, with the same
            shutil.rmtree(new, ignore_errors=True)
    forget_oldest(root)
    return program


def with_compiled_program(arguments: list[str]) -> list[str]:
    """`[--seed N] PROGRAM ...` with what PROGRAM is compiled to, if it is a .cu file."""
    at = 2 if arguments[:1] == ["--seed"] else 0
    if arguments[at : at + 1] and arguments[at].endswith(SOURCE):
        return [*arguments[:at], str(compiled(Path(arguments[at]))), *arguments[at + 1 :]]
    return arguments


def forget_oldest(root: Path) -> None:
    with contextlib.suppress(OSError):
        folders = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for path in folders[:-KEPT]:
            shutil.rmtree(path, ignore_errors=True)


# --- starting them


def is_compiled(program: Path) -> bool:
    """Whether it is a program for the machine, as a compiler makes them."""
    try:
        with program.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def mistake(program: Path) -> str:
    """Why a compiled program cannot run on softcuda, as far as can be seen; empty if nothing speaks against it."""
    text = program.read_bytes()
    if not os.access(program, os.X_OK):
        return f"{program} may not be executed: chmod +x {program}"
    if b"libcudart.so.13" in text or b"cudaMalloc" not in text or b".nv_fatbin" not in text:
        return ""
    if found := re.search(rb"libcudart\.so\.(\d+)", text):
        which = f"the CUDA runtime {found[1].decode()}, and softcuda is 13"
    else:
        which = "NVIDIA's static CUDA runtime, which wants NVIDIA's driver"
    return f"{program} is linked with {which}: compile it with softcuda nvcc"


def execute(program: Path, arguments: list[str]) -> None:
    """Become the program; `softcuda`'s libraries come first, and stderr says which device it is."""
    name, library = _select.device_name(), _toolkit.library()
    if library is None:
        raise _select.SelectError("softcuda: its libcuda.so.1 is not installed; pip install --force-reinstall softcuda")
    _select.set_path(soft=True)
    folders = [str(library.parent), *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(dict.fromkeys(folders))
    _select.say_device(_select.choose(), name)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(program.resolve() if program.parent == Path() else program, [str(program), *arguments])
    except OSError as error:
        sys.exit(f"softcuda: {program} cannot be started: {error.strerror}")
