"""Triton on softcuda: what the import hook does around `import triton`, and around `import pycuda.gpuarray` beside it.

Triton compiles as ever.  Three of its own variables name softcuda's ptxas and libcuda.so.1 (_select.set_path), and
when the import is done, its driver becomes the one of _triton_driver.py, which needs no PyTorch.  Arrays of PyCUDA get
the methods that Triton calls on a tensor, whatever the device is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from softcuda import _select

OLDEST = (3, 8)  # without PyTorch only from here on
TRIED = "3.8.0 and 3.9.0"
_searching: set[str] = set()


class FollowedLoader:
    """A loader that does what `loader` does; `begin` is called before, and the function that it gives after."""

    def __init__(self, loader: Any, begin: Callable[[], Callable[[ModuleType], None] | None]) -> None:
        self.loader = loader
        self.begin = begin

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__:
            module.__spec__.loader = self.loader
        finish = self.begin()
        self.loader.exec_module(module)
        if finish:
            finish(module)


def find(name: str) -> ModuleSpec | None:
    """The spec of a module, as the finders other than ours have it."""
    parent = sys.modules.get(name.rpartition(".")[0])
    path = getattr(parent, "__path__", None)
    _searching.add(name)
    try:
        for finder in sys.meta_path:
            if hasattr(finder, "find_spec") and (spec := finder.find_spec(name, path)):
                return spec
    finally:
        _searching.discard(name)
    return None


def interpreting() -> bool:
    """Whether Triton is to interpret its kernels in Python: then it needs no device."""
    return os.environ.get("TRITON_INTERPRET", "").lower() not in ("", "0", "false", "off", "no")


def version_of(spec: ModuleSpec) -> str:
    """Triton's version, as its __init__.py says; empty if it does not."""
    try:
        with open(spec.origin or "", encoding="utf-8", errors="replace") as source:
            found = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", source.read(4096), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def too_old(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return bool(numbers) and (int(numbers[1]), int(numbers[2])) < OLDEST


def prepare(name: str) -> ModuleSpec | None:
    """Called when module `name` is looked for; a spec to import it with, or None: as ever.

    Looking for it changes nothing yet: libraries do so to know whether it is installed.
    """
    if name in _searching or name in sys.modules:
        return None
    if name == "triton" and interpreting():
        return None
    if name == "pycuda.gpuarray" and "triton" not in sys.modules:
        return None  # Triton may come later, and then looks for it
    spec = find(name)
    if spec is None or spec.loader is None:
        return None
    begin = (lambda: choose(spec)) if name == "triton" else (lambda: adapt_arrays)
    spec.loader = FollowedLoader(spec.loader, begin)  # type: ignore[assignment]
    return spec


def choose(spec: ModuleSpec) -> Callable[[ModuleType], None] | None:
    """Choose the device before Triton is imported; what to do when it is.

    SelectError: softcuda was asked for and cannot be had, or this Triton is too old for it.
    """
    try:
        choice = _select.chosen() or _select.choose()
        if not choice.soft:
            _select.forget_triton()
            return use_arrays
        if too_old(version := version_of(spec)):
            refuse_version(version)
            return None
        _select.activate_once(choice)
    except ImportError:
        raise
    except Exception as error:  # as in _hook: the import goes on
        sys.stderr.write(f"softcuda: cannot choose a device: {type(error).__name__}: {error}\n")
        return None
    os.environ["SOFTCUDA_TRITON"] = os.path.dirname(spec.origin or "")
    return use_driver


def refuse_version(version: str) -> None:
    """One line: SelectError if softcuda was asked for, else on stderr, and Triton finds no device."""
    oldest = ".".join(map(str, OLDEST))
    needs = f"softcuda runs Triton {oldest} and newer: pip install 'triton>={oldest}'"
    message = f"softcuda: Triton {version} is too old: {needs}"
    if _select.forced():
        raise _select.SelectError(message)
    if os.environ.get("SOFTCUDA_QUIET", "") in ("", "0") and not _select.in_worker():
        sys.stderr.write(f"{message}\n")


def use_driver(triton: ModuleType) -> None:
    """SelectError if this Triton has no longer what is used of it."""
    try:
        from softcuda._triton_driver import SoftcudaDriver

        triton.runtime.driver.set_active(SoftcudaDriver())
    except (AttributeError, ImportError, TypeError) as error:
        version = getattr(triton, "__version__", "?")
        raise _select.SelectError(
            f"softcuda: cannot give Triton {version} its driver ({error}); softcuda was tried with Triton {TRIED}"
        ) from None
    if os.environ.get("SOFTCUDA_INSPECT", "").startswith("check:"):
        sys.modules[f"{__name__}.program"] = Globals(sys.modules["__main__"])  # type: ignore[assignment]
    use_arrays(triton)


class Globals:
    """Empties a program's module when Python takes its modules down, as Python itself does.

    Triton keeps kernels to the very end, and with them their program's globals: its arrays would count as leaks.
    """

    def __init__(self, module: ModuleType) -> None:
        self.names = vars(module)

    def __del__(self) -> None:
        self.names.clear()


def use_arrays(_: ModuleType) -> None:
    if arrays := sys.modules.get("pycuda.gpuarray"):
        adapt_arrays(arrays)


def adapt_arrays(arrays: ModuleType) -> None:
    """Give PyCUDA's GPUArray what Triton, its autotuner and its descriptors call on a tensor."""
    kind = getattr(arrays, "GPUArray", None)
    if kind is None:  # its import is not done
        return

    def stride(array: Any, dimension: int | None = None) -> Any:
        """In elements."""
        steps = tuple(step // array.dtype.itemsize for step in array.strides)
        return steps if dimension is None else steps[dimension]

    def whole(array: Any) -> Any:
        """Its memory, if that is one piece: PyCUDA has no kernels for float16 and the like, so bytes are moved."""
        if not array.flags.forc:
            raise ValueError("softcuda: Triton's autotuner restores only arrays that are contiguous")
        return array.gpudata

    def zero_(array: Any) -> Any:
        arrays.drv.memset_d8(whole(array), 0, array.nbytes)
        return array

    def copy_(array: Any, other: Any) -> Any:
        if (array.shape, array.strides, array.dtype) != (other.shape, other.strides, other.dtype):
            raise ValueError("softcuda: copy_ takes an array of the same shape, strides and type")
        arrays.drv.memcpy_dtod(whole(array), whole(other), array.nbytes)
        return array

    methods = {
        "data_ptr": lambda array: int(array.gpudata or 0),
        "stride": stride,
        "element_size": lambda array: array.dtype.itemsize,
        "numel": lambda array: array.size,
        "zero_": zero_,
        "copy_": copy_,
        "clone": lambda array: array.copy(),
        "device": property(lambda array: "cuda"),
        "data": property(lambda array: array),
    }
    for name, value in methods.items():
        if not hasattr(kind, name):
            setattr(kind, name, value)
