"""softcuda: a CUDA device made of software.

Nothing needs to be imported: installing the package is enough for `import pycuda.driver` to work on a machine
without a GPU (see `_hook`).  This module stays empty because every start of the interpreter imports it.
"""

__version__ = "0.1.0"
