"""NVIDIA's compilers side by side, each release from its Python packages; PTX is kept by what it was made of."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from softcuda import _toolkit

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("SWEEP_CACHE", HERE.parents[2] / ".cache" / "sweep"))
INSTALLED = "13.0"  # softcuda's own, beside the Python that runs this
RELEASES = ("12.9", INSTALLED, "13.1", "13.2", "13.3", "13.4", "13.5")

# What each knows is asked of it; this is what the sweep wants.
ARCHITECTURES = "75 80 86 87 88 89 90 90a 100 100a 100f 103 110 120 120a 121".split()  # noqa: SIM905
VARIANTS = {
    "": [],
    "G": ["-G"],
    "lineinfo": ["-lineinfo"],
    "fast": ["-use_fast_math", "-DFAST", "-DFLUSHES"],  # the files have no other way to know
    "ftz": ["-ftz=true", "-prec-div=false", "-prec-sqrt=false", "-fmad=false", "-DFLUSHES"],
    "O0": ["-Xcicc", "-O0"],
}


class CompileError(Exception):
    """The compiler's own words."""


class Compiler:
    """One release; ptx() compiles a file of this folder, unless that very text was compiled before."""

    def __init__(self, release: str) -> None:
        self.release = release
        self.folder = self._folder()
        self.include = self.folder / "include"
        self.version = self._version()

    def _folder(self) -> Path:
        if self.release == INSTALLED:
            folder = _toolkit.nvidia()
            if folder is None:
                raise FileNotFoundError(f"no NVIDIA compiler packages: {_toolkit.INSTALL}")
            return folder
        pins = HERE / "compilers" / f"{self.release}.txt"
        key = hashlib.sha256(pins.read_bytes()).hexdigest()[:8]
        target = CACHE / "compilers" / f"{self.release}-{key}"
        if not (target / "nvidia").is_dir():
            scratch = target.with_suffix(f".{os.getpid()}")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--no-deps", "--require-hashes"]
            subprocess.run([*command, "--target", scratch, "-r", pins], check=True)
            scratch.rename(target)
        if (target / "nvidia" / "cu13").is_dir():
            return target / "nvidia" / "cu13"
        return self._together(target)

    def _together(self, target: Path) -> Path:
        """12.x spreads its headers over the packages' folders: one folder of links, which may move with them."""
        whole = target / "whole"
        if not whole.is_dir():
            (whole / "include").mkdir(parents=True)
            for header in sorted(target.glob("nvidia/*/include/*")):
                if not (link := whole / "include" / header.name).exists() and header.name != "__init__.py":
                    link.symlink_to(os.path.relpath(header, link.parent))
            (whole / "lib").symlink_to(Path("..", "nvidia", "cuda_nvrtc", "lib"))
        return whole

    def _version(self) -> str:
        if self.release == INSTALLED:
            return f"nvcc {_toolkit.PACKAGES['nvidia-cuda-nvcc']}"
        pins = (HERE / "compilers" / f"{self.release}.txt").read_text()
        tool, version = re.search(r"nvidia-cuda-(nvcc|nvrtc)(?:-cu12)?==(\S+)", pins).groups()
        return f"{tool} {version}"

    @property
    def nvrtc(self) -> bool:
        return self.release.startswith("12")

    def architectures(self) -> list[str]:
        """Those of ARCHITECTURES that this compiler knows; variants of an architecture go with it."""
        if self.nvrtc:
            library, count = self._nvrtc(), ctypes.c_int()
            library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
            numbers = (ctypes.c_int * count.value)()
            library.nvrtcGetSupportedArchs(numbers)
            known = {str(number) for number in numbers}
        else:
            listed = subprocess.run([self.folder / "bin" / "nvcc", "--list-gpu-arch"], capture_output=True, text=True)
            known = set(re.findall(r"compute_(\w+)", listed.stdout))
        return [name for name in ARCHITECTURES if name.rstrip("af") in known]

    def _nvrtc(self) -> ctypes.CDLL:
        [path] = (self.folder / "lib").glob("libnvrtc.so.*")
        return ctypes.CDLL(str(path))

    def includes(self) -> list[str]:
        cccl = self.include / "cccl"
        return [f"-I{self.include}", *([f"-I{cccl}"] if cccl.is_dir() else [])]

    def ptx(self, source: Path, architecture: str, variant: str = "") -> Path:
        """The PTX of `source`, compiled now or before; CompileError if it does not compile."""
        options = ["-std=c++20", "-w", *VARIANTS[variant], *self._options(source)]
        digest = hashlib.sha256()
        for part in (self.version, architecture, *options, source.read_text(), (HERE / "check.h").read_text()):
            digest.update(part.encode() + b"\0")
        path = (
            CACHE
            / "ptx"
            / f"{source.stem}-{self.release}-{architecture}{variant and '-'}{variant}-{digest.hexdigest()[:10]}.ptx"
        )
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch = path.with_suffix(f".{os.getpid()}")
            (self._with_nvrtc if self.nvrtc else self._with_nvcc)(source, architecture, options, scratch)
            scratch.rename(path)
        return path

    @staticmethod
    def _options(source: Path) -> list[str]:
        """`// nvcc: -extended-lambda` in the first lines."""
        found = re.search(r"^// nvcc: (.+)$", source.read_text(), re.MULTILINE)
        return found.group(1).split() if found else []

    def _with_nvcc(self, source: Path, architecture: str, options: list[str], output: Path) -> None:
        command = [
            self.folder / "bin" / "nvcc",
            "-ptx",
            f"-arch=compute_{architecture}",
            "-D_LIBCUDACXX_NO_HOST",
            *options,
        ]
        done = subprocess.run(
            [*command, *self.includes(), "-o", output, source.name], cwd=HERE, capture_output=True, text=True
        )
        if done.returncode:
            raise CompileError((done.stdout + done.stderr)[-3000:])

    def _with_nvrtc(self, source: Path, architecture: str, options: list[str], output: Path) -> None:
        library, program = self._nvrtc(), ctypes.c_void_p()
        given = [f"-arch=compute_{architecture}", "-device-int128", "-default-device", f"-I{HERE}", *self.includes()]
        given += [option for option in options if option != "-extended-lambda"]  # an option of nvcc alone
        words = (ctypes.c_char_p * len(given))(*(word.encode() for word in given))
        library.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
        failed = library.nvrtcCompileProgram(program, len(given), words)
        ask = (library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog) if failed else (
            library.nvrtcGetPTXSize, library.nvrtcGetPTX)  # fmt: skip
        size = ctypes.c_size_t()
        ask[0](program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        ask[1](program, text)
        library.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            raise CompileError(text.value.decode()[-3000:])
        output.write_bytes(text.value)
