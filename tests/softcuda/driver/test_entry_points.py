"""Every function of cuda.h: it is there or answers as a GPU's driver does where a function is missing, refuses in one
line what softcuda does not have, and takes null where a pointer is due for an error, not for an address."""

from __future__ import annotations

import ctypes
import json
import re
from collections import defaultdict
from pathlib import Path

from softcuda import _toolkit

SOURCE = Path(__file__).parents[3] / "softcuda" / "src" / "driver" / "unsupported.cpp"
REFUSED = re.findall(r"^UNSUPPORTED\((\w+),", SOURCE.read_text(), re.MULTILINE)
TYPEDEF = re.compile(r"^ *typedef CUresult \(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)\((.*)\);", re.MULTILINE)
FOUND, TOO_OLD, INVALID_VALUE = 0, 2, 1

# What cuda.h of CUDA 12.9 declares and that of 13.0 does not, as programs are linked against it.
ONLY_12_9 = [
    "cuGraphAddDependencies", "cuGraphAddNode", "cuGraphGetEdges", "cuGraphNodeGetDependencies",
    "cuGraphNodeGetDependentNodes", "cuGraphRemoveDependencies", "cuMemcpy3DBatchAsync", "cuMemcpyBatchAsync",
    "cuStreamGetCaptureInfo_v2", "cuStreamUpdateCaptureDependencies", "cuCtxCreate_v2", "cuEventElapsedTime",
    "cuMemAdvise", "cuMemPrefetchAsync", "cuMemPrefetchAsync_ptsz", "cuMemcpy3DBatchAsync_ptsz",
    "cuMemcpyBatchAsync_ptsz", "cuStreamGetCaptureInfo_v2_ptsz", "cuStreamUpdateCaptureDependencies_ptsz",
    "cuGetProcAddress_v2_ptsz", "cuStreamGetCtx_ptsz",
]  # fmt: skip


def typedefs() -> list[tuple[str, int, str, str]]:
    """(name, version, suffix of the variant for default streams of each thread, parameters)"""
    toolkit = _toolkit.nvidia()
    assert toolkit, _toolkit.INSTALL
    header = (toolkit / "include" / "cudaTypedefs.h").read_text()
    return [(name, int(version), thread, given) for name, version, thread, given in TYPEDEF.findall(header)]


def current() -> dict[str, tuple[str, list[str]]]:
    """The exported name, and the parameters, of the latest version of each function."""
    versions = defaultdict(dict)
    for name, version, thread, given in typedefs():
        if not thread:
            versions[name][version] = [] if given.strip() == "void" else given.split(",")
    return {
        name: (name if len(each) == 1 else f"{name}_v{len(each)}", each[max(each)]) for name, each in versions.items()
    }


def test_cuda_13_0(raw):
    exported = {symbol for symbol, _ in current().values()}
    assert len(exported) > 400
    assert sorted(symbol for symbol in exported if not hasattr(raw, symbol)) == []


def test_cuda_12_9(raw):
    assert [symbol for symbol in ONLY_12_9 if not hasattr(raw, symbol)] == []


def test_every_version_is_found_by_name(raw):
    """But for the interface of CUDA 2 and 3.1, whose addresses had 32 bits."""
    answers = defaultdict(list)
    for name, version, thread, _ in typedefs():
        function, status = ctypes.c_void_p(), ctypes.c_int(-1)
        asked = (name.encode(), ctypes.byref(function), version, ctypes.c_uint64(2 if thread else 1))
        assert raw.cuGetProcAddress_v2(*asked, ctypes.byref(status)) == 0
        assert (status.value == FOUND) == bool(function.value)
        answers[status.value].append((name, version))
    assert set(answers) == {FOUND, TOO_OLD}
    assert [each for each in answers[TOO_OLD] if each[1] > 3010] == []


REFUSALS = """
import ctypes, json, sys
import pycuda.autoinit
library = ctypes.CDLL(None)
json.dump({name: [getattr(library, name)(), getattr(library, name)()] for name in json.loads(sys.argv[1])}, sys.stdout)
"""


