"""Three builds of ops.cu: PyCUDA, a C++ extension that uses the driver API, and load_inline with nvcc's object."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pycuda.driver as cuda
import torch
from _ops import addresses
from torch import Tensor
from torch.utils import cpp_extension

HERE = Path(__file__).parent
FLAGS = ["-O1", "-fvisibility=hidden", "-DTORCH_TARGET_VERSION=0x020a000000000000"]  # PyTorch's interface as of 2.10


def loaded(name: str) -> Path:
    """The file of a library that this process uses, or one beside its driver: what we link must be the same."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        files = [Path(line.split()[-1]) for line in maps if "/" in line]
    beside = next(file.parent for file in files if file.name.startswith("libcuda.so"))
    return next((file for file in files if file.name.startswith(name)), beside / name)


def headers() -> Path:
    """The folder of cuda.h: nvcc says where it looks."""
    said = subprocess.run(["nvcc", "--dryrun", "-E", "-x", "cu", "/dev/null"], capture_output=True, text=True).stderr
    folder = next(line for line in said.splitlines() if line.startswith("#$ INCLUDES="))
    return Path(folder.split('"-I')[1].split('"')[0])


def architecture() -> str:
    major, minor = cuda.Context.get_device().compute_capability()
    return f"{major}{minor}"


# --8<-- [start:driver]
def with_driver_api(folder: Path) -> Any:
    """nvcc makes an image of ops.cu, g++ an extension that loads it."""
    image = folder / "ops.cubin"
    subprocess.run(["nvcc", "-cubin", f"-arch=sm_{architecture()}", HERE / "ops.cu", "-o", image], check=True)
    cpp_extension.load(
        "with_driver_api",
        [str(HERE / "bridge.cpp"), str(HERE / "driver.cpp")],
        extra_cflags=[*FLAGS, "-DNAME=with_driver_api", f'-DIMAGE=\\"{image}\\"', f"-I{headers()}"],
        extra_ldflags=[str(loaded("libcuda.so.1"))],
        build_directory=str(folder),
        is_python_module=False,
    )
    return torch.ops.with_driver_api.launch


# --8<-- [end:driver]


# --8<-- [start:inline]
def with_load_inline(folder: Path) -> Any:
    """nvcc compiles the kernels into an object, load_inline compiles C++ from a string and links both."""
    kernels, runtime = folder / "runtime.o", loaded("libcudart.so.13")
    target = f"arch=compute_{architecture()},code=[sm_{architecture()},compute_{architecture()}]"
    options = ["-c", "-gencode", target, "--compress-mode=none", "-Xcompiler", "-fPIC,-fvisibility=hidden"]
    subprocess.run(["nvcc", *options, HERE / "runtime.cu", "-o", kernels], check=True)
    cpp_extension.load_inline(
        "with_load_inline",
        (HERE / "bridge.cpp").read_text("utf-8"),
        extra_cflags=[*FLAGS, "-DNAME=with_load_inline"],
        extra_ldflags=[str(kernels), str(runtime), f"-Wl,-rpath,{runtime.parent}"],
        build_directory=str(folder),
        is_python_module=False,
        no_implicit_headers=True,  # torch/extension.h alone takes the compiler many times as long as all of this
    )
    return torch.ops.with_load_inline.launch


# --8<-- [end:inline]


# --8<-- [start:call]
def call(
    build: Any, name: str, tensors: Sequence[Tensor], numbers: Sequence[int], blocks: int, block: tuple[int, int]
) -> None:
    """As `launch` of _ops.py, through one of the extensions: the caller's stream goes along as a number."""
    stream = torch.cuda.current_stream(tensors[0].device).cuda_stream if tensors[0].is_cuda else 0
    with addresses(tensors):
        build(name, tensors, numbers, blocks, *block, stream)


# --8<-- [end:call]
