"""The import hook: before PyCUDA's extension module is loaded, `_select` finds a CUDA device for it.

`softcuda.pth`, beside this package, puts a finder on `sys.meta_path` at every start of the interpreter.  It finds
nothing; it compares each name with "pycuda._driver" and then calls `notice`.  It is written out in that one line and
imports nothing, so that a start costs microseconds and cannot fail, whatever became of this package.
"""

from __future__ import annotations

import sys


def notice() -> None:
    """Called when `pycuda._driver` is about to be imported.  ImportError: softcuda is wanted and cannot be had."""
    try:
        from softcuda import _select

        _select.activate_once()
    except ImportError:
        raise
    except Exception as error:  # the import goes on, and works or fails as it would without softcuda
        sys.stderr.write(f"softcuda: cannot choose a device: {type(error).__name__}: {error}\n")
