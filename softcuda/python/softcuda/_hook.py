"""The import hook: waits for `pycuda._driver` and then lets `_select` find a CUDA device for it.

`softcuda.pth` imports this at every start of the interpreter, so it costs one class and one list entry, and
nothing that it does may stop an interpreter.
"""

import sys


class DriverFinder:
    """Finds nothing; notices that PyCUDA's extension module is about to be loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pycuda._driver":
            try:
                from softcuda import _select

                _select.activate_once()
            except Exception as error:  # the import goes on and fails or works as it would without softcuda
                sys.stderr.write(f"softcuda: cannot choose a device: {type(error).__name__}: {error}\n")
        return None


if sys.platform == "linux" and DriverFinder not in sys.meta_path:
    sys.meta_path.insert(0, DriverFinder)
