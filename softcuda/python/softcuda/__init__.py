"""softcuda: a CUDA device made of software.

Nothing needs to be imported: installing the package is enough for `import pycuda.driver` to work on a machine
without a GPU (see `_hook`).  This module stays empty because the compiler stand-in imports it at each call.
"""

__version__ = "0.1.0"
