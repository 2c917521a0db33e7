"""The model of this article, and where its tensors live: on a GPU, or in memory that PyTorch shares with softcuda."""

import pycuda.autoprimaryctx  # noqa: F401  the context that PyTorch uses too
import warpbench as wb

wb.needs(packages=("torch", "triton"))
import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._functorch.config  # noqa: E402
import torch._inductor.config  # noqa: E402

if not wb.is_gpu():
    import softcuda.torch  # noqa: F401  Inductor writes Triton for CPU tensors, softcuda runs it
    import torch._inductor.graph

    # As for a GPU's tensors: inputs begin at multiples of 16 bytes, so loads may be vectors. `case` checks it.
    torch._inductor.graph.should_assume_input_aligned = lambda _: True

DEVICE = "cuda" if wb.is_gpu() else "cpu"
# Each process compiles for itself: what another one left in a cache must not change what is shown and timed here.
torch._inductor.config.fx_graph_cache = False
torch._functorch.config.enable_autograd_cache = False
torch._dynamo.config.automatic_dynamic_local_pgo = False
ROWS, WIDTH = 64, 256


# --8<-- [start:model]
class Gate(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(width))
        self.shift = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        h = x * self.scale + self.shift
        h = h * torch.sigmoid(h) + x
        return h / (h.square().mean(-1, keepdim=True) + 1e-6).sqrt()


# --8<-- [end:model]


def case(rows: int = ROWS, width: int = WIDTH) -> tuple[Gate, torch.Tensor]:
    """A model and an input of fresh random numbers, on the device."""
    model, x = Gate(width).to(DEVICE), torch.randn(rows, width, device=DEVICE)
    assert not any(tensor.data_ptr() % 16 for tensor in (x, *model.parameters()))
    return model, x


# --8<-- [start:bound]
def forward_bound(model: Gate, x: torch.Tensor) -> torch.Tensor:
    """How far float32 may lie from the exact result, for each element; to be asked of a model in float64.

    h comes from seven roundings at most (two of the affine part, sigmoid with four for itself, its product, the
    sum) of terms no larger than `terms`; the norm adds what a mean of `width` squares adds, once relative to the result.
    """
    u = 2.0**-24
    affine = (x * model.scale).abs() + model.shift.abs()
    terms = affine + x.abs()
    h = x * model.scale + model.shift
    h = h * torch.sigmoid(h) + x
    norm = (h.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    error = 12 * u * terms
    drift = (h.abs() * error).mean(-1, keepdim=True) / norm + x.shape[-1] * u * norm
    return (error + h.abs() / norm * drift) / norm + 4 * u * (h / norm).abs()


# --8<-- [end:bound]
