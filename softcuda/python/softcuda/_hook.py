"""The import hook: before a module that opens libcuda.so.1 is loaded, `_select` finds a CUDA device for it.

These are PyCUDA's extension module, NVIDIA's `cuda.bindings` (which cuda.core and numba-cuda build on), Numba's own and
Triton, which is made ready for softcuda when it is imported (_triton.py).
Libraries in COMPILED cannot use softcuda; where the machine has no other device, one line says so.

`softcuda.pth`, beside this package, puts a finder on `sys.meta_path` at every start of the interpreter.  It compares
each name with those it knows and then calls `notice`.  It is written out in that one line and
imports nothing, so that a start costs microseconds and cannot fail, whatever became of this package.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec

# Libraries whose kernels are machine code already, by their top-level module.
COMPILED = {"cupy": "CuPy", "jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
# What is followed until it is imported (_triton.py).
FOLLOWED = ("triton", "pycuda.gpuarray")
_seen: set[str] = set()


def notice(name: str = "") -> ModuleSpec | None:
    """Called when module `name` is about to be imported.  ImportError: softcuda is wanted and cannot be had.

    The answer is a spec for `name` if something is to be done when it is imported, else None.
    """
    try:
        if name in COMPILED:
            if os.environ.get("SOFTCUDA_QUIET", "") in ("", "0"):
                warn_of_compiled(name)
            return None
        if name in FOLLOWED:
            from softcuda import _triton

            return _triton.prepare(name)
        from softcuda import _select

        _select.activate_once()
    except ImportError:
        raise
    except Exception as error:  # the import goes on, and works or fails as it would without softcuda
        sys.stderr.write(f"softcuda: cannot choose a device: {type(error).__name__}: {error}\n")
    return None


def warn_of_compiled(name: str) -> None:
    """Say once that the library `name`, if it is installed, finds no device: softcuda is none to it."""
    if name in _seen:
        return
    _seen.add(name)
    from softcuda import _select

    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    if _select.in_worker() or not any(finder.find_spec(name, None) for finder in finders):
        return
    if os.path.exists("/dev/nvidiactl") and not _select.forced():
        return  # an NVIDIA driver is at work: what it has is the library's own affair
    if _select.choose().soft:
        sys.stderr.write(
            f"softcuda: {COMPILED[name]} brings machine code for GPUs and the CUDA runtime, which softcuda cannot run: "
            "it sees no CUDA device here\n"
        )
