"""PyTorch and Triton, for the programs that ask for them: into .cache/torch/packages.  `make setup-torch` calls it.

    setup_torch.py           PyTorch's build for the CPU, if pip finds one; else one line says what there is instead
    setup_torch.py cuda      PyPI's build for CUDA, with NVIDIA's libraries (several GB): for programs on a GPU
    setup_torch.py cpu       as without a word, also where there is a GPU
    setup_torch.py triton    Triton alone
    setup_torch.py newest    the newest versions that pip finds, whatever their build, without hashes: to try them
    setup_torch.py newest-triton   the newest Triton alone
    setup_torch.py find      installs nothing: exit status 0 if pip finds a build for the CPU
    setup_torch.py lock      puts the hashes of builds for the CPU into requirements-torch.lock (`make lock`)

They lie beside .venv, not in it: they are larger than all else together, and `make setup` would take them out again.
pip installs them, not uv, since pip's own settings say where a machine keeps a build for the CPU (find-links, an
index).  They are installed into a folder of another name, which gets its own when all is there.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from setup_env import CACHE, LOG, PYTHON, ROOT, SetupError, Stopped, only_one, part_of, run, stanzas, stoppable

FOLDER = CACHE / "torch" / "packages"
SOURCE, LOCK = ROOT / "requirements-torch.in", ROOT / "requirements-torch.lock"
CUDA_ONLY = ("nvidia-", "cuda-")  # packages that only PyTorch's build for CUDA loads
GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
WORDS = ("", "cuda", "cpu", "triton", "newest", "newest-triton", "find", "lock")
NONE_FOUND = 3  # exit status


class NoneFoundError(SetupError):
    """pip finds no build for the CPU."""


def versions() -> dict[str, str]:
    """The tried versions of PyTorch and Triton."""
    return dict(re.findall(r"(?m)^(torch|triton)==(\S+)", LOCK.read_text()))


def installed() -> dict[str, str]:
    """What the folder holds for this Python: the versions of PyTorch and Triton."""
    found = {}
    for name in ("torch", "triton"):
        for path in FOLDER.glob(f"{name}-*.dist-info"):
            tags = re.findall(r"(?m)^Tag: (\S+?)-", (path / "WHEEL").read_text()) if (path / "WHEEL").exists() else []
            if f"cp{sys.version_info.major}{sys.version_info.minor}" in tags:
                found[name] = path.name.removesuffix(".dist-info").partition("-")[2]
    return found


def is_done(word: str) -> bool:
    if word.startswith("newest"):
        return False
    found, tried = installed(), versions()
    same = {name for name, version in found.items() if version.partition("+")[0] == tried[name]}
    if word == "triton":
        return "triton" in same
    return same == tried.keys() and not (word == "cuda" and found["torch"].endswith("+cpu"))


def requirements(word: str) -> Path:
    """The lock's packages of the build wanted. It is named: with a choice pip takes PyPI's, whose hashes it knows."""

    def wanted(package: str) -> bool:
        return package == "triton" if word == "triton" else word == "cuda" or not package.startswith(CUDA_ONLY)

    path = part_of(LOCK, "torch", wanted)
    if word != "cuda":
        path.write_text(re.sub(r"(?m)^(torch==[^\s+]+)", r"\1+cpu", path.read_text()))
    return path


def finds_cpu_build() -> bool:
    """Whether pip, as it is set up on this machine, finds PyTorch's build for the CPU in the tried version."""
    wanted = f"torch=={versions()['torch']}+cpu"
    command = [str(PYTHON), "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", wanted]
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run(command, env=kept, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def no_cpu_build() -> str:
    return (
        f"pip finds no build of PyTorch {versions()['torch']} for the CPU, and PyPI's needs a GPU and several GB.  "
        "Where a build for the CPU is at hand, `PIP_FIND_LINKS=ITS_FOLDER make setup-torch` takes it; `make "
        "setup-torch ONLY=triton` installs Triton alone; with a GPU, `make setup-torch CUDA=1` installs PyPI's PyTorch"
    )


def check_choice(word: str) -> None:
    """Only somebody who says so downloads several GB."""
    if word == "" and any(Path(device).exists() for device in GPUS):
        raise SetupError(
            "this machine has a GPU: `make setup-torch CUDA=1` installs PyPI's PyTorch for it, several GB with "
            "NVIDIA's libraries; `make setup-torch CUDA=0` installs the build for the CPU, for softcuda"
        )
    if word in ("", "cpu") and not finds_cpu_build():
        raise NoneFoundError(no_cpu_build())


def pip_install(folder: Path, *arguments: object) -> None:
    run(PYTHON, "-m", "pip", "install", "--no-input", "--quiet", "--no-compile", "--target", folder, *arguments)


def install(word: str) -> None:
    if FOLDER.is_symlink():
        raise SetupError(
            f"{FOLDER} is a link to {FOLDER.resolve()}, which serves another folder and is left as it is: remove the "
            f"link (rm {FOLDER.relative_to(ROOT)}), then run the same command again"
        )
    new, old = (FOLDER.with_name(f"{FOLDER.name}.{state}") for state in ("new", "old"))
    check_choice(word)
    torch, triton = (f"{name} {versions()[package]}" for name, package in (("PyTorch", "torch"), ("Triton", "triton")))
    title = {
        "cuda": f"{torch} for CUDA and {triton}: downloads several GB",
        "triton": f"{triton}: downloads 0.3 GB, unpacked 1 GB",
        "newest": "the newest PyTorch and Triton: may download several GB",
        "newest-triton": "the newest Triton: downloads 0.3 GB, unpacked 1 GB",
    }.get(word, f"{torch} for the CPU and {triton}: downloads 0.5 GB, unpacked 2 GB")
    print(f"{title} ... ", end="", flush=True)
    start = time.monotonic()
    LOG.write_text("")
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        if word.startswith("newest"):
            if word == "newest":
                pip_install(new, "--only-binary", ":all:", "torch")
                for older in (new / "triton", *new.glob("triton-*.dist-info")):  # which PyTorch asks for
                    shutil.rmtree(older, ignore_errors=True)
            pip_install(new, "--only-binary", ":all:", "--upgrade", "--no-deps", "triton")
        else:
            pip_install(
                new, "--only-binary", ":all:", "--no-deps", "--require-hashes", "--requirement", requirements(word)
            )
    except BaseException:  # a signal, too: gigabytes that serve nobody
        shutil.rmtree(new, ignore_errors=True)
        raise
    if FOLDER.exists():
        FOLDER.rename(old)
    new.rename(FOLDER)
    shutil.rmtree(old, ignore_errors=True)
    print(f"{time.monotonic() - start:.1f} s", flush=True)
    if word.startswith("newest"):
        print(", ".join(f"{name} {version}" for name, version in installed().items()))


def lock_cpu_builds() -> None:
    """Into the lock, the hashes of builds for the CPU that requirements-torch.in lists, if they are of its version."""
    version = versions()["torch"]
    listed = re.findall(rf"(?m)^# sha256:([0-9a-f]{{64}}) torch-{re.escape(version)}\+cpu-", SOURCE.read_text())
    if not listed:
        raise SetupError(f"{SOURCE.name} lists no build of PyTorch {version} for the CPU, with its hash")
    out = []
    for name, stanza in stanzas(LOCK):
        head, *hashes = stanza.rstrip("\n").split(" \\\n")
        ours = [f"    --hash=sha256:{one}" for one in listed] if name == "torch" else []
        out.append(" \\\n".join([head, *sorted({*hashes, *ours})]) + "\n")
    comment = re.match(r"(?:#.*\n)*", LOCK.read_text())
    LOCK.write_text((comment[0] if comment else "") + "".join(out))


def main() -> int:
    word = "".join(sys.argv[1:2])
    if word not in WORDS or len(sys.argv) > 2:
        print(__doc__)
        return 2
    try:
        if word == "lock":
            lock_cpu_builds()
        elif word == "find":
            if not finds_cpu_build():
                raise NoneFoundError(no_cpu_build())
        elif not is_done(word):
            with stoppable(), only_one():
                if not is_done(word):
                    install(word)
    except SetupError as error:
        print(f"setup-torch: {error}", file=sys.stderr)
        return NONE_FOUND if isinstance(error, NoneFoundError) else 1
    except OSError as error:
        print(f"setup-torch: {error.filename or FOLDER}: {error.strerror}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print("\nsetup-torch: stopped; nothing was installed", file=sys.stderr)
        return 128 + stopped.number
    return 0


if __name__ == "__main__":
    sys.exit(main())
