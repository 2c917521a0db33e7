"""Breaks every kernel that a program loads, in the way that $SABOTAGE says.

unwritten   nothing is stored in global memory
zeros       zeros are
nan         NaN is, or for integers what has NaN's bits

An atomic operation on global memory whose result nobody reads is such a store, too. And three ways for a gradient,
which break one thing only, in kernels whose names end in "backward":

sign        the first number that the kernel stores has the wrong sign
missing     the sum that was computed last before that store lacks its last term
stale       the kernel is launched once; later launches leave what is there

If $SABOTAGED names a file, it is created as soon as one of these three has changed something.

Python imports this file when it starts, if its folder is on PYTHONPATH. It works on PTX, which is what softcuda's nvcc
hands to PyCUDA and its ptxas to Triton, so that no program needs to know of it.
"""

import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pycuda.driver as cuda

from softcuda import _triton

KIND = os.environ["SABOTAGE"]
OF_GRADIENTS = ("sign", "missing", "stale")
BACKWARD = re.compile(rb"\.entry \w*backward\w*\(.*?^\}", re.MULTILINE | re.DOTALL)
SUM = re.compile(
    rb"^(?P<guard>\s*(?:@!?%p\d+\s+)?)(?P<op>fma\.rn|add|sub)(?P<more>(?:\.rn|\.ftz)*\.f32)\s+(?P<to>%\w+),"
    rb"\s*(?P<a>[^,;]+),\s*(?P<b>[^,;]+)(?:,\s*(?P<c>[^,;]+))?;",
    re.MULTILINE,
)
STORE = re.compile(
    rb"^(?P<head>\s*(?:@!?%p\d+\s+)?st\.(?:[a-z:0-9]+\.)*?global(?:\.[a-zL0-9:_]+)*\.(?P<type>[a-z]+\d+)"
    rb"\s+\[[^\]]+\],\s*)(?P<value>[^;]+);",
    re.MULTILINE,
)
REDUCE = re.compile(rb"^\s*(?:@!?%p\d+\s+)?red\.[^;]*global[^;]*;", re.MULTILINE)
# Of nvcc an atomic operation without a result is an `atom` into a register that occurs nowhere else.
UPDATE = re.compile(
    rb"^(?P<guard>\s*(?:@!?%p\d+\s+)?)(?:red|atom)\.(?:[a-z:0-9]+\.)*?global[a-z_:0-9.]*?\.(?P<type>[bfsu](?:32|64))"
    rb"\s+(?:(?P<old>%\w+),\s*)?(?P<at>\[[^\]]+\]),\s*[^;{]+;",
    re.MULTILINE,
)
COPY = re.compile(rb"^\s*cp\.async\.bulk\.[^;]*global\.shared::cta[^;]*;", re.MULTILINE)  # by the copy engine
STAGED = re.compile(rb"^(?P<head>\s*stmatrix\.[^;]*\],\s*)\{(?P<values>[^}]+)\};", re.MULTILINE)  # what it copies
NANS = {8: b"0x7F", 16: b"0x7FFF", 32: b"0x7FC00000", 64: b"0x7FF8000000000000"}


def broken(store: re.Match[bytes]) -> bytes:
    kind, bits = store["type"][:1], int(store["type"].lstrip(b"bfsu"))
    value = b"0"
    if KIND == "nan":
        value = NANS[bits]
    if kind == b"f":
        value = (b"0f%08X" if bits == 32 else b"0d%016X") % int(value, 16 if value[1:2] == b"x" else 10)
    if store["value"].startswith(b"{"):
        value = b"{" + b", ".join([value] * (store["value"].count(b",") + 1)) + b"}"
    return store["head"] + value + b";"


