"""Three operators for PyTorch: how their kernels are launched, and what PyTorch has to know about them."""

import contextlib
import ctypes
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # the context that torch uses too
import pycuda.driver as cuda
import torch
import warpbench as wb
from torch import Tensor

THREADS = 256  # per block
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the default stream
TYPES = {torch.float32: "float", torch.float64: "double"}
checking = False  # whether new tensors are filled with NaN, so that elements which no kernel writes are noticed


# --8<-- [start:launch]
@functools.cache
def kernel(name: str, dtype: torch.dtype) -> Any:
    return wb.module("torch-operator/ops.cu", REAL=TYPES[dtype]).get_function(name)


def launch(name: str, tensors: Sequence[Tensor], numbers: Sequence[int], blocks: int, block: tuple[int, int]) -> None:
    """Run a kernel on the tensors' device, ordered as an operation of PyTorch's is."""
    if not blocks:
        return  # nothing to compute
    with current_context(), addresses(tensors) as found, stream_of(tensors[0]) as stream:
        arguments = [*map(np.uintp, found), *map(np.int64, numbers)]
        kernel(name, tensors[0].dtype)(*arguments, grid=(blocks, 1), block=(*block, 1), stream=stream)


@contextlib.contextmanager
def current_context() -> Iterator[None]:
    """Make the context current: PyTorch computes gradients in threads of its own, where PyCUDA has none yet."""
    pycuda.autoprimaryctx.context.push()
    try:
        yield
    finally:
        pycuda.autoprimaryctx.context.pop()


# --8<-- [end:launch]


# --8<-- [start:addresses]
driver = ctypes.CDLL("libcuda.so.1")  # loaded already; register_host_memory of PyCUDA 2026.1 crashes
driver.cuMemHostRegister_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
driver.cuMemHostUnregister.argtypes = [ctypes.c_void_p]
MAPPED, ALREADY = 2, 712  # CU_MEMHOSTREGISTER_DEVICEMAP, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED


@contextlib.contextmanager
def addresses(tensors: Sequence[Tensor]) -> Iterator[list[int]]:
    """Where a kernel finds the tensors. The CPU's memory is registered meanwhile: on softcuda nothing is copied."""
    held = []
    try:
        for memory in [t.untyped_storage() for t in tensors if t.device.type == "cpu" and t.numel()]:
            code = driver.cuMemHostRegister_v2(memory.data_ptr(), memory.nbytes(), MAPPED)
            if code == 0:
                held.append(memory.data_ptr())
            elif code != ALREADY:
                raise RuntimeError(f"cuMemHostRegister: CUDA error {code}")
        yield [t.data_ptr() for t in tensors]
        if held:
            cuda.Context.synchronize()  # an operation on CPU tensors is done when it returns
    finally:
        for address in held:
            driver.cuMemHostUnregister(address)


# --8<-- [end:addresses]


# --8<-- [start:stream]
@contextlib.contextmanager
def stream_of(tensor: Tensor) -> Iterator[cuda.Stream | None]:
    """A stream of PyCUDA's that waits for the caller's stream, and that the caller's stream waits for."""
    current = torch.cuda.current_stream(tensor.device) if tensor.is_cuda else None
    if current is None or current.cuda_stream == 0:
        yield None  # the default stream, which both know
        return
    own = partner(current.cuda_stream)
    ours = torch.cuda.ExternalStream(own.handle, device=tensor.device)
    ours.wait_stream(current)
    yield own
    current.wait_stream(ours)


@functools.cache
def partner(handle: int) -> cuda.Stream:
    """One for each stream of the callers, so that two of them do not wait for each other."""
    return cuda.Stream(NON_BLOCKING)


# --8<-- [end:stream]


def fresh(like: Tensor, *shape: int, zero: bool = False) -> Tensor:
    if zero:
        return like.new_zeros(shape)
    return like.new_full(shape, float("nan")) if checking else like.new_empty(shape)


def row(channels: int) -> tuple[int, int]:
    """Lanes per point, and points per block: a power of two of lanes, up to a warp."""
    lanes = min(32, 1 << max(0, channels - 1).bit_length())
    return lanes, THREADS // lanes


# --8<-- [start:checks]
def same_kind(*tensors: Tensor) -> None:
    """A kernel sees addresses only, so what it takes for granted is checked before it is launched."""
    first = tensors[0]
    if first.dtype not in TYPES:
        raise TypeError(f"expected float32 or float64, got {first.dtype}")
    for t in tensors:
        if t.dtype != first.dtype or t.device != first.device:
            raise TypeError(f"expected {first.dtype} on {first.device}, got {t.dtype} on {t.device}")
        if not t.is_contiguous():
            raise ValueError(f"a tensor of shape {tuple(t.shape)} is not contiguous")


