"""`make setup-torch`: what it installs, when it does nothing, and what an installation that was cut short leaves.

Each test loads a copy of the tools in a small repository; pip is replaced, and nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpbook.book import here

ROOT = here().root
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
LOCK = """# made by a test
nvidia-cublas==13.0 ; sys_platform == 'linux' \\
    --hash=sha256:aa
sympy==1.14.0 \\
    --hash=sha256:bb
torch==2.13.0 \\
    --hash=sha256:cc
triton==3.9.0 \\
    --hash=sha256:dd
"""

pytestmark = pytest.mark.inputs(
    "tools/setup_torch.py",
    "tools/setup_env.py",
    "tools/lock.sh",
    "requirements-torch.in",
    "requirements-torch.lock",
    "Makefile",
)


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """tools/setup_torch.py in a small repository, on a machine without a GPU where pip finds a build for the CPU."""
    (tmp_path / "requirements-torch.lock").write_text(LOCK)
    cpu = f"# sha256:{'e' * 64} torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl\n"
    (tmp_path / "requirements-torch.in").write_text("torch==2.13.0\ntriton==3.9.0\n" + cpu)
    (tmp_path / "tools").mkdir()
    for name in ("setup_env", "setup_torch"):
        path = tmp_path / "tools" / f"{name}.py"
        path.write_text((ROOT / "tools" / f"{name}.py").read_text("utf-8"))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    monkeypatch.setattr(module, "GPUS", ())
    monkeypatch.setattr(module, "finds_cpu_build", lambda: True)
    return module


@pytest.fixture
def pip(tool, monkeypatch):
    """Stands in for pip: makes the packages that it is asked for; returns the calls."""
    calls = []

    def install(folder, *arguments):
        calls.append([str(one) for one in arguments])
        newest = {"torch": "torch==9.9\ntriton==3.7", "triton": "triton==9.9"}  # PyTorch asks for an older one
        asked = arguments[-1].read_text() if isinstance(arguments[-1], Path) else newest[arguments[-1]]
        for name, version in re.findall(r"(?m)^(torch|triton)==(\S+)", asked):
            (folder / name).mkdir()
            info = folder / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {TAG}-{TAG}-linux_x86_64\n")

    monkeypatch.setattr(tool, "pip_install", install)
    return calls


def call(tool, monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["setup_torch.py", *words])
    return tool.main()


@pytest.mark.parametrize(
    ("word", "torch", "said"),
    [
        ("", "2.13.0+cpu", "PyTorch 2.13.0 for the CPU and Triton 3.9.0: downloads 0.5 GB, unpacked 2 GB ... "),
        ("cuda", "2.13.0", "PyTorch 2.13.0 for CUDA and Triton 3.9.0: downloads several GB ... "),
        ("triton", None, "Triton 3.9.0: downloads 0.3 GB, unpacked 1 GB ... "),
    ],
)
def test_it_installs_and_then_has_nothing_to_do(tool, pip, monkeypatch, capsys, word, torch, said):
    assert call(tool, monkeypatch, word) == 0
    assert tool.installed() == {"triton": "3.9.0"} | ({"torch": torch} if torch else {})
    assert capsys.readouterr().out.startswith(said)
    [arguments] = pip
    assert {"--require-hashes", "--no-deps"} <= set(arguments)
    listed = Path(arguments[-1]).read_text()
    assert ("nvidia" in listed, "sympy" in listed) == (word == "cuda", word != "triton")
    assert call(tool, monkeypatch, word) == 0
    assert capsys.readouterr().out == "" and len(pip) == 1


def test_more_is_installed_where_more_is_asked_for(tool, pip, monkeypatch):
    for word, torch in (("triton", None), ("", "2.13.0+cpu"), ("cuda", "2.13.0"), ("", "2.13.0")):
        assert call(tool, monkeypatch, word) == 0
        assert tool.installed().get("torch") == torch
    assert len(pip) == 3, "what there is serves the last call"


def test_the_newest_versions_take_their_place_and_the_tried_ones_again(tool, pip, monkeypatch, capsys):
    assert call(tool, monkeypatch, "newest") == 0
    assert "torch 9.9, triton 9.9" in capsys.readouterr().out and len([*tool.FOLDER.glob("triton-*")]) == 1
    assert call(tool, monkeypatch, "newest-triton") == 0
    assert tool.installed() == {"triton": "9.9"}
    assert not any("--require-hashes" in arguments for arguments in pip)
    assert call(tool, monkeypatch) == 0
    assert tool.installed() == {"torch": "2.13.0+cpu", "triton": "3.9.0"}


def test_packages_of_another_python_are_none(tool, pip, monkeypatch):
    assert call(tool, monkeypatch) == 0
    for wheel in tool.FOLDER.glob("*.dist-info/WHEEL"):
        wheel.write_text("Tag: cp27-cp27mu-linux_x86_64\n")
    assert tool.installed() == {} and not tool.is_done("")


def test_an_installation_that_was_cut_short_counts_for_nothing(tool, pip, monkeypatch, capsys):
    install = tool.pip_install

    def stop(folder, *arguments):
        install(folder, *arguments)
        raise tool.Stopped(2)

    monkeypatch.setattr(tool, "pip_install", stop)
    assert call(tool, monkeypatch) == 130
    assert "setup-torch: stopped; nothing was installed" in capsys.readouterr().err
    assert list(tool.FOLDER.parent.iterdir()) == [] and tool.installed() == {}
    (tool.FOLDER.parent / "packages.new" / "torch").mkdir(parents=True)  # as after a power cut
    monkeypatch.setattr(tool, "pip_install", install)
    assert call(tool, monkeypatch) == 0
    assert [path.name for path in tool.FOLDER.parent.iterdir()] == ["packages"], "and what it left is gone"


def test_a_failed_installation_leaves_the_old_one(tool, pip, monkeypatch, capsys):
    assert call(tool, monkeypatch, "triton") == 0

    def fail(folder, *arguments):
        raise tool.SetupError("failed (exit status 1)")

    monkeypatch.setattr(tool, "pip_install", fail)
    assert call(tool, monkeypatch) == 1
    assert "setup-torch: failed (exit status 1)" in capsys.readouterr().err
    assert tool.installed() == {"triton": "3.9.0"}


def test_without_a_build_for_the_cpu_nothing_large_is_downloaded(tool, pip, monkeypatch, capsys):
    monkeypatch.setattr(tool, "finds_cpu_build", lambda: False)
    assert call(tool, monkeypatch) == call(tool, monkeypatch, "find") == tool.NONE_FOUND
    [line, same] = capsys.readouterr().err.splitlines()
    assert line == same and "ONLY=triton" in line and "CUDA=1" in line and "PIP_FIND_LINKS=ITS_FOLDER" in line
    assert pip == []
    assert call(tool, monkeypatch, "triton") == 0


def test_on_a_machine_with_a_gpu_somebody_says_which_build(tool, pip, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(tool, "GPUS", (str(tmp_path),))
    assert call(tool, monkeypatch) == 1
    said = capsys.readouterr().err
    assert "`make setup-torch CUDA=1`" in said and "`make setup-torch CUDA=0`" in said and pip == []
    assert call(tool, monkeypatch, "cpu") == 0


def test_a_link_to_another_folder_is_left_alone(tool, pip, monkeypatch, capsys, tmp_path):
    (tmp_path / "theirs").mkdir()
    tool.FOLDER.parent.mkdir(parents=True)
    tool.FOLDER.symlink_to(tmp_path / "theirs")
    assert call(tool, monkeypatch) == 1
    assert "is a link to" in capsys.readouterr().err and pip == []


def test_the_lock_gets_the_hashes_of_builds_for_the_cpu(tool, monkeypatch):
    for _ in range(2):
        assert call(tool, monkeypatch, "lock") == 0
    assert tool.LOCK.read_text() == LOCK.replace(":cc\n", f":cc \\\n    --hash=sha256:{'e' * 64}\n")


def test_a_build_of_another_version_is_not_taken_into_the_lock(tool, monkeypatch, capsys):
    tool.LOCK.write_text(LOCK.replace("2.13.0", "2.14.0"))
    assert call(tool, monkeypatch, "lock") == 1
    assert (
        "requirements-torch.in lists no build of PyTorch 2.14.0 for the CPU, with its hash" in capsys.readouterr().err
    )


def test_the_book_s_lock_is_whole():
    """With the tried versions, PyTorch's own build among the hashes, and no address."""
    source, lock = ((ROOT / f"requirements-torch.{end}").read_text() for end in ("in", "lock"))
    versions = [re.findall(r"(?m)^(torch|triton)==(\S+)", text) for text in (source, lock)]
    assert versions[0] == versions[1] != []
    [listed] = re.findall(r"(?m)^# sha256:([0-9a-f]{64}) torch-2\.13\.0\+cpu-", source)
    assert f"--hash=sha256:{listed}" in lock.partition("\ntorch==")[2].partition("\ntriton==")[0]
    assert "://" not in lock + source


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ([], ""), (["CUDA=1"], "cuda"), (["CUDA=0"], "cpu"), (["CUDA=/usr/local/cuda"], ""),
        (["ONLY=triton"], "triton"), (["NEWEST=1"], "newest"), (["NEWEST=1", "ONLY=triton"], "newest-triton"),
    ],
)  # fmt: skip
def test_what_make_calls(given, word):
    command = ["make", "-n", "--no-print-directory", "setup-torch", *given]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].rstrip() == f".venv/bin/python tools/setup_torch.py {word}".rstrip()
