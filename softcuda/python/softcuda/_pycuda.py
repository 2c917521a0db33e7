"""`softcuda install-pycuda`: build PyCUDA from its sources for this environment, install it and run a kernel with it.

PyCUDA is on PyPI as sources only.  They are built here against the CUDA headers of NVIDIA's Python packages and
softcuda's libcuda.so.1; no path of either is kept in what is built, so that a real driver is used where there is one.
The wheel is kept in the user's cache, and a second environment with the same Python gets it from there.

What is built is complete before anything is installed; PyCUDA's own files come last, in one step that signals do not
interrupt.  What a power cut leaves of that step is noticed, and installed anew, by the next call.
"""

from __future__ import annotations

import contextlib
import email
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from softcuda import _toolkit

VERSION = "2026.1"
SOURCE = f"pycuda=={VERSION} --hash=sha256:759516160628ba06f32ce7e563e3f5b9214691dc9528a03ea99ea1073f4e14ba\n"
# Of the environment that pip makes for the build, if it makes one.  Built against NumPy 2, PyCUDA runs on NumPy 1, too.
BUILD_TOOLS = "setuptools==84.2.1\nnumpy>=2\n"

# PyCUDA's build is configured by a Python file in the home folder.  Optimisation costs compile time and gains nothing:
# PyCUDA is a thin layer over the driver.  The rpath is for cuRAND only, which pycuda_headers/curand.h opens.
CONFIGURATION = """
CXXFLAGS = ["-O1", "-g0"]
LDFLAGS = ["-Wl,-rpath,$ORIGIN/../nvidia/cu13/lib"]
CURAND_LIBNAME = []
"""

CHECK = """
import numpy as np
import pycuda, pycuda.autoinit, pycuda.driver as cuda
from pycuda.compiler import SourceModule

source = "__global__ void twice(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = 2 * x[i]; }"
x = np.random.default_rng().random(1024, np.float32)
y = np.zeros_like(x)
twice = SourceModule(source, cache_dir=False).get_function("twice")
twice(cuda.In(x), cuda.Out(y), block=(128, 1, 1), grid=(8, 1))
assert (y == 2 * x).all(), "a kernel computed wrong values"
print("PyCUDA", pycuda.VERSION_TEXT, "runs on", pycuda.autoinit.device.name() + ": a kernel computed", len(y), "values, all right")
"""  # noqa: E501

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InstallError(Exception):
    """What is wrong, where, and what to do, in one line."""


class Stopped(BaseException):
    """By a signal, whose number it holds."""

    def __init__(self, number: int) -> None:
        self.number = number


# --- before anything is downloaded ------------------------------------------------------------------------------------


def check_python() -> None:
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded" if sys.implementation.name == "cpython" else platform.python_implementation()
        raise InstallError(f"PyCUDA needs CPython with its lock, and {sys.executable} is {kind}: use another Python")
    if sys.version_info < (3, 11):  # noqa: UP036  (python -m softcuda, from a folder on PYTHONPATH)
        raise InstallError(f"softcuda needs Python 3.11 or newer, and {sys.executable} is {platform.python_version()}")


def check_environment() -> None:
    """Packages are installed into an environment of the user's own, never into the system's Python."""
    advice = "make an environment (python3 -m venv .venv), install softcuda there and run this command in it"
    if sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists():
        raise InstallError(f"{sys.executable} belongs to the system, whose packages are not touched: {advice}")
    packages = sysconfig.get_path("platlib")
    if not os.access(packages, os.W_OK):
        raise InstallError(f"{packages} cannot be written: {advice}")


def check_compiler() -> None:
    """A host compiler, which nvcc calls, too, and Python's headers."""
    missing = []
    if not _toolkit.which("g++"):
        missing.append(("g++", "g++"))
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        missing.append((str(header), f"python{sys.version_info[0]}.{sys.version_info[1]}-dev"))
    if missing:
        root = "" if os.geteuid() == 0 else "sudo "
        packages = " ".join(package for _, package in missing)
        raise InstallError(
            f"to build PyCUDA this machine lacks {' and '.join(what for what, _ in missing)}: "
            f"{root}apt-get install {packages} (Debian, Ubuntu)"
        )


def cuda_headers() -> Path:
    toolkit = _toolkit.nvidia()
    if not toolkit or not (toolkit / "include" / "cuda.h").is_file():
        raise InstallError(f"NVIDIA's compiler packages are not here: {_toolkit.INSTALL}")
    return toolkit / "include"


def driver_library() -> Path:
    library = _toolkit.library()
    if not library or not library.is_file():
        raise InstallError("softcuda's libcuda.so.1 is not here: pip install --force-reinstall softcuda")
    return library.resolve()


