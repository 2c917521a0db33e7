# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""PyCUDA's own tools on softcuda against NumPy: arrays, reductions, scans, element-wise kernels, random numbers."""

from __future__ import annotations

import numpy as np
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
import pytest
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

pytestmark = pytest.mark.usefixtures("context")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.uint8, np.int64, np.complex64])
def test_arithmetic_of_arrays(kind: type) -> None:
    n = 1031
    a, b = ((np.random.rand(n) * 100 + 1).astype(kind) for _ in range(2))
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    exact = kind is not np.complex64
    cases = [((x + y).get(), a + b), ((x * y).get(), a * b), ((2 * x).get(), kind(2) * a)]
    if kind is not np.uint8:  # PyCUDA subtracts by a factor of -1, which is no uint8
        cases.append(((x - y).get(), a - b))
    for got, want in cases:
        np.testing.assert_array_equal(got, want) if exact else np.testing.assert_allclose(got, want, rtol=1e-6)


def test_views_and_sums() -> None:
    a = np.random.rand(300, 200).astype(np.float32)
    x = gpuarray.to_gpu(a)
    np.testing.assert_allclose(gpuarray.sum(x).get(), a.sum(dtype=np.float64), rtol=1e-5)
    np.testing.assert_array_equal(gpuarray.max(x).get(), a.max())
    np.testing.assert_allclose(gpuarray.dot(x[0], x[1]).get(), a[0].astype(np.float64) @ a[1], rtol=1e-5)
    np.testing.assert_array_equal(x[7:90].get(), a[7:90])
    np.testing.assert_array_equal((x > 0.5).get() != 0, a > 0.5)


@pytest.mark.parametrize("n", [1, 31, 1023, 4096, 100_003])
def test_reduction(n: int) -> None:
    squares = ReductionKernel(np.float64, neutral="0", reduce_expr="a+b", map_expr="x[i]*x[i]", arguments="double *x")
    a = np.random.rand(n)
    np.testing.assert_allclose(squares(gpuarray.to_gpu(a)).get(), (a * a).sum(), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 32, 1000, 65_537])
def test_scans(n: int) -> None:
    a = np.random.randint(-1000, 1000, n).astype(np.int32)
    for kernel, want in ((InclusiveScanKernel(np.int32, "a+b"), np.cumsum(a)),
                         (ExclusiveScanKernel(np.int32, "a+b", neutral=0), np.cumsum(a) - a)):  # fmt: skip
        x = gpuarray.to_gpu(a)
        kernel(x)
        np.testing.assert_array_equal(x.get(), want)


def test_elementwise() -> None:
    kernel = ElementwiseKernel("float *z, const float *x, float a, int n_more", "z[i] = n_more ? a * x[i] : -1.0f")
    a = np.random.rand(5000).astype(np.float32)
    z = gpuarray.empty(5000, np.float32)
    kernel(z, gpuarray.to_gpu(a), np.float32(3), np.int32(1))
    np.testing.assert_array_equal(z.get(), np.float32(3) * a)


def test_random_numbers() -> None:
    """PyCUDA's own generator is a kernel (MD5); its module cannot be imported where PyCUDA was built without cuRAND."""
    import pycuda._driver

    if not hasattr(pycuda._driver, "get_curand_version"):
        pycuda._driver.get_curand_version = lambda: (0, 0, 0)
    import pycuda.curandom as curandom

    values = curandom.rand((100, 1000), dtype=np.float32).get()
    assert (values >= 0).all() and (values <= 1).all()
    assert abs(values.mean() - 0.5) < 0.01 and abs(values.var() - 1 / 12) < 0.01
    assert len(np.unique(values)) > 90_000


def test_streams_and_events(compile) -> None:
    """Order within a stream, a wait across streams, an event's time, and two streams at once."""
    kernel = compile(
        """
        extern "C" __global__ void step(int *a, int times)
        {
            int v = a[threadIdx.x];
            for (int i = 0; i < times; i++) v = v * 3 + 1;
            a[threadIdx.x] = v;
        }
        """
    ).get_function("step")
    one, two = cuda.Stream(), cuda.Stream()
    host = cuda.pagelocked_zeros(64, np.int32)
    a = cuda.mem_alloc(256)
    cuda.memset_d32_async(a, 1, 64, one)
    start, end = cuda.Event(), cuda.Event()
    start.record(one)
    kernel(a, np.int32(20_000), block=(64, 1, 1), stream=one)
    end.record(one)
    two.wait_for_event(end)
    kernel(a, np.int32(1), block=(64, 1, 1), stream=two)
    cuda.memcpy_dtoh_async(host, a, two)
    two.synchronize()
    v = np.uint32(1)
    with np.errstate(over="ignore"):
        for _ in range(20_001):
            v = v * np.uint32(3) + np.uint32(1)
    assert (host.view(np.uint32) == v).all()
    assert end.query() and start.time_till(end) > 0


def test_constant_memory_and_templates(compile) -> None:
    module = compile(
        """
        __constant__ float weights[4];
        template <class T, int n> __device__ T horner(T x) { T y = 0; for (int i = 0; i < n; i++) y = y * x + T(weights[i]); return y; }
        template <class T, int n> __global__ void polynomial(T *a) { a[threadIdx.x] = horner<T, n>(a[threadIdx.x]); }
        template __global__ void polynomial<float, 4>(float *);
        template __global__ void polynomial<double, 3>(double *);
        """
    )
    address, size = module.get_global("weights")
    assert size == 16
    cuda.memcpy_htod(address, np.array([1, -2, 3, 0.5], np.float32))
    for name, kind, n in (("_Z10polynomialIfLi4EEvPT_", np.float32, 4), ("_Z10polynomialIdLi3EEvPT_", np.float64, 3)):
        x = np.random.rand(96).astype(kind)
        got = x.copy()
        module.get_function(name)(cuda.InOut(got), block=(96, 1, 1))
        np.testing.assert_allclose(got, np.polyval([1, -2, 3, 0.5][:n], x.astype(np.float64)), rtol=3e-7)
