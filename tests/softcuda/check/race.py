"""A race in shared memory, at the last two lines of the kernel."""

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void reverse(float *a)
{
    __shared__ float s[256];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = s[255 - threadIdx.x];
}
""")
a = gpuarray.to_gpu(np.arange(256, dtype=np.float32))
module.get_function("reverse")(a, block=(256, 1, 1))