# --- child processes --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Signals raise Stopped, except those that are ignored already."""

    def stop(number: int, _: object) -> None:
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """What is begun here is ended: signals come afterwards, here and in the processes that are started here."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run(log: Path, command: list[object], environment: dict[str, str]) -> int:
    """Exit status of a command, whose output is appended to the log.

    The command ends with this process.  Where this process is killed, the command goes on, and holds `only_one`'s lock
    until it ends: nobody clears away what it still writes.
    """
    with log.open("a") as out:
        out.write(f"\n$ {' '.join(map(str, command))}\n")
        out.flush()
        child = subprocess.Popen(
            [str(word) for word in command],
            cwd=log.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            process_group=0,
            close_fds=False,  # Python's files are not inherited, but for the lock
        )
        try:
            return child.wait()
        except BaseException:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=3)
            raise


def own_environment(**more: str) -> dict[str, str]:
    """The caller's, without what would make pip install elsewhere."""
    diverted = ("PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_HASHES")
    kept = {name: value for name, value in os.environ.items() if name not in diverted}
    return kept | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"} | more


def pip() -> tuple[list[object], dict[str, str]]:
    """The words of pip's command and an environment for it; where pip is not installed, the one of ensurepip."""
    words, environment = [sys.executable, "-m", "pip"], own_environment()
    if subprocess.run([*words, "--version"], env=environment, capture_output=True).returncode == 0:
        return words, environment
    with contextlib.suppress(ImportError):
        import ensurepip

        folders = [Path(ensurepip.__file__).with_name("_bundled"), Path("/usr/share/python-wheels")]
        for wheel in (found for folder in folders for found in folder.glob("pip-*.whl")):
            return words, environment | {"PYTHONPATH": str(wheel)}
    raise InstallError(f"there is no pip for {sys.executable}: apt-get install python3-venv, or uv pip install pip")


NO_NETWORK = (
    r"NewConnectionError|ConnectTimeout|Max retries exceeded|Temporary failure in name resolution|ProxyError"
    r"|SSLError|Network is unreachable|ReadTimeout|Could not find a version|No matching distribution"
)


def why(log: Path, what: str) -> InstallError:
    """Of a failed command, from what it said."""
    text = log.read_text(errors="replace").rpartition("\n$ ")[2]
    errors = re.findall(r"(?mi)^.*\berror: *(?!subprocess-exited)(\S.*)$", text)
    if re.search(NO_NETWORK, text):
        reason = "a package cannot be downloaded, so see whether this machine reaches a package index"
    elif "DO NOT MATCH THE HASHES" in text:
        reason = f"the package index's PyCUDA {VERSION} is not the one that softcuda knows"
    else:
        reason = errors[0] if errors else "pip failed"
    return InstallError(f"{what}: {reason}; the whole log is {log}")


# --- what is built and kept -------------------------------------------------------------------------------------------


def cache() -> Path:
    """softcuda's folder in the user's cache."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softcuda"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key_of_build(headers: Path) -> str:
    """Changes with all that may make another PyCUDA of the sources: for a home folder that machines share, too."""
    own = sorted((Path(__file__).parent / "pycuda_headers").glob("*.h"))
    compiler = subprocess.run(["g++", "--version"], capture_output=True, env=os.environ | {"LC_ALL": "C"}).stdout
    platforms = (sysconfig.get_config_var("SOABI"), platform.libc_ver())
    flags = [os.environ.get(name) for name in ("CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "LDSHARED")]
    total = hashlib.sha256(repr((SOURCE, CONFIGURATION, platforms, flags, compiler)).encode())
    for file in (*own, headers / "cuda.h"):
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def build_wheel(folder: Path, headers: Path, *, isolated: bool, log: Path) -> Path:
    """PyCUDA's wheel, in `folder` as soon as it is whole; InstallError if it cannot be built."""
    if found := sorted(folder.glob("pycuda-*.whl")):
        return found[0]
    words, environment = pip()
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache()) as name:
        work = Path(name)
        (work / "libcuda.so").symlink_to(driver_library())  # -lcuda
        paths = {
            "CUDA_ROOT": str(headers.parent),
            "CUDA_INC_DIR": [str(Path(__file__).parent / "pycuda_headers"), str(headers)],
            "CUDADRV_LIB_DIR": [name],
        }
        lines = (f"{option} = {value!r}\n" for option, value in paths.items())
        (work / ".aksetup-defaults.py").write_text(CONFIGURATION + "".join(lines))
        (work / "source.txt").write_text(SOURCE)
        (work / "build-tools.txt").write_text(BUILD_TOOLS)
        # pip's configuration and certificates stay those of the user; its cache may hold a PyCUDA that was built
        # against something else.
        home = {"HOME": name, "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")}
        tools = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), str(work / "build-tools.txt"))
        compiler = {"CC": "g++", "CXX": "g++", "LDSHARED": "g++ -shared", "LDCXXSHARED": "g++ -shared"}
        options = ["--no-deps", "--no-cache-dir", "--require-hashes", "--no-binary=pycuda"]
        if not isolated:
            options.append("--no-build-isolation")
        command = [*words, "wheel", *options, "--wheel-dir", work / "made", "--requirement", work / "source.txt"]
        if run(log, command, compiler | environment | home | tools):
            raise why(log, f"PyCUDA {VERSION} could not be built")
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
        os.replace(work / "made", folder)
    return next(folder.glob("pycuda-*.whl"))


