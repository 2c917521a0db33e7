"""softcuda install-pycuda, in environments outside of the repository, with a few lines in place of the real PyCUDA.

`make setup` builds the real one with the same command, and the tests of whole programs run on it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import native
import pytest

from softcuda import _pycuda

ROOT = Path(__file__).parents[2]

# Packages that a wheel of softcuda brings, or that are nobody's business here.
LENT = ("softcuda", "softcuda-*.dist-info", "nvidia", "numpy", "numpy-*.dist-info", "numpy.libs")

PYCUDA = {
    "pycuda/__init__.py": f'VERSION_TEXT = "{_pycuda.VERSION}"\n',
    "pycuda/autoinit.py": "class device:\n    name = staticmethod(lambda: 'a test')\n",
    "pycuda/driver.py": "In = Out = lambda array: array\n",
    "pycuda/compiler.py": """
class SourceModule:
    def __init__(self, source, cache_dir):
        pass
    def get_function(self, name):
        return lambda x, y, **_: y.__setitem__(slice(None), 2 * x)
""",
}

# The build backend of that PyCUDA.  It reads its configuration where PyCUDA's does, and waits while `hold` is there.
BACKEND = """
import pathlib, sys, time, zipfile

SHELF = pathlib.Path({shelf!r})

def build_wheel(folder, config_settings=None, metadata_directory=None):
    options = {{}}
    exec(pathlib.Path("~/.aksetup-defaults.py").expanduser().read_text(), options)
    [library] = options["CUDADRV_LIB_DIR"]
    assert (pathlib.Path(library) / "libcuda.so").is_file()
    with (SHELF / "built").open("a") as log:
        log.write(sys.executable + "\\n")
    while (SHELF / "hold").exists():
        time.sleep(0.01)
    if (SHELF / "broken").exists():
        sys.exit("wrap.cpp:7: error: no such thing")
    files = {files!r}
    info = "pycuda-{version}.dist-info"
    files[info + "/METADATA"] = "Metadata-Version: 2.1\\nName: pycuda\\nVersion: {version}\\nRequires-Dist: needed\\n"
    files[info + "/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n"
    files[info + "/RECORD"] = "".join(name + ",,\\n" for name in [*files, info + "/RECORD"])
    name = "pycuda-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name
"""
PROJECT = """
[project]
name = "pycuda"
version = "{version}"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""

# The command, which takes another PyCUDA for the right one.
COMMAND = """
import sys
from softcuda import _pycuda
_pycuda.SOURCE = {source!r}
sys.exit(_pycuda.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory) -> Path:
    """An index that holds that PyCUDA and what it needs."""
    shelf = tmp_path_factory.mktemp("shelf")
    source = shelf / f"pycuda-{_pycuda.VERSION}"
    source.mkdir()
    (source / "backend.py").write_text(BACKEND.format(shelf=str(shelf), files=PYCUDA, version=_pycuda.VERSION))
    (source / "pyproject.toml").write_text(PROJECT.format(version=_pycuda.VERSION))
    (source / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: pycuda\nVersion: {_pycuda.VERSION}\n")
    with tarfile.open(shelf / f"{source.name}.tar.gz", "w:gz") as archive:
        archive.add(source, source.name)
    shutil.rmtree(source)
    info = "needed-1.0.dist-info"
    with zipfile.ZipFile(shelf / "needed-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("needed.py", "")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: needed\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"needed.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return shelf


@pytest.fixture(scope="module")
def pattern(tmp_path_factory) -> Path:
    """An environment with softcuda and what its wheel asks for, lent from this one, and without PyCUDA."""
    folder = tmp_path_factory.mktemp("pattern") / "venv"
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python3*/site-packages")
    for pattern in LENT:
        for path in Path(sysconfig.get_path("platlib")).glob(pattern):
            (packages / path.name).symlink_to(path)
    pip = Path(importlib.util.find_spec("pip").origin).parent
    (packages / "pip").symlink_to(pip)
    return folder


class Elsewhere:
    """An environment, and the command in it."""

    def __init__(self, folder: Path, shelf: Path) -> None:
        self.folder, self.shelf = folder, shelf
        [self.packages] = folder.glob("lib/python3*/site-packages")
        [sdist] = shelf.glob("pycuda-*.tar.gz")
        self.source = f"pycuda=={_pycuda.VERSION} --hash=sha256:{hashlib.sha256(sdist.read_bytes()).hexdigest()}\n"
        self.cache = folder.parent / "cache" / "softcuda"
        clean = {name: value for name, value in native.clean_environment().items() if name[:4] not in ("PIP_", "PYTH")}
        self.environment = clean | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf), "PIP_CONFIG_FILE": os.devnull,
                                    "HOME": str(folder.parent), "XDG_CACHE_HOME": str(self.cache.parent)}  # fmt: skip

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        command = [self.folder / "bin" / "python", "-c", COMMAND.format(source=self.source), *arguments]
        return subprocess.Popen(command, cwd=self.folder.parent, env=self.environment | environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def install(self, *arguments: str, status: int = 0, **environment: str) -> str:
        process = self.start(*arguments, **environment)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == status, said
        return said

    def built(self) -> int:
        log = self.shelf / "built"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def installed(self) -> list[str]:
        return sorted(path.name for path in self.packages.iterdir() if path.name.startswith(("pycuda", "needed")))


@pytest.fixture
def elsewhere(pattern: Path, shelf: Path, tmp_path: Path) -> Iterator[Elsewhere]:
    for name in ("built", "hold", "broken"):
        (shelf / name).unlink(missing_ok=True)
    yield Elsewhere(Path(shutil.copytree(pattern, tmp_path / "venv", symlinks=True)), shelf)
    (shelf / "hold").unlink(missing_ok=True)


RUNS = f"PyCUDA {_pycuda.VERSION} runs on a test: a kernel computed 1024 values, all right"
WHOLE = ["needed-1.0.dist-info", "needed.py", "pycuda", f"pycuda-{_pycuda.VERSION}.dist-info"]


def test_pycuda_is_built_installed_and_run(elsewhere: Elsewhere) -> None:
    first, last = elsewhere.install().splitlines()
    assert first == f"softcuda: builds PyCUDA {_pycuda.VERSION} from its sources, about a minute ..."
    assert re.fullmatch(re.escape(RUNS) + r" \(\d+ s\)", last)
    assert elsewhere.installed() == WHOLE


def test_a_pycuda_that_runs_is_left_alone(elsewhere: Elsewhere) -> None:
    elsewhere.install()
    before = (elsewhere.packages / "pycuda").stat().st_ino
    assert elsewhere.install().startswith(RUNS)
    assert (elsewhere.packages / "pycuda").stat().st_ino == before
    assert elsewhere.install("--reinstall").startswith(RUNS)
    assert elsewhere.built() == 1  # the wheel was kept


def test_another_environment_gets_what_was_built(elsewhere: Elsewhere, pattern: Path, tmp_path: Path) -> None:
    elsewhere.install()
    other = Elsewhere(Path(shutil.copytree(pattern, tmp_path / "other", symlinks=True)), elsewhere.shelf)
    assert other.install().startswith(RUNS)
    assert other.installed() == WHOLE and other.built() == 1


def lose_a_file(packages: Path) -> None:
    (packages / "pycuda" / "driver.py").unlink()


def lose_the_record(packages: Path) -> None:
    """As when pip is killed: it writes RECORD last."""
    (packages / f"pycuda-{_pycuda.VERSION}.dist-info" / "RECORD").unlink()


def lose_the_driver(packages: Path) -> None:
    (packages / "pycuda" / "driver.py").write_text('raise ImportError("libcuda.so.1 is gone")\n')


@pytest.mark.parametrize("damage", [lose_a_file, lose_the_record, lose_the_driver])
def test_a_pycuda_that_does_not_run_is_replaced(elsewhere: Elsewhere, damage: Callable[[Path], None]) -> None:
    elsewhere.install()
    damage(elsewhere.packages)
    assert elsewhere.install().startswith(RUNS)
    assert elsewhere.installed() == WHOLE


def hold(elsewhere: Elsewhere) -> subprocess.Popen[str]:
    """An installation in the middle of the build, which does not end until `hold` is gone."""
    (elsewhere.shelf / "hold").touch()
    process = elsewhere.start()
    while not elsewhere.built():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_build_leaves_nothing(elsewhere: Elsewhere, number: int, status: int) -> None:
    process = hold(elsewhere)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == status
    assert said.splitlines()[1:] == ["softcuda: stopped; the same command goes on where it was"]
    assert elsewhere.installed() == []
    assert sorted(path.name for path in elsewhere.cache.iterdir()) == ["install-pycuda.lock", "install-pycuda.log"]
    (elsewhere.shelf / "hold").unlink()
    assert RUNS in elsewhere.install()


def test_a_killed_build_is_done_again(elsewhere: Elsewhere) -> None:
    process = hold(elsewhere)
    process.kill()
    process.communicate()
    assert elsewhere.installed() == []
    again = elsewhere.start()
    assert again.stdout.readline() == "softcuda: waits for another install-pycuda to end\n"  # the build goes on alone
    (elsewhere.shelf / "hold").unlink()
    assert RUNS in again.communicate(timeout=60)[0]
    assert not list(elsewhere.cache.glob("building-*"))


def test_a_second_installation_waits_for_the_first(elsewhere: Elsewhere) -> None:
    first = hold(elsewhere)
    second = elsewhere.start()
    assert second.stdout.readline() == "softcuda: waits for another install-pycuda to end\n"
    (elsewhere.shelf / "hold").unlink()
    assert RUNS in first.communicate(timeout=60)[0]
    assert second.communicate(timeout=60)[0].startswith(RUNS)
    assert elsewhere.built() == 1


# -- what stops it -----------------------------------------------------------------------------------------------------


def the_line(said: str) -> str:
    """The last one, which says what is wrong."""
    *progress, line = said.splitlines()
    assert len(progress) <= 1 and "Traceback" not in said, said
    return line


def test_without_a_network(elsewhere: Elsewhere, tmp_path: Path) -> None:
    said = the_line(elsewhere.install(status=1, PIP_FIND_LINKS=str(tmp_path)))
    assert said.startswith(f"softcuda: PyCUDA {_pycuda.VERSION} could not be built: a package cannot be downloaded, ")
    assert said.endswith(f"; the whole log is {elsewhere.cache / 'install-pycuda.log'}")


def test_another_pycuda_than_the_known_one_is_refused(elsewhere: Elsewhere) -> None:
    elsewhere.source = f"pycuda=={_pycuda.VERSION} --hash=sha256:{'0' * 64}\n"
    assert "is not the one that softcuda knows" in the_line(elsewhere.install(status=1))
    assert elsewhere.installed() == []


def test_a_build_that_fails_says_why(elsewhere: Elsewhere) -> None:
    (elsewhere.shelf / "broken").touch()
    assert "could not be built: no such thing" in the_line(elsewhere.install(status=1))
    assert elsewhere.installed() == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nvcc failed\n[stderr:\nmath.h(2): error: no rsqrt\n2 errors\n]", "math.h(2): error: no rsqrt"),
        ("wrong values", "ValueError: wrong values"),
    ],
)
def test_a_kernel_that_fails_says_why(monkeypatch, tmp_path: Path, text: str, why: str) -> None:
    """What nvcc said stands in the middle of PyCUDA's message."""
    monkeypatch.setattr(_pycuda, "CHECK", f"raise ValueError({text!r})")
    log = tmp_path / "log"
    with pytest.raises(_pycuda.InstallError) as raised:
        _pycuda.run_kernel(log)
    assert str(raised.value) == f"PyCUDA is installed, and a kernel fails: {why}; the whole log is {log}"


def test_without_a_compiler(elsewhere: Elsewhere) -> None:
    said = the_line(elsewhere.install(status=1, PATH=str(elsewhere.folder / "bin")))
    assert said.startswith("softcuda: to build PyCUDA this machine lacks g++: ") and "apt-get install g++" in said


def test_an_option_that_it_does_not_have(elsewhere: Elsewhere) -> None:
    assert the_line(elsewhere.install("--force", status=1)).startswith("softcuda: install-pycuda takes no --force; ")


def test_without_pythons_headers(monkeypatch) -> None:
    monkeypatch.setattr(_pycuda.sysconfig, "get_path", lambda _: "/nowhere")
    with pytest.raises(_pycuda.InstallError, match=r"lacks /nowhere/Python.h: .*apt-get install python3\.\d+-dev"):
        _pycuda.check_compiler()


def test_the_systems_python_is_left_alone(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(_pycuda.sysconfig, "get_path", lambda _: str(tmp_path))
    _pycuda.check_environment()  # in a container, the only Python there is
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    with pytest.raises(_pycuda.InstallError, match=r"belongs to the system.*python3 -m venv"):
        _pycuda.check_environment()


def test_an_environment_of_somebody_else(monkeypatch) -> None:
    monkeypatch.setattr(_pycuda.os, "access", lambda *_: False)
    with pytest.raises(_pycuda.InstallError, match=r"cannot be written.*python3 -m venv"):
        _pycuda.check_environment()


def test_a_python_without_its_lock(monkeypatch) -> None:
    monkeypatch.setattr(_pycuda.sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    with pytest.raises(_pycuda.InstallError, match="is free-threaded: use another Python"):
        _pycuda.check_python()


def test_without_nvidias_packages(monkeypatch) -> None:
    monkeypatch.setattr(_pycuda._toolkit, "nvidia", lambda: None)
    with pytest.raises(_pycuda.InstallError, match="pip install nvidia-cuda-nvcc=="):
        _pycuda.cuda_headers()


# -- pins and headers --------------------------------------------------------------------------------------------------


def test_the_pins_are_the_locks() -> None:
    lock = (ROOT / "requirements.lock").read_text().replace(" \\\n   ", "")
    assert _pycuda.SOURCE in lock
    assert f"\n{_pycuda.BUILD_TOOLS.splitlines()[0]} " in lock


ASK_CURAND = """
#include <cstdio>
#include <curand.h>

int main() {
    int version = 0;
    unsigned int* constants = nullptr;
    std::printf("%d ", int(curandGetVersion(&version)));
    std::printf("%d ", version);
    std::printf("%d\\n", int(curandGetScrambleConstants32(&constants)));
}
"""


def test_curand_is_used_where_it_is_installed(tmp_path: Path) -> None:
    """And without it PyCUDA takes version 0 for a cuRAND without generators."""
    (tmp_path / "ask.cpp").write_text(ASK_CURAND)
    headers = Path(_pycuda.__file__).parent / "pycuda_headers"
    subprocess.run(["g++", f"-I{headers}", "ask.cpp", "-o", "ask", "-ldl", "-Wl,-rpath,$ORIGIN/lib"],
                   cwd=tmp_path, check=True)  # fmt: skip

    def ask() -> str:
        return subprocess.run([tmp_path / "ask"], capture_output=True, text=True, check=True).stdout

    assert ask() == "101 0 101\n"
    (tmp_path / "curand.cpp").write_text('extern "C" int curandGetVersion(int* to) { *to = 10400; return 0; }')
    (tmp_path / "lib").mkdir()
    subprocess.run(["g++", "-shared", "-fPIC", "curand.cpp", "-o", "lib/libcurand.so.10"], cwd=tmp_path, check=True)
    assert ask() == "0 10400 101\n"
