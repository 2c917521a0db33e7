"""The import hook: before a module that opens libcuda.so.1 is loaded, `_select` finds a CUDA device for it.

These are PyCUDA's extension module, NVIDIA's `cuda.bindings` (which cuda.core and numba-cuda build on) and Numba's own.

`softcuda.pth`, beside this package, puts a finder on `sys.meta_path` at every start of the interpreter.  It finds
nothing; it compares each name with those three and then calls `notice`.  It is written out in that one line and
imports nothing, so that a start costs microseconds and cannot fail, whatever became of this package.
"""

from __future__ import annotations

import sys


def notice() -> None:
    """Called when one of the three is about to be imported.  ImportError: softcuda is wanted and cannot be had."""
    try:
        from softcuda import _select

        _select.activate_once()
    except ImportError:
        raise
    except Exception as error:  # the import goes on, and works or fails as it would without softcuda
        sys.stderr.write(f"softcuda: cannot choose a device: {type(error).__name__}: {error}\n")
