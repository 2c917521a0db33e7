"""Every function that the runtime's headers declare is there, and has its names and texts for errors."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from softcuda import _toolkit

TOOLS = Path(__file__).parents[3] / "softcuda" / "tools"


@pytest.fixture(scope="module")
def include() -> Path:
    return _toolkit.nvidia() / "include"


@pytest.fixture(scope="module")
def exported() -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _toolkit.library().with_name("libcudart.so.13")],
        check=True,
        capture_output=True,
        text=True,
    )
    return {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("runtime_api", TOOLS / "runtime_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_function_of_the_headers(include, exported, generator):
    declared = set()
    for name in ("cuda_runtime_api.h", "cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h"):
        declared |= set(generator.functions((include / name).read_text()))
    assert len(declared) > 300
    assert declared - exported == set()


def test_every_function_for_a_default_stream_of_each_thread(include, exported, generator):
    header = (include / "cuda_runtime_api.h").read_text()
    variants = {f"{name}_{kind.lower()}" for name, kind, _ in generator.VARIANT.findall(header)}
    assert len(variants) > 50
    assert variants - exported == set()


def test_every_function_that_compiled_programs_call(include, exported):
    text = (include / "crt" / "host_runtime.h").read_text() + (include / "crt" / "device_functions.h").read_text()
    called = set(re.findall(r"\bCUDARTAPI\s+(__cuda\w+)\s*\(", text))
    assert {"__cudaRegisterFatBinary", "__cudaPushCallConfiguration"} <= called
    # Texture and surface references left CUDA with version 12; only their declarations stayed.
    assert called - exported == {"__cudaRegisterTexture", "__cudaRegisterSurface"}


def test_names_and_texts_are_those_of_nvidias_runtime(include):
    """NVIDIA's own library is beside its headers; these two functions need no device."""
    ours = ctypes.CDLL(str(_toolkit.library().with_name("libcudart.so.13")))
    theirs = ctypes.CDLL(str(include.parent / "lib" / "libcudart.so.13"))
    for name in ("cudaGetErrorName", "cudaGetErrorString"):
        for library in (ours, theirs):
            getattr(library, name).restype = ctypes.c_char_p
        for code in [*range(1000), 10000]:
            said = getattr(theirs, name)(code)
            if code not in (202, 916):  # the driver has these two, the runtime not
                assert getattr(ours, name)(code) == said, code