# --- what is installed ------------------------------------------------------------------------------------------------


def installed_whole() -> bool:
    """Every file that PyCUDA's package lists is there."""
    try:
        files = metadata.distribution("pycuda").files
    except metadata.PackageNotFoundError:
        return False
    return bool(files) and all(Path(str(file.locate())).is_file() for file in files if file.suffix != ".pyc")


def run_kernel(log: Path) -> str:
    """A line that says what a kernel computed with the installed PyCUDA, or InstallError."""
    environment = own_environment(SOFTCUDA="force", SOFTCUDA_QUIET="1")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", CHECK], cwd=folder, env=environment, capture_output=True, text=True
        )
    with log.open("a") as out:
        out.write(f"\n$ a kernel\n{done.stdout}{done.stderr}")
    if done.returncode:
        lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        errors = [line.strip() for line in lines if re.search(r"\berror: ", line)]  # the compiler's, if it has any
        reason = errors[0] if errors else lines[-1]
        raise InstallError(f"PyCUDA is installed, and a kernel fails: {reason}; the whole log is {log}")
    return done.stdout.strip()


def install(wheel: Path, log: Path) -> None:
    """First what PyCUDA needs, then PyCUDA: a name that Python can import is whole."""
    words, environment = pip()
    with zipfile.ZipFile(wheel) as archive:
        [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        needed = email.message_from_string(archive.read(name).decode()).get_all("Requires-Dist") or []
    if run(log, [*words, "install", "--prefer-binary", "numpy", *needed], environment):
        raise why(log, "what PyCUDA needs could not be installed")
    with signals_wait():
        for remains in Path(sysconfig.get_path("platlib")).glob("pycuda-*.dist-info"):
            if not (remains / "RECORD").is_file():  # pip writes it last, and removes no package without it
                shutil.rmtree(remains)
        if run(log, [*words, "install", "--no-deps", "--force-reinstall", "--no-index", wheel], environment):
            raise why(log, "PyCUDA could not be installed")


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """One build at a time, in all environments of the user."""
    with (cache() / "install-pycuda.lock").open("a+") as lock:
        os.set_inheritable(lock.fileno(), True)  # see run
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("softcuda: waits for another install-pycuda to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for remains in cache().glob("building-*"):  # of a build that was killed
            shutil.rmtree(remains, ignore_errors=True)
        yield


def install_pycuda(*, reinstall: bool, isolated: bool) -> str:
    """Bring PyCUDA into this environment; the line that a kernel printed.  InstallError, OSError."""
    check_python()
    check_environment()
    check_compiler()
    headers = cuda_headers()
    driver_library()
    with only_one():
        log = cache() / "install-pycuda.log"
        log.write_text(f"{sys.executable}\n")
        if not reinstall and installed_whole():
            with contextlib.suppress(InstallError):
                return run_kernel(log)
        folder = cache() / f"pycuda-{key_of_build(headers)}"
        if not folder.exists():
            print(f"softcuda: builds PyCUDA {VERSION} from its sources, about a minute ...", flush=True)
        install(build_wheel(folder, headers, isolated=isolated, log=log), log)
        return run_kernel(log)


def main(arguments: list[str]) -> int:
    options = {"--reinstall", "--no-build-isolation"}
    if strange := [word for word in arguments if word not in options]:
        sys.exit(f"softcuda: install-pycuda takes no {strange[0]}; softcuda install-pycuda --help shows what it takes")
    began = time.monotonic()
    try:
        with stoppable():
            line = install_pycuda(
                reinstall="--reinstall" in arguments, isolated="--no-build-isolation" not in arguments
            )
    except InstallError as error:
        sys.exit(f"softcuda: {error}")
    except OSError as error:
        sys.exit(f"softcuda: {error.filename}: {error.strerror}")
    except Stopped as stopped:
        print("softcuda: stopped; the same command goes on where it was", file=sys.stderr)
        return 128 + stopped.number
    print(f"{line} ({time.monotonic() - began:.0f} s)")
    return 0
