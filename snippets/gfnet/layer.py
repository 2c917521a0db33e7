"""The global filter layer of 14 × 14 tokens: its algebra held against the definition, its kernel against torch.

python layer.py             check; on a GPU also time 1024 images of 384 channels, beside torch's layer and attention
python layer.py --profile   launch the layer and its filter's gradient once for a profiler: 256 images (softcuda: 5)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _algebra import (
    circular,
    effective,
    from_pairs,
    gradients,
    layer,
    mixing,
    padded_taps,
    random_filter,
    resize,
    taps,
)
from _kernels import Direct, Layer14, Square

try:
    import torch
except ImportError:
    torch = None

IMAGES, D = 1024, 384


def planes(x: np.ndarray) -> np.ndarray:
    """Channels last to channels before rows, and taps likewise."""
    return np.ascontiguousarray(np.moveaxis(x, -1, -3))


def tokens(y: np.ndarray) -> np.ndarray:
    """And back."""
    return np.moveaxis(y, -3, -1)


# --8<-- [start:equal]
def gf_equals_circconv(rng: np.random.Generator, H: int, W: int, images: int = 3, channels: int = 5) -> None:
    """FFT, product, FFT back = circular convolution with the filter's taps: NumPy and kernels, fp64 and fp32."""
    x = rng.standard_normal((images, H, W, channels), np.float32)
    K = random_filter(rng, H, W, channels)
    k, exact = taps(K, W), x.astype(np.float64)
    want = layer(exact, K)
    found = {
        "NumPy, by definition": (circular(exact, k), 5e-15),
        "kernel, by definition, fp64": (tokens(Direct(planes(k), np.float64)(planes(exact))), 5e-15),
        "kernel, by definition": (tokens(Direct(planes(k))(planes(x))), 1e-5),
    }
    if (H, W) == (14, 14):
        found["kernel, FFT of 14"] = Layer14(k)(x), 1e-5
    if H == W and H in (2, 4, 8, 16, 32, 64):
        found["kernel, FFT"] = tokens(Square(planes(k))(planes(x))), 1e-5
    print(f"{H} × {W}")
    for name, (got, share) in found.items():
        wb.check(got, want, share * np.abs(want).max(), f"{name} of {H} × {W}")
        print(f"    {name:28} within {share:.0e} of the largest output")


# --8<-- [end:equal]


# --8<-- [start:backward]
def gf_backward(rng: np.random.Generator, images: int = 3, channels: int = 3) -> None:
    """The gradients of a loss, against central differences in every stored number, and the kernels against NumPy."""
    x, K = rng.standard_normal((images, 14, 14, channels)), random_filter(rng, 14, 14, channels)
    c = rng.standard_normal(x.shape)

    def loss(x: np.ndarray, K: np.ndarray) -> np.ndarray:
        return (c * np.tanh(layer(x, K))).sum((0, 1, 2))  # a channel depends on its own filter only

    g = c / np.cosh(layer(x, K)) ** 2
    dx, dK = gradients(x, K, g)
    h = 1e-5
    for part in (1, 1j):
        for u, v in np.ndindex(K.shape[:2]):
            step = np.zeros_like(K)
            step[u, v] = h * part
            slope = (loss(x, K + step) - loss(x, K - step)) / (2 * h)
            wb.check(dK[u, v].real if part == 1 else dK[u, v].imag, slope, 1e-6, f"dK at {u}, {v}")
    for _ in range(20):
        at = tuple(rng.integers(0, size) for size in x.shape)
        step = np.zeros_like(x)
        step[at] = h
        slope = (loss(x + step, K) - loss(x - step, K)).sum() / (2 * h)
        wb.check(dx[at], slope, 1e-6, f"dx at {at}")
    filters, x32, g32 = Layer14(taps(K, 14)), x.astype(np.float32), g.astype(np.float32)
    wb.check(filters(g32, adjoint=True), dx, 1e-4 * np.abs(dx).max(), "dx of the kernel")
    wb.check(from_pairs(filters.dk(x32, g32)), dK, 1e-4 * np.abs(dK).max(), "dK of the kernel")
    print(
        f"{2 * K[..., 0].size} slopes a channel and 20 of the input: within 1e-6; kernels: within 1e-4 of the largest"
    )


