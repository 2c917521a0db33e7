"""Compositing of rays of 1 to 256 samples: the kernel on ragged and on padded rays, and the composition on padded ones.

python ragged.py   check and count; on a GPU also time 2^18 rays
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb

wb.needs(packages="torch")
import _count as composed  # noqa: E402
import _ops as ops  # noqa: E402
import torch  # noqa: E402
from kernels import skewed  # noqa: E402
from torch import Tensor  # noqa: E402

MOST = 256


class Rays:
    """The same samples twice: one ray after another, and each ray padded with samples that absorb nothing."""

    def __init__(self, lengths: np.ndarray) -> None:
        device = "cuda" if wb.is_gpu() else "cpu"
        count, lengths = len(lengths), torch.from_numpy(lengths).to(device)
        self.there = torch.arange(MOST, device=device) < lengths[:, None]
        self.start = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        self.even = MOST * torch.arange(count + 1, device=device)
        self.padded_tau = torch.rand(count, MOST, device=device).mul(0.04) * self.there
        self.padded_colour = torch.rand(count, MOST, 3, device=device)
        self.tau, self.colour = self.padded_tau[self.there], self.padded_colour[self.there]
        self.grad = torch.randn(count, 4, device=device)

    def ragged(self) -> Tensor:
        return ops.composite(self.tau, self.colour, self.start)

    def padded(self) -> Tensor:
        return ops.composite(self.padded_tau.view(-1), self.padded_colour.view(-1, 3), self.even)

    def composed(self) -> Tensor:
        return composed.composite(self.padded_tau, self.padded_colour)

    def check(self) -> None:
        """Results and gradients of all three against the composition in double."""
        wide = [t.double().requires_grad_() for t in (self.padded_tau, self.padded_colour)]
        want = composed.composite(*wide)
        grads = torch.autograd.grad(want, wide, self.grad.double())
        for what, got in (("ragged", self.ragged()), ("padded", self.padded()), ("composed", self.composed())):
            wb.check(got.cpu().numpy(), want.detach().cpu().numpy(), 1e-5, what)
        flat = [t.clone().requires_grad_() for t in (self.tau, self.colour)]
        found = torch.autograd.grad(ops.composite(*flat, self.start), flat, self.grad)
        for what, one, other in zip(("optical depth", "colour"), found, grads, strict=True):
            wb.check(one.cpu().numpy(), other[self.there].cpu().numpy(), 1e-4, f"gradient of the {what}")


if __name__ == "__main__":
    ops.checking = True
    for lengths in (np.array([1]), np.array([256, 1, 33]), skewed(200)):
        Rays(lengths).check()
    rays = Rays(skewed(512))
    print(f"mean {len(rays.tau) / 512:.1f} samples of {MOST}: {len(rays.tau) / 512 / MOST:.3f}")
    nbytes = {}
    for name, way in (("composed", rays.composed), ("padded", rays.padded), ("ragged", rays.ragged)):
        found = composed.count(way)
        nbytes[name] = found.bytes // 512
        print(f"{name:9} {found.launches:2} launches, {found.bytes / 512:.0f} bytes per ray")
    ops.checking = False
    if wb.is_gpu():
        wb.needs(memory=16 * 2**30)
        rays = Rays(skewed(2**18))
        for name, way in (("composed", rays.composed), ("padded", rays.padded), ("ragged", rays.ragged)):
            wb.timing(f"rays.{name}", wb.time(lambda _, way=way: way()), nbytes=2**18 * nbytes[name])
    else:
        print("no GPU: nothing is timed")