def test_what_is_refused_says_so_once(program):
    names = json.dumps(REFUSED)
    done = program(REFUSALS.replace("sys.argv[1]", repr(names)), SOFTCUDA_QUIET="0")
    answers = json.loads(done.stdout)
    assert len(answers) > 200 and set(map(tuple, answers.values())) == {(801, 801)}
    lines = [line for line in done.stderr.splitlines() if ": not supported (" in line]
    assert [re.fullmatch(r"softcuda: (\w+): not supported \(.+\)", line)[1] for line in lines] == REFUSED


# Each function once for each pointer that it takes, null there and memory of ours for the others.
NULLS = """
import ctypes, json
import pycuda.autoinit, pycuda.driver as cuda

FUNCTIONS = json.loads(FUNCTIONS_TEXT)
raw = ctypes.CDLL(None)
module, function, event, memory = (ctypes.c_void_p() for _ in range(4))
text = b".version 9.0\\n.target sm_75\\n.address_size 64\\n.visible .entry kernel() { ret; }"
assert raw.cuModuleLoadData(ctypes.byref(module), text) == 0
assert raw.cuModuleGetFunction(ctypes.byref(function), module, b"kernel") == 0
assert raw.cuEventCreate(ctypes.byref(event), 0) == raw.cuEventRecord(event, None) == 0
assert raw.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
handles = {"CUcontext": pycuda.autoinit.context.handle, "CUdeviceptr": memory.value, "CUfunction": function.value,
           "CUmodule": module.value, "CUevent": event.value, "size_t": 16}
answers = {}
for name, (symbol, kinds) in FUNCTIONS.items():
    room = [ctypes.create_string_buffer(1 << 16) for _ in kinds]
    for null, kind in enumerate(kinds):
        if kind != "*":
            continue
        print(name, null, flush=True)
        raw.cuCtxSetCurrent(ctypes.c_void_p(handles["CUcontext"]))
        arguments = [ctypes.c_void_p(0) if i == null else ctypes.cast(room[i], ctypes.c_void_p) if each == "*"
                     else ctypes.c_uint64(handles.get(each, 1 if each in ("int", "unsigned") else 0))
                     for i, each in enumerate(kinds)]
        answers[f"{name} {null}"] = getattr(raw, symbol)(*arguments)
print(json.dumps(answers))
"""

# Where null is no error, by the parameter's number: it says that something is not wanted, or not given.
OPTIONAL = {
    "cuCtxCreate 1", "cuCtxGetStreamPriorityRange 0", "cuCtxGetStreamPriorityRange 1", "cuCtxPopCurrent 0",
    "cuDevicePrimaryCtxGetState 1", "cuDevicePrimaryCtxGetState 2", "cuGetProcAddress 4", "cuLaunchKernel 9",
    "cuLaunchKernel 10", "cuLaunchCooperativeKernel 9", "cuMemGetAddressRange 0", "cuMemGetAddressRange 1",
    "cuMemGetInfo 0", "cuMemGetInfo 1", "cuStreamGetCtx 2",
}  # fmt: skip


def kind_of(parameter: str) -> str:
    if "*" in parameter or "[" in parameter:
        return "*"
    words = re.sub(r"\\bconst\\b|\\bstruct\\b", "", parameter).split()
    return re.sub("_v[0-9]+$", "", words[0])


def test_null_pointers_are_invalid_values(program):
    functions = {
        name: (symbol, [kind_of(each) for each in given])
        for name, (symbol, given) in current().items()
        if symbol not in REFUSED
    }
    done = program(NULLS.replace("FUNCTIONS_TEXT", repr(json.dumps(functions))))
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1:]} ended with {done.returncode}: {done.stderr}"
    answers = json.loads(lines[-1])
    assert len(answers) > 200
    taken = {call for call, code in answers.items() if code == 0}
    assert taken == OPTIONAL