# --8<-- [end:checks]


# --8<-- [start:gelu]
@torch.library.custom_op("warpbook::gelu", mutates_args=())
def gelu(x: Tensor) -> Tensor:
    same_kind(x)
    out = fresh(x, *x.shape)
    launch("gelu", (x, out), (x.numel(),), -(-x.nbytes // (16 * THREADS)), (THREADS, 1))
    return out


@gelu.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


# --8<-- [end:gelu]


def gelu_single(x: Tensor) -> Tensor:
    """By the kernel with one number per thread; not an operator."""
    same_kind(x)
    out = fresh(x, *x.shape)
    launch("gelu_single", (x, out), (x.numel(),), -(-x.numel() // THREADS), (THREADS, 1))
    return out


# --8<-- [start:trilinear]
@torch.library.custom_op("warpbook::trilinear", mutates_args=())
def trilinear(grid: Tensor, points: Tensor) -> Tensor:
    """grid: [depth, height, width, channels]; points: [count, 3], x y z in cells; out: [count, channels]."""
    same_kind(grid, points)
    if grid.dim() != 4 or min(grid.shape[:3]) < 2 or points.dim() != 2 or points.shape[1] != 3:
        raise ValueError(f"a grid {tuple(grid.shape)} and points {tuple(points.shape)}")
    count, (lanes, rows) = points.shape[0], row(grid.shape[3])
    out = fresh(grid, count, grid.shape[3])
    launch("trilinear", (grid, points, out), (count, *grid.shape), -(-count // rows), (lanes, rows))
    return out


@trilinear.register_fake
def _(grid: Tensor, points: Tensor) -> Tensor:
    return grid.new_empty(points.shape[0], grid.shape[3])


# --8<-- [end:trilinear]


# --8<-- [start:trilinear_backward]
@torch.library.custom_op("warpbook::trilinear_backward", mutates_args=())
def trilinear_backward(grad: Tensor, grid: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    same_kind(grad, grid, points)
    if torch.are_deterministic_algorithms_enabled():
        raise RuntimeError("warpbook::trilinear_backward adds with atomics, in any order")
    count, (lanes, rows) = points.shape[0], row(grid.shape[3])
    grid_grad, point_grad = fresh(grid, *grid.shape, zero=True), fresh(points, count, 3)
    tensors = (grad, grid, points, grid_grad, point_grad)
    launch("trilinear_backward", tensors, (count, *grid.shape), -(-count // rows), (lanes, rows))
    return grid_grad, point_grad


@trilinear_backward.register_fake
def _(grad: Tensor, grid: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(grid), torch.empty_like(points)


def keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


trilinear.register_autograd(
    lambda ctx, grad: trilinear_backward(grad.contiguous(), *ctx.saved_tensors), setup_context=keep_inputs
)
# --8<-- [end:trilinear_backward]


# --8<-- [start:composite]
@torch.library.custom_op("warpbook::composite", mutates_args=())
def composite(tau: Tensor, colour: Tensor, start: Tensor) -> Tensor:
    """tau: [samples]; colour: [samples, 3]; start: [rays + 1], int64; out: [rays, 4], red green blue opacity."""
    same_kind(tau, colour)
    if start.dtype != torch.int64 or start.device != tau.device or colour.shape != (tau.shape[0], 3):
        raise ValueError(f"tau {tuple(tau.shape)}, colour {tuple(colour.shape)}, start {start.dtype}")
    rays = start.shape[0] - 1
    out = fresh(tau, rays, 4)
    launch("composite", (tau, colour, start, out), (rays,), -(-rays // (THREADS // 32)), (THREADS, 1))
    return out


@composite.register_fake
def _(tau: Tensor, colour: Tensor, start: Tensor) -> Tensor:
    return tau.new_empty(start.shape[0] - 1, 4)


@torch.library.custom_op("warpbook::composite_backward", mutates_args=())
def composite_backward(grad: Tensor, out: Tensor, tau: Tensor, colour: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    same_kind(grad, out, tau, colour)
    rays = start.shape[0] - 1
    tau_grad, colour_grad = fresh(tau, *tau.shape), fresh(colour, *colour.shape)
    tensors = (grad, out, tau, colour, start, tau_grad, colour_grad)
    launch("composite_backward", tensors, (rays,), -(-rays // (THREADS // 32)), (THREADS, 1))
    return tau_grad, colour_grad


@composite_backward.register_fake
def _(grad: Tensor, out: Tensor, tau: Tensor, colour: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(tau), torch.empty_like(colour)


composite.register_autograd(
    lambda ctx, grad: (*composite_backward(grad.contiguous(), *ctx.saved_tensors), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output, *inputs),
)
# --8<-- [end:composite]
