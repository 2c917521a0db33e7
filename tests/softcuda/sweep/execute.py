"""Load PTX files into softcuda and run their TESTs: `execute.py < jobs > results`, a JSON object a line each way.

A job is {"ptx": path, "source": path}; its result {"loaded": bool, "refused": what the driver said,
"right": [kernel, …], "wrong": {kernel: why}}.  One process serves many modules, each in a context of its own.
A job {"text": PTX} is only loaded: {"loaded": bool, "refused": …}.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import sys
from pathlib import Path

from softcuda import _toolkit

TEST = re.compile(r"^TEST(?:_TAKING)?\((\w+), *(\d+), *(\d+)([^)]*)\)", re.MULTILINE)
REPORT = struct.Struct("<II" + "IIIIQQ" * 4)
JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE = 5, 6


class Driver:
    """cu* functions that raise with the error's name."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(_toolkit.library()))

    def __getattr__(self, name: str):
        function = getattr(self.library, name)

        def call(*arguments: object) -> None:
            if code := function(*arguments):
                text = ctypes.c_char_p()
                self.library.cuGetErrorName(code, ctypes.byref(text))
                raise RuntimeError((text.value or b"?").decode())

        return call


def tests(source: str) -> dict[str, dict[str, object]]:
    """What the TEST lines of a file say: kernel -> grid, block and options."""
    found = {}
    for name, blocks, threads, rest in TEST.findall(source):
        options: dict[str, object] = {"blocks": int(blocks), "threads": int(threads), "args": b""}
        for word in ("since", "shared", "cluster"):
            options[word] = int(match.group(1)) if (match := re.search(rf"{word} *= *(\d+)", rest)) else 0
        options["cooperative"] = "cooperative" in rest
        if match := re.search(r'args *= *"([^"]*)"([^"]*)', rest):
            values = [float(v) if "." in v else int(v, 0) for v in re.findall(r"[-\w.]+", match.group(2))]
            options["args"] = struct.pack(match.group(1), *values)
        found[name] = options
    return found


def launch(cu: Driver, function: ctypes.c_void_p, test: dict, capability: int) -> None:
    """One launch, through cuLaunchKernelEx when there is an attribute to give."""
    data = ctypes.create_string_buffer(test["args"], max(1, len(test["args"])))
    size = ctypes.c_size_t(len(test["args"]))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(data), 2, ctypes.addressof(size), 0)
    if test["shared"] > 48 * 1024:
        cu.cuFuncSetAttribute(function, 8, test["shared"])
    grid, block = (test["blocks"], 1, 1), (test["threads"], 1, 1)
    if test["cluster"] and capability >= test["since"]:
        attribute = struct.pack("<II" + "III" + "52x", 4, 0, test["cluster"], 1, 1)
        held = ctypes.create_string_buffer(attribute)
        config = struct.pack("<7IxxxxQQIxxxx", *grid, *block, test["shared"], 0, ctypes.addressof(held), 1)
        cu.cuLaunchKernelEx(ctypes.create_string_buffer(config), function, None, extra)
    elif test["cooperative"]:
        cu.cuLaunchCooperativeKernel(function, *grid, *block, test["shared"], None, None)
    else:
        cu.cuLaunchKernel(function, *grid, *block, test["shared"], None, None, extra)
    cu.cuCtxSynchronize()


def verdict(report: bytes, test: dict, capability: int) -> str:
    """Empty when every check held, and there were checks."""
    checks, failures, *first = REPORT.unpack(report)
    if not checks and capability >= test["since"]:
        return "no check was made"
    if failures:
        said = [
            f"line {line} block {block} thread {thread}: got {got:x}, want {want:x}"
            for line, block, thread, _, got, want in zip(*[iter(first)] * 6, strict=True)
            if line
        ]
        return f"{failures} of {checks} checks: " + "; ".join(said)
    return ""


def load(cu: Driver, text: bytes) -> tuple[ctypes.c_void_p, str]:
    """The module, and what the driver said if it refused."""
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
    keys = (ctypes.c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    try:
        cu.cuModuleLoadDataEx(ctypes.byref(module), text, 2, keys, values)
    except RuntimeError as error:
        return module, f"{error}: {log.value.decode().strip()}"
    return module, ""


def only_load(cu: Driver, text: str) -> dict:
    context = ctypes.c_void_p()
    cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    _, refused = load(cu, text.encode())
    cu.cuCtxDestroy_v2(context)
    return {"loaded": not refused, "refused": refused}


def run(cu: Driver, job: dict) -> dict:
    result = {"loaded": False, "refused": "", "right": [], "wrong": {}}
    text = Path(job["ptx"]).read_bytes()
    target = re.search(rb"^\.target\s+sm_(\d+)", text, re.MULTILINE)
    capability = int(target.group(1))
    waiting = tests(Path(job["source"]).read_text())
    while waiting or not result["loaded"]:  # a fault ends the context: the tests after it get a new one
        context = ctypes.c_void_p()
        cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
        try:
            module, result["refused"] = load(cu, text)
            if result["refused"]:
                return result
            result["loaded"] = True
            for name, test in list(waiting.items()):
                del waiting[name]
                if why := attempt(cu, module, name, test, capability):
                    result["wrong"][name] = why
                    if why.startswith("CUDA_ERROR"):
                        break
                else:
                    result["right"].append(name)
        finally:
            cu.library.cuCtxDestroy_v2(context)
    return result


def attempt(cu: Driver, module: ctypes.c_void_p, name: str, test: dict, capability: int) -> str:
    function, report, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
    buffer = ctypes.create_string_buffer(REPORT.size)
    try:
        cu.cuModuleGetGlobal_v2(ctypes.byref(report), ctypes.byref(size), module, b"report")
        cu.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        cu.cuMemsetD8_v2(report, 0, ctypes.c_size_t(REPORT.size))
        launch(cu, function, test, capability)
        cu.cuMemcpyDtoH_v2(buffer, report, ctypes.c_size_t(REPORT.size))
    except RuntimeError as error:
        return str(error)
    return verdict(buffer.raw, test, capability)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what kernels print
    cu = Driver()
    cu.cuInit(0)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(only_load(cu, job["text"]) if "text" in job else run(cu, job)), file=answers, flush=True)


if __name__ == "__main__":
    main()