# --8<-- [end:backward]


def effective_params() -> None:
    """Real numbers stored, and those that matter, by rank."""
    for H, W in ((14, 14), (7, 10), (5, 9), (1, 1)):
        stored, rank = effective(H, W)
        if rank != H * W:
            raise AssertionError(f"{H} × {W}: rank {rank}")
        print(f"{H:2} × {W:<2}  stored {stored:3}, effective {rank:3}")
    stored, rank = effective(14, 14)
    wb.value("filter.stored", stored, "count")
    wb.value("filter.effective", rank, "count")


def costs() -> None:
    """The paper's table as curves, at D = 384, and the ratio at 14 × 14."""
    sides = (7, 10, 14, 20, 28, 40, 56)
    names = {
        "attention": "self-attention",
        "mlp": "spatial MLP",
        "filter": "global filter",
        "conv": "depthwise convolution",
    }
    for short, name in names.items():
        wb.series(f"table.{short}", sides, [mixing(name, s, s, D)[0] for s in sides], x_unit="1", unit="1")
    for short in ("attention", "filter"):
        wb.value(f"table.{short}.at14", mixing(names[short], 14, 14, D)[0], "1")


def resize_as_torch(rng: np.random.Generator) -> None:
    """The interpolation is the one that the authors' code asks torch for."""
    if torch is None:
        print("no torch: the interpolation is not held against its own")
        return
    K = random_filter(rng, 14, 14, 3)
    parts = torch.tensor(planes(np.stack((K.real, K.imag))))
    want = torch.nn.functional.interpolate(parts, size=(24, 13), mode="bicubic", align_corners=True).numpy()
    mine = resize(K, 24)
    wb.check(planes(np.stack((mine.real, mine.imag))), want, 1e-12 * np.abs(want).max(), "bicubic interpolation")
    print("14 × 8 to 24 × 13: as torch's bicubic interpolation")


def pictures() -> None:
    """Filters in both domains: an edge at 14 × 14, and what two ways make of it at 24 × 24."""
    k = edge(14)
    K = np.fft.rfft2(k, axes=(0, 1))
    offsets = [str(i) for i in range(-7, 7)]
    wb.matrix("edge.taps", np.fft.fftshift(k[..., 0]), rows=offsets, columns=offsets, unit="1")
    rows = [str(i) for i in range(-7, 7)]
    wb.matrix(
        "edge.spectrum", np.fft.fftshift(np.abs(K[..., 0]), 0), rows=rows, columns=[str(i) for i in range(8)], unit="1"
    )
    wide = [str(i) for i in range(-12, 12)]
    for name, made in (("resized", taps(resize(K, 24), 24)), ("padded", padded_taps(K, 14, 24))):
        wb.matrix(f"edge.{name}", np.fft.fftshift(made[..., 0]), rows=wide, columns=wide, unit="1")


def edge(side: int) -> np.ndarray:
    """A slanted edge detector, [side, side, 1], its origin at [0, 0]."""
    h, w = np.meshgrid(*(2 * [np.fft.fftfreq(side, 1 / side)]), indexing="ij")
    across, along = 0.8 * w + 0.6 * h, 0.8 * h - 0.6 * w
    k = np.sin(0.9 * across) * np.exp(-(across**2 + 0.5 * along**2) / 9)
    return (k / np.abs(k).sum())[..., None]


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


class Batch:
    """Random images on the device, and what the layer ought to make of some of them."""

    def __init__(self, rng: np.random.Generator, images: int) -> None:
        self.values = rng.standard_normal((images, 14, 14, D), np.float32)
        self.K = random_filter(rng, 14, 14, D)
        self.filters = Layer14(taps(self.K, 14))
        self.sample = np.unique(np.append(rng.integers(0, images, 6), [0, images - 1]))
        self.wants = layer(self.values[self.sample].astype(np.float64), self.K)
        self.source, self.out = cuda.to_device(self.values), cuda.mem_alloc(self.values.nbytes)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.values.size)

    def check(self, got: np.ndarray, what: str) -> None:
        wb.check(got[self.sample], self.wants, 1e-5 * np.abs(self.wants).max(), what)
        energy = np.abs(got).sum(axis=(1, 2, 3), dtype=np.float64)  # of the other images: nothing left out
        if not (np.abs(energy / energy.mean() - 1) < 0.1).all():
            raise AssertionError(f"{what}: an image is unlike the others")

    def check_out(self, what: str) -> None:
        got = np.empty_like(self.values)
        cuda.memcpy_dtoh(got, self.out)
        self.check(got, what)


