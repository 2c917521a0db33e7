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


def hold(model: Gate, x: torch.Tensor, result: torch.Tensor, what: str = "result") -> float:
    """Hold the result, or 256 random rows of it, against the same model in float64."""
    rows = torch.randint(len(x), (256,), device=x.device) if len(x) > 256 else torch.arange(len(x), device=x.device)
    exact = Gate(x.shape[-1]).to(x.device).double()
    exact.load_state_dict(model.state_dict())
    chosen = x[rows].detach().double()
    with torch.no_grad():
        numbers = (result.detach()[rows], exact(chosen), forward_bound(exact, chosen))
    return wb.check(*(each.cpu().numpy() for each in numbers), what=what)


def versions() -> str:
    import triton

    return f"PyTorch {torch.__version__}, Triton {triton.__version__}"


# --8<-- [start:bound]
def forward_bound(model: Gate, x: torch.Tensor) -> torch.Tensor:
    """How far float32 may lie from the exact result, for each element; to be asked of a model in float64.

    Before the norm: product, sum, sigmoid (4 units are allowed for it), product and sum round terms of at most `terms`,
    which twelve units of 2^-24 cover. The norm moves as its mean of `width` squares does.
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
