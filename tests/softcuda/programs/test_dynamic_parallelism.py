"""Kernels that launch kernels: what is launched in which order, and what is complete when."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import DynamicSourceModule

SUCCESS, INVALID_VALUE, INVALID_CONFIGURATION, MAX_DEPTH, INVALID_HANDLE, OUT_OF_RESOURCES = 0, 1, 9, 65, 400, 701


@pytest.fixture(scope="module")
def dynamic(context) -> Callable[..., DynamicSourceModule]:
    """dynamic("CUDA C") -> the module, linked with the device runtime as PyCUDA does it."""
    return lambda source, *options: DynamicSourceModule(source, options=list(options))


# Each grid writes its name behind those that came before it.
LOG = """
struct Log { int count; int names[63]; };
__device__ void write(Log *log, int name) { log->names[atomicAdd(&log->count, 1)] = name; }
__global__ void child(Log *log, int name) { if (threadIdx.x == 0) write(log, name); }
"""


@pytest.fixture
def names() -> Callable[..., list[int]]:
    """names(kernel, …) -> what the kernel and all that it launched wrote to their log, in order."""

    def run(kernel: cuda.Function, *arguments: object, grid=(1, 1), block=(1, 1, 1)) -> list[int]:
        log = np.zeros(64, np.int32)
        kernel(cuda.InOut(log), *arguments, grid=grid, block=block)
        return log[1 : 1 + log[0]].tolist()

    return run


def test_quicksort(dynamic) -> None:
    """Every range is split in two, and each half sorted by a child of its own."""
    kernel = dynamic(
        """
        __global__ void quicksort(float *x, int left, int right)
        {
            int i = left, j = right;
            float pivot = x[(left + right) / 2];
            while (i <= j) {
                while (x[i] < pivot) i++;
                while (x[j] > pivot) j--;
                if (i <= j) { float t = x[i]; x[i++] = x[j]; x[j--] = t; }
            }
            cudaStream_t one, other;
            cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
            cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
            if (left < j) quicksort<<<1, 1, 0, one>>>(x, left, j);
            if (i < right) quicksort<<<1, 1, 0, other>>>(x, i, right);
            cudaStreamDestroy(one);
            cudaStreamDestroy(other);
        }
        """
    ).get_function("quicksort")
    x = np.random.default_rng(1).random(1000, np.float32)
    wanted = np.sort(x)
    kernel(cuda.InOut(x), np.int32(0), np.int32(999), grid=(1, 1), block=(1, 1, 1))
    assert (x == wanted).all()


def test_children_see_what_their_parent_wrote_before_the_launch(dynamic) -> None:
    kernel = dynamic(
        """
        __global__ void twice(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
        __global__ void parent(int *x)
        {
            x[threadIdx.x] = threadIdx.x;
            __syncthreads();
            if (threadIdx.x == 0) twice<<<4, 16>>>(x);
        }
        """
    ).get_function("parent")
    x = np.full(64, -1, np.int32)
    kernel(cuda.InOut(x), grid=(1, 1), block=(64, 1, 1))
    assert (x == 2 * np.arange(64)).all()


def test_the_host_sees_every_generation(dynamic) -> None:
    """The next kernel in the host's stream begins when grandchildren and their tail launches are complete too."""
    module = dynamic(
        """
        __global__ void leaf(int *x) { atomicAdd(x, 1); }
        __global__ void grow(int *x, int depth)
        {
            if (depth == 0) leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(x);
            else grow<<<1, 3>>>(x, depth - 1);
        }
        __global__ void copy(int *to, const int *from) { *to = *from; }
        """
    )
    x, seen = cuda.mem_alloc(4), cuda.mem_alloc(4)
    cuda.memset_d32(x, 0, 1)
    module.get_function("grow")(x, np.int32(4), grid=(1, 1), block=(3, 1, 1))
    module.get_function("copy")(seen, x, grid=(1, 1), block=(1, 1, 1))
    result = np.empty(1, np.int32)
    cuda.memcpy_dtoh(result, seen)
    assert result[0] == 3**5


def test_tail_launches_come_last_and_in_order(dynamic, names) -> None:
    kernel = dynamic(
        LOG
        + """
        __global__ void middle(Log *log)
        {
            child<<<1, 32, 0, cudaStreamTailLaunch>>>(log, 22);
            child<<<1, 32>>>(log, 21);
            write(log, 20);
        }
        __global__ void parent(Log *log)
        {
            child<<<1, 32, 0, cudaStreamTailLaunch>>>(log, 91);
            middle<<<1, 1, 0, cudaStreamTailLaunch>>>(log);
            child<<<1, 32, 0, cudaStreamTailLaunch>>>(log, 92);
            child<<<1, 32, 0, cudaStreamFireAndForget>>>(log, 2);
            child<<<1, 32>>>(log, 3);
            write(log, 1);
        }
        """
    ).get_function("parent")
    assert names(kernel) == [1, 2, 3, 91, 20, 21, 22, 92]


def test_a_chain_of_tail_launches_has_no_limit(dynamic, names) -> None:
    kernel = dynamic(
        """
        __global__ void step(int *count, int left)
        {
            *count += 1;
            if (left > 1) step<<<1, 1, 0, cudaStreamTailLaunch>>>(count, left - 1);
        }
        """
    ).get_function("step")
    count = np.zeros(1, np.int32)
    kernel(cuda.InOut(count), np.int32(500), grid=(1, 1), block=(1, 1, 1))
    assert count[0] == 500


def test_a_stream_keeps_its_order_and_an_event_that_of_two(dynamic, names) -> None:
    kernel = dynamic(
        LOG
        + """
        __global__ void parent(Log *log)
        {
            cudaStream_t one, other;
            cudaEvent_t event;
            cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
            cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
            child<<<1, 1, 0, one>>>(log, 1);
            child<<<1, 1, 0, one>>>(log, 2);
            cudaEventRecord(event, one);
            cudaStreamWaitEvent(other, event, 0);
            child<<<1, 1, 0, other>>>(log, 3);
            child<<<1, 1, 0, cudaStreamPerThread>>>(log, 4);
            if (cudaGetLastError() != cudaSuccess) write(log, -1);
            cudaEventDestroy(event);
            cudaStreamDestroy(one);
            cudaStreamDestroy(other);
        }
        """
    ).get_function("parent")
    assert names(kernel) == [1, 2, 3, 4]


def test_memory_of_the_device_runtime(dynamic) -> None:
    """What one child allocates the next one uses; copies and fills keep their place in the stream."""
    kernel = dynamic(
        """
        __device__ int *scratch;
        __global__ void allocate() { cudaMalloc(&scratch, 256 * sizeof(int)); }
        __global__ void fill(int bias) { scratch[threadIdx.x] = threadIdx.x + bias; }
        __global__ void copy_out(int *out) { cudaMemcpyAsync(out, scratch, 1024, cudaMemcpyDeviceToDevice, 0); }
        __global__ void release() { cudaFree(scratch); }
        __global__ void parent(int *out)
        {
            allocate<<<1, 1>>>();
            fill<<<1, 256>>>(1000);
            copy_out<<<1, 1>>>(out);
            release<<<1, 1>>>();
            cudaMemsetAsync(out + 2, 0xff, 8, 0);
            cudaMemset2DAsync(out + 16, 64, 0, 4, 3, 0);
            cudaMemcpy2DAsync(out + 5, 64, out + 4, 64, 4, 2, cudaMemcpyDefault, 0);
        }
        """
    ).get_function("parent")
    out = np.zeros(256, np.int32)
    kernel(cuda.Out(out), grid=(1, 1), block=(1, 1, 1))
    wanted = np.arange(256) + 1000
    wanted[2:4] = -1
    wanted[[16, 32, 48]] = 0
    wanted[[5, 21]] = wanted[[4, 20]]
    assert (out == wanted).all()


def test_threads_and_blocks_all_launch(dynamic) -> None:
    kernel = dynamic(
        """
        __global__ void child(int *x, int i) { atomicAdd(x + i, blockIdx.x + 1); }
        __global__ void parent(int *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; child<<<3, 1>>>(x, i); }
        """
    ).get_function("parent")
    x = np.zeros(400, np.int32)
    kernel(cuda.InOut(x), grid=(10, 1), block=(40, 1, 1))
    assert (x == 1 + 2 + 3).all()


def test_large_and_padded_arguments(dynamic) -> None:
    kernel = dynamic(
        """
        struct Big { char c; double d[100]; short s; };
        __global__ void child(double *out, char before, Big big, char after)
        {
            out[threadIdx.x] = big.d[threadIdx.x] + before + big.c + big.s + after;
        }
        __global__ void parent(double *out)
        {
            Big big{1, {}, 300};
            for (int i = 0; i < 100; i++) big.d[i] = i * 0.5;
            child<<<1, 100>>>(out, 2, big, 3);
        }
        """
    ).get_function("parent")
    out = np.full(100, np.nan)
    kernel(cuda.InOut(out), grid=(1, 1), block=(1, 1, 1))
    assert (out == np.arange(100) * 0.5 + 306).all()


def test_shared_memory_of_a_child(dynamic) -> None:
    kernel = dynamic(
        """
        __global__ void reverse(int *x)
        {
            extern __shared__ int s[];
            s[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
        }
        __global__ void parent(int *x)
        {
            extern __shared__ int own[];
            own[threadIdx.x] = 7;
            __syncthreads();
            if (threadIdx.x == 0) reverse<<<1, 256, 1024>>>(x);
            __syncthreads();
            x[256 + threadIdx.x] = own[threadIdx.x];
        }
        """
    ).get_function("parent")
    x = np.arange(288, dtype=np.int32)
    kernel(cuda.InOut(x), grid=(1, 1), block=(32, 1, 1), shared=128)
    assert (x[:256] == np.arange(256)[::-1]).all()
    assert (x[256:] == 7).all()


def test_a_parent_that_spins_for_its_child(dynamic) -> None:
    """CUDA promises nothing here, but on a GPU it works."""
    kernel = dynamic(
        """
        __global__ void child(volatile int *flag) { *flag = 1; }
        __global__ void parent(volatile int *flag) { child<<<1, 1>>>(flag); while (*flag == 0); *flag = 2; }
        """
    ).get_function("parent")
    flag = np.zeros(1, np.int32)
    kernel(cuda.InOut(flag), grid=(1, 1), block=(1, 1, 1))
    assert flag[0] == 2


ERRORS = """
__global__ void child(int *x) { atomicAdd(x, 1); }
__global__ void parent(int *errors, int *x)
{
    child<<<1, 2048>>>(x);                        errors[0] = cudaGetLastError();
    child<<<0, 1>>>(x);                           errors[1] = cudaPeekAtLastError();
    child<<<1, 32, 300000>>>(x);                  errors[2] = cudaGetLastError();
    child<<<1, 1, 0, (cudaStream_t)77777>>>(x);   errors[3] = cudaGetLastError();
    cudaStream_t s;
    cudaEvent_t e;
    errors[4] = cudaStreamCreateWithFlags(&s, cudaStreamDefault);
    errors[5] = cudaEventCreateWithFlags(&e, cudaEventDefault);
    errors[6] = cudaMemsetAsync(&s, 0, 8, 0);
    child<<<1, 1>>>(x);                           errors[7] = cudaGetLastError();
                                                  errors[8] = cudaGetLastError();
}
"""


def test_errors_are_the_threads_own(dynamic) -> None:
    """A launch that is refused is left out, and says so until cudaGetLastError is asked."""
    kernel = dynamic(ERRORS).get_function("parent")
    errors, count = np.full(9, -1, np.int32), np.zeros(1, np.int32)
    kernel(cuda.InOut(errors), cuda.InOut(count), grid=(1, 1), block=(1, 1, 1))
    assert errors[:4].tolist() == [INVALID_CONFIGURATION, INVALID_CONFIGURATION, INVALID_VALUE, INVALID_HANDLE]
    assert errors[4:].tolist() == [INVALID_VALUE] * 3 + [INVALID_VALUE, SUCCESS]
    assert count[0] == 1


def test_launches_nest_24_deep(dynamic) -> None:
    kernel = dynamic(
        """
        __global__ void nest(int *deepest, int *error, int depth)
        {
            *deepest = depth;
            nest<<<1, 1>>>(deepest, error, depth + 1);
            if (cudaError_t failed = cudaGetLastError()) *error = failed;
        }
        """
    ).get_function("nest")
    deepest, error = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel(cuda.InOut(deepest), cuda.InOut(error), np.int32(0), grid=(1, 1), block=(1, 1, 1))
    assert (deepest[0], error[0]) == (24, MAX_DEPTH)


PENDING = """
__global__ void child(int *count) { atomicAdd(count, 1); }
__global__ void parent(int *count, int *refused)
{
    for (int i = 0; i < 3; i++) {
        child<<<1, 1>>>(count);
        if (cudaGetLastError() == cudaErrorLaunchOutOfResources) atomicAdd(refused, 1);
    }
}
"""


def test_no_more_launches_wait_than_the_limit_says(dynamic, raw) -> None:
    kernel = dynamic(PENDING).get_function("parent")
    pending_launches = 4  # CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT

    def run() -> tuple[int, int]:
        count, refused = np.zeros(1, np.int32), np.zeros(1, np.int32)
        kernel(cuda.InOut(count), cuda.InOut(refused), grid=(2, 1), block=(1000, 1, 1))
        return int(count[0]), int(refused[0])

    assert run() == (2 * 2048, 2 * 952)  # a block's children begin when it has ended
    raw.cuCtxSetLimit(pending_launches, 4096)
    try:
        assert run() == (6000, 0)
    finally:
        raw.cuCtxSetLimit(pending_launches, 2048)


def test_questions_that_kernels_ask(dynamic) -> None:
    kernel = dynamic(
        """
        __global__ void __launch_bounds__(128) child(int *) {}
        __global__ void parent(int *out)
        {
            int n = 0;
            size_t bytes;
            cudaFuncAttributes attributes;
            cudaGetDevice(out + n++);
            cudaGetDeviceCount(out + n++);
            cudaDeviceGetAttribute(out + n++, cudaDevAttrWarpSize, 0);
            cudaDeviceGetAttribute(out + n++, cudaDevAttrMultiProcessorCount, 0);
            cudaDeviceGetLimit(&bytes, cudaLimitDevRuntimePendingLaunchCount);
            out[n++] = bytes;
            cudaFuncGetAttributes(&attributes, child);
            out[n++] = attributes.maxThreadsPerBlock;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(out + n++, child, 128, 0);
            cudaRuntimeGetVersion(out + n++);
            const char *text = cudaGetErrorString(cudaErrorInvalidValue), *name = cudaGetErrorName(cudaSuccess);
            out[n++] = text[0] == 'i' && name[4] == 'S';
        }
        """
    ).get_function("parent")
    out = np.full(9, -1, np.int32)
    kernel(cuda.InOut(out), grid=(1, 1), block=(1, 1, 1))
    multiprocessors = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
    assert out.tolist() == [0, 1, 32, multiprocessors, 2048, 128, 16, 13000, 1]


@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_every_run_is_the_same(dynamic, names, monkeypatch, seed) -> None:
    monkeypatch.setenv("SOFTCUDA_SEED", seed)
    kernel = dynamic(
        LOG + "__global__ void parent(Log *log) { child<<<2, 32>>>(log, blockIdx.x * blockDim.x + threadIdx.x); }"
    ).get_function("parent")
    first = names(kernel, grid=(3, 1), block=(5, 1, 1))
    assert sorted(first) == sorted(list(range(15)) * 2)
    assert names(kernel, grid=(3, 1), block=(5, 1, 1)) == first
