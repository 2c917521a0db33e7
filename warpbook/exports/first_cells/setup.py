# @title TITLE { display-mode: "form" }
import importlib.util
import shutil
import subprocess
import sys

SOFTCUDA = ""
NO_DEVICE = ""
NOT_READY = ""
TRIAL = """
import pycuda.autoprimaryctx
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

SourceModule("__global__ void nothing() {}")
print(cuda.Context.get_device().name())
"""


class SetupError(Exception):
    def _render_traceback_(self) -> list[str]:  # Jupyter then shows these two lines and no traceback
        return [str(self)]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def cause(failed: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in f"{failed.stdout}\n{failed.stderr}".splitlines() if line.strip()]
    return ([line for line in lines if "rror" in line] or lines or ["Python cannot be started"])[-1]


def installed(package: str) -> bool:
    importlib.invalidate_caches()
    return importlib.util.find_spec(package) is not None


def install(*command: str) -> None:
    print("python -m", *command, flush=True)
    done = python("-m", *command)
    if done.returncode:
        raise SetupError(f"{cause(done)}\n{NOT_READY}")


def need_softcuda(otherwise: str) -> None:
    if not installed("softcuda"):
        if not SOFTCUDA:
            raise SetupError(otherwise)
        install("pip", "install", "--quiet", SOFTCUDA)


trial = python("-c", TRIAL)
if trial.returncode:
    smi = shutil.which("nvidia-smi")
    has_gpu = smi is not None and subprocess.run([smi, "-L"], capture_output=True).returncode == 0
    if not has_gpu:
        need_softcuda(NO_DEVICE)
    if not installed("numpy"):
        install("pip", "install", "--quiet", "numpy")
    if not installed("pycuda"):
        if installed("softcuda"):
            install("softcuda", "install-pycuda")  # builds it without a CUDA toolkit
        else:
            install("pip", "install", "--quiet", "pycuda")
    trial = python("-c", TRIAL)
if trial.returncode:
    raise SetupError(f"{cause(trial)}\n{NOT_READY}")
if installed("softcuda"):  # perhaps only after this Python had started
    importlib.import_module("softcuda._hook").notice()
print(f"device: {trial.stdout.strip()}")
