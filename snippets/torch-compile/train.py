"""The gradients of a training step: compiled, eager, and eager in double precision; and what each keeps for backward.

python train.py   one step of the model of the article with a loss of fresh random weights
"""

import warpbench as wb
from _gate import case, torch

ROWS, WIDTH = 64, 256


# --8<-- [start:step]
def step(model, x, weights):
    """The gradients of a loss for scale, shift and x."""
    x = x.clone().requires_grad_()
    loss = (model(x) * weights).sum()
    return torch.autograd.grad(loss, [model.scale, model.shift, x])


# --8<-- [end:step]
# --8<-- [start:kept]
def kept_for_backward(run, model, x):
    """Bytes of the tensors that autograd keeps between forward and backward, besides parameters and input."""
    given = {tensor.data_ptr() for tensor in (x, *model.parameters())}
    kept = {}

    def pack(tensor):
        if tensor.data_ptr() not in given:
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run(x)
    del result
    return sorted(kept.values())


# --8<-- [end:kept]


def compare():
    model, x = case(ROWS, WIDTH)
    weights = torch.randn_like(x)
    torch._dynamo.reset()
    compiled = torch.compile(model)
    got, eager = step(compiled, x, weights), step(model, x, weights)
    exact = type(model)(WIDTH).to(x.device).double()
    exact.load_state_dict(model.state_dict())
    want = step(exact, x.double(), weights.double())
    for name, ours, theirs, true in zip(("scale", "shift", "x"), got, eager, want, strict=True):
        # A sum of up to 256 terms, each of some twenty roundings, by the largest: 1e-5 is 168 units of 2^-24.
        bound = 1e-5 * float(true.abs().max())
        for what, gradient in (("compiled", ours), ("eager", theirs)):
            wb.check(gradient.cpu().numpy(), true.cpu().numpy(), bound, what=f"{name}, {what}")
        print(f"gradient of {name:6} compiled and eager agree with float64 to 1e-5 of its largest element")
    for what, run in (("eager", model), ("compiled", torch.compile(model))):
        sizes = kept_for_backward(run, model, x.clone().requires_grad_())
        print(f"{what:9} keeps {sum(sizes):8,} bytes: {', '.join(f'{size:,}' for size in sizes)}")


if __name__ == "__main__":
    compare()
