"""Breaks every kernel that a program loads, in the way that $SABOTAGE says.

unwritten   nothing is stored in global memory
zeros       zeros are
nan         NaN is, or for integers what has NaN's bits

An atomic operation on global memory whose result nobody reads is such a store, too.

Python imports this file when it starts, if its folder is on PYTHONPATH. It works on PTX, which is what softcuda's nvcc
hands to PyCUDA and its ptxas to Triton, so that no program needs to know of it.
"""

import os
import re
from types import ModuleType
from typing import Any

import pycuda.driver as cuda

from softcuda import _triton

KIND = os.environ["SABOTAGE"]
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


def sabotaged(ptx: bytes) -> bytes:
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


load, cuda.module_from_buffer = cuda.module_from_buffer, module_from_buffer
give_driver, _triton.use_driver = _triton.use_driver, use_driver
