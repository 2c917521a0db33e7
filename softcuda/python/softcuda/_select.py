"""Choose between the machine's CUDA device and softcuda's, and make the choice hold for this process.

SOFTCUDA=force takes softcuda whatever the machine has, SOFTCUDA=0 never does; otherwise a real device wins.
SOFTCUDA_QUIET=1 silences the line on stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from softcuda import _settings, _toolkit

PROBE_SECONDS = 60  # a driver that has to load its kernel module takes seconds


class SelectError(ImportError):
    """softcuda was wanted and cannot be had; the message is one line.  It ends the import that needed a driver."""


@dataclass(frozen=True)
class Choice:
    """`soft`: run on softcuda; `reason`: why, in words that follow a colon; `devices`: what the driver has."""

    soft: bool
    reason: str
    devices: list[str] = field(default_factory=list)
    driver_version: int = 0


def probe_driver() -> dict:
    """What `_probe` found, in a process of its own."""
    python = sys.executable
    if not python:  # an embedded interpreter
        return {"reason": "cannot look for a CUDA driver without sys.executable"}
    command = [python, "-I", "-S", str(Path(__file__).with_name("_probe.py"))]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS)
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"reason": f"the NVIDIA driver did not answer within {PROBE_SECONDS} s"}
    except (OSError, IndexError, ValueError):
        return {"reason": "asking the NVIDIA driver for a device failed"}


def forced() -> bool:
    return os.environ.get("SOFTCUDA", "").lower() in ("force", "1")


def in_worker() -> bool:
    """Workers that multiprocessing spawns repeat nothing: their program has spoken already."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def choose() -> Choice:
    """Decide, changing nothing; SelectError if a setting is none."""
    if mistake := _settings.mistake():
        raise SelectError(f"softcuda: {mistake}")
    wanted = os.environ.get("SOFTCUDA", "").lower()
    if forced():
        return Choice(True, f"SOFTCUDA={wanted}")
    found = probe_driver()
    devices, version = found.get("devices", []), found.get("version", 0)
    if wanted in ("0", "never"):
        return Choice(False, f"SOFTCUDA={wanted}; {found.get('reason', devices)}", devices, version)
    if devices:
        return Choice(False, "the NVIDIA driver has a device", devices, version)
    return Choice(True, found["reason"])


def set_path(soft: bool) -> None:
    """Put the compiler that belongs to the device on PATH; child processes inherit it."""
    own, toolkit = str(_toolkit.stand_in()), _toolkit.nvidia()
    entries = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry != own]
    if soft:
        entries.insert(0, own)
        os.environ["SOFTCUDA_PYTHON"] = sys.executable or ""
        if toolkit:
            os.environ["SOFTCUDA_TOOLKIT"] = str(toolkit)
        os.environ.update(triton_variables())
    elif toolkit and not _toolkit.which("nvcc", skip=_toolkit.stand_in()):
        entries.append(str(toolkit / "bin"))
    if not soft:
        forget_triton()
    os.environ["PATH"] = os.pathsep.join(entries)


def triton_variables() -> dict[str, str]:
    """Triton's own settings: its compiler's last step, which is to leave PTX, and the driver that it launches with."""
    tools = {"TRITON_PTXAS_PATH": "ptxas", "TRITON_PTXAS_BLACKWELL_PATH": "ptxas-blackwell"}
    variables = {name: str(_toolkit.stand_in() / tool) for name, tool in tools.items()}
    if library := _toolkit.library():
        variables["TRITON_LIBCUDA_PATH"] = str(library.parent)
    return variables


def forget_triton() -> None:
    """Take back what a parent process on softcuda has set for Triton."""
    for name, value in triton_variables().items():
        if os.environ.get(name) == value:
            del os.environ[name]