def attention(x: "torch.Tensor", heads: int = 6) -> "callable":
    """Multi-head self-attention of x: [images, tokens, D], with its four projections, as ViT and DeiT have it."""
    from torch.nn.functional import linear, scaled_dot_product_attention

    images, tokens, width = x.shape
    into, out = (torch.randn(n * width, width, device="cuda", dtype=x.dtype) / width**0.5 for n in (3, 1))

    def run(_: int = 0) -> "torch.Tensor":
        q, k, v = linear(x, into).view(images, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(q, k, v)
        return linear(mixed.transpose(1, 2).reshape(images, tokens, width), out)

    return run


def time_all(rng: np.random.Generator) -> None:
    batch = Batch(rng, IMAGES)
    moved = 2 * batch.values.nbytes
    times = {"copy14": wb.time(lambda i: cuda.memcpy_dtod_async(batch.out, batch.source, batch.values.nbytes))}
    times["gf14"] = wb.time(
        lambda i: batch.filters.launch(batch.source, batch.out, IMAGES),
        poison=batch.poison,
        check=lambda i: batch.check_out("gf14"),
    )
    if torch is not None:
        with torch.no_grad():
            x = torch.as_tensor(Shared(batch.source, batch.values.shape), device="cuda")
            K = torch.tensor(batch.K.astype(np.complex64), device="cuda")

            def torch_layer(_: int = 0) -> "torch.Tensor":
                spectrum = torch.fft.rfft2(x, dim=(1, 2), norm="ortho") * K
                return torch.fft.irfft2(spectrum, s=(14, 14), dim=(1, 2), norm="ortho")

            batch.check(torch_layer().cpu().numpy(), "torch's layer")
            times["torch14"] = wb.time(torch_layer, repeats=30)
            torch.backends.cuda.matmul.allow_tf32 = False
            tokens = x.view(IMAGES, 196, D)
            for name, kind in (("attention32", torch.float32), ("attention16", torch.bfloat16)):
                times[name] = wb.time(attention(tokens.to(kind)), repeats=20)
            del x, K, tokens
    print(f"\n{IMAGES} images of 14 × 14 × {D}\n{'':16}{'µs':>9}{'10 %':>9}{'90 %':>9}{'GB/s':>8}")
    for name, t in times.items():
        wb.timing(name, t, None if "attention" in name else moved)
        print(f"{name:16}{t.median * 1e6:9.1f}{t.low * 1e6:9.1f}{t.high * 1e6:9.1f}{moved / t.median / 1e9:8.0f}")
    batch.source.free(), batch.out.free()


def profile(rng: np.random.Generator) -> None:
    images = 256 if wb.is_gpu() else 5
    batch = Batch(rng, images)
    batch.poison()
    batch.filters.launch(batch.source, batch.out, images)
    batch.check_out("gf14")
    g = rng.standard_normal(batch.values[:5].shape, np.float32)
    dK = gradients(batch.values[:5].astype(np.float64), batch.K, g.astype(np.float64))[1]
    wb.check(from_pairs(batch.filters.dk(batch.values[:5], g)), dK, 1e-4 * np.abs(dK).max(), "gf14_dk")
    print(f"gf14 of {images} images, gf14_dk of 5: right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        print(f"device: {wb.device()['name']}")
        for H, W in ((14, 14), (32, 32), (1, 1), (1, 31), (7, 10)):
            gf_equals_circconv(generator, H, W)
        gf_backward(generator)
        effective_params()
        resize_as_torch(generator)
        costs()
        pictures()
        if wb.is_gpu():
            time_all(generator)
        else:
            print("no GPU: nothing is timed")