def updated(update: re.Match[bytes]) -> bytes:
    text, old = update.string, update["old"]
    if old:
        function = text[text.rfind(b"\n{", 0, update.start()) : text.find(b"\n}", update.end())]
        # Triton sets the register to 0 before the operation.
        cleared = re.findall(rb"mov\.\w+\s+" + re.escape(old) + rb",\s*0x0;", function)
        if len(re.findall(re.escape(old) + rb"\b", function)) > 1 + len(cleared):
            return update[0]
    return update["guard"] + b"st.global." + update["type"] + b" " + update["at"] + b", 0;"


def broken_stage(store: re.Match[bytes]) -> bytes:
    value = b"0x7FFF7FFF" if KIND == "nan" else b"0"
    values = b", ".join([b"sabotaged"] * (store["values"].count(b",") + 1))
    return b"{ .reg .b32 sabotaged; mov.b32 sabotaged, %b;\n%b{%b}; }" % (value, store["head"], values)


def changed() -> None:
    if mark := os.environ.get("SABOTAGED"):
        Path(mark).touch()


def wrong_gradient(kernel: re.Match[bytes]) -> bytes:
    """A kernel whose first store of a float has the wrong sign, or lacks a term."""
    text = kernel[0]
    store = next((found for found in STORE.finditer(text) if found["type"] == b"f32"), None)
    if store is None:
        return text
    if KIND == "sign":
        values = store["value"].strip(b"{}").split(b",")
        new = b"{ .reg .f32 sabotaged; neg.f32 sabotaged, %b;\n" % values[0].strip()
        all_values = b", ".join([b"sabotaged", *(value.strip() for value in values[1:])])
        new += store["head"] + (b"{%b}" if len(values) > 1 else b"%b") % all_values + b"; }"
        changed()
        return text[: store.start()] + new + text[store.end() :]
    sums = [found for found in SUM.finditer(text, 0, store.start()) if found["c"] != b"0f00000000"]
    if not sums:
        return text
    last = sums[-1]
    if last["op"] == b"fma.rn":
        new = b"%bmul%b %b, %b, %b;" % (last["guard"], last["more"], last["to"], last["a"], last["b"])
    else:
        new = b"%bmov.f32 %b, %b;" % (last["guard"], last["to"], last["a"])
    changed()
    return text[: last.start()] + new + text[last.end() :]


def sabotaged(ptx: bytes) -> bytes:
    if KIND in OF_GRADIENTS:
        return ptx if KIND == "stale" else BACKWARD.sub(wrong_gradient, ptx)
    ptx = UPDATE.sub(updated, ptx)
    if KIND == "unwritten":
        return COPY.sub(b"", REDUCE.sub(b"", STORE.sub(b"", ptx)))
    return STAGED.sub(broken_stage, STORE.sub(broken, ptx))


def module_from_buffer(buffer: bytes, *args: object, **options: object) -> cuda.Module:
    return load(sabotaged(bytes(buffer)), *args, **options)


def use_driver(triton: ModuleType) -> None:
    """softcuda's, whose loader gets the broken PTX; what Triton keeps in its cache is whole."""
    give_driver(triton)
    from softcuda import _triton_driver

    with_reason = _triton_driver.with_reason

    def with_reason_broken(load_binary: Any) -> Any:
        return with_reason(lambda name, image, *rest: load_binary(name, sabotaged(bytes(image)), *rest))

    _triton_driver.with_reason = with_reason_broken


def get_function(module: cuda.Module, name: str) -> cuda.Function:
    found = find(module, name)
    found.name_in_module = name
    return found


launched: set[str] = set()


def call_once(function: cuda.Function, *args: Any, **options: Any) -> object:
    name = getattr(function, "name_in_module", "")
    if "backward" in name and name in launched:
        changed()
        return None
    launched.add(name)
    return call(function, *args, **options)


if KIND == "stale":
    find, cuda.Module.get_function = cuda.Module.get_function, get_function
    call, cuda.Function.__call__ = cuda.Function.__call__, call_once
load, cuda.module_from_buffer = cuda.module_from_buffer, module_from_buffer
give_driver, _triton.use_driver = _triton.use_driver, use_driver