def load_soft() -> ctypes.CDLL:
    """Load softcuda's library so that PyCUDA's cu* symbols, and the name libcuda.so.1, resolve to it."""
    path = _toolkit.library()
    if path is None:
        raise SelectError("softcuda: its libcuda.so.1 is not installed; pip install --force-reinstall softcuda")
    try:
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise SelectError(f"softcuda: cannot load its library: {error}") from None
    first = ctypes.cast(ctypes.CDLL(None).cuInit, ctypes.c_void_p).value
    if first != ctypes.cast(library.cuInit, ctypes.c_void_p).value:
        raise SelectError("softcuda: another libcuda.so.1 is already loaded globally; import pycuda.driver first")
    # Whoever looks for nvJitLink finds what is loaded under its name: cuda.core and numba-cuda have it turn PTX into
    # what they hand to the driver, and the stand-in leaves it PTX.
    linker = path.with_name("libnvJitLink.so.13")
    if linker.is_file():
        with contextlib.suppress(OSError):
            ctypes.CDLL(str(linker))
    return library


def check_settings() -> None:
    """SelectError if softcuda would refuse a setting once the program calls it."""
    if mistake := _settings.mistake():
        raise SelectError(f"softcuda: {mistake}")
    path = _toolkit.library()
    if path is None or not path.is_file():
        return  # load_soft says so
    with contextlib.suppress(AttributeError, OSError):  # another build of it
        mistake = ctypes.CDLL(str(path)).softcuda_mistake_in_settings
        mistake.restype = ctypes.c_char_p
        if text := mistake().decode(errors="replace"):
            raise SelectError(f"softcuda: {text}")


def end_launches_with_the_program(library: ctypes.CDLL) -> None:
    """When Ctrl-C ends a program that has launched a kernel and not waited for it, nobody waits for it at the end."""
    if not hasattr(library, "softcuda_interrupt"):
        return
    before = sys.excepthook

    def excepthook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            library.softcuda_interrupt()
        before(kind, value, trace)

    sys.excepthook = excepthook


def reason(choice: Choice) -> str:
    """What the line on stderr begins with."""
    if command := os.environ.get("SOFTCUDA_INSPECT", "").partition(":")[0]:
        return f"softcuda {command}: always on the CPU, as"
    why = "as asked" if choice.reason.startswith("SOFTCUDA=") else "no CUDA device"
    return f"softcuda: {why} ({choice.reason}): running on the CPU as"


def device_name() -> str:
    """What cuDeviceGetName will answer for the first device."""
    name, wanted = "SOFTCUDA_DEVICE", os.environ.get("SOFTCUDA_DEVICE") or "h200"
    devices = os.environ.get("SOFTCUDA_DEVICES", "")
    if devices and not devices.isdecimal():  # a list of profiles
        name, wanted = "SOFTCUDA_DEVICES", devices.split(",")[0]
    profiles = _toolkit.profiles()
    if wanted not in profiles:
        raise SelectError(f"softcuda: {name}={wanted} is not one of {', '.join(sorted(profiles))}")
    return profiles[wanted]["name"]


def say_device(choice: Choice, name: str) -> None:
    if os.environ.get("SOFTCUDA_QUIET", "") in ("", "0") and not in_worker():
        sys.stderr.write(f'{reason(choice)} "{name} (softcuda)"\n')
        sys.stderr.flush()


def activate(choice: Choice) -> None:
    """Make `choice` hold in this process; SelectError if it cannot."""
    if choice.soft:
        name = device_name()
        end_launches_with_the_program(load_soft())
        set_path(soft=True)
        say_device(choice, name)
    else:
        set_path(soft=False)
        # A PyCUDA that was linked with --as-needed does not name libcuda.so.1 itself.
        with contextlib.suppress(OSError):
            ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)


_active: Choice | None = None


def chosen() -> Choice | None:
    """What holds in this process; None: nothing has been chosen yet."""
    return _active


def activate_once(choice: Choice | None = None) -> Choice:
    """Choose and activate; once a process has done so, nothing more happens.  SelectError as in `activate`."""
    global _active
    if _active is None:
        choice = choice or choose()
        activate(choice)
        _active = choice
    return _active
