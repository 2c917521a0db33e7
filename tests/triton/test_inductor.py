"""torch.compile through Triton on softcuda, where PyTorch is installed: `import softcuda.torch`."""

from __future__ import annotations

import importlib.util
import json

import pytest

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs PyTorch, which `make setup-torch` installs"
)


@needs_torch
def test_a_compiled_function_and_its_gradients(run):
    done = run("""
import torch
import softcuda.torch

def loss(x, w):
    return (torch.nn.functional.gelu(x + w).softmax(-1) * x).sum()

x, w = torch.randn(20, 300), torch.randn(20, 300, requires_grad=True)
compiled = torch.compile(loss)(x, w)
[got] = torch.autograd.grad(compiled, w)
plain = loss(x, w)
[want] = torch.autograd.grad(plain, w)
assert torch.allclose(compiled, plain, rtol=1e-4) and torch.allclose(got, want, atol=1e-6)
import triton
print(triton.runtime.driver.active.utils.launch is not None)
""", TORCHINDUCTOR_CACHE_DIR=str(run.folder))  # fmt: skip
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert list(run.folder.glob("**/*.py")), "what Inductor wrote"


@needs_torch
def test_profile_names_the_kernels_that_inductor_wrote(run):
    done = run("""
import torch
import softcuda.torch
x = torch.randn(20, 300)
y = torch.compile(lambda x: torch.nn.functional.gelu(x).softmax(-1))(x)
""", "profile", "--json", "counts.json", TORCHINDUCTOR_CACHE_DIR=str(run.folder))  # fmt: skip
    assert done.returncode == 0, done.stderr
    [launch] = json.loads((run.folder / "counts.json").read_text())
    assert launch["kernel"].startswith("triton_")
    assert any("tl.load" in line["source"] for line in launch["lines"])


def test_without_pytorch_it_is_one_line(run):
    done = run("import sys; sys.modules['torch'] = None\nimport softcuda.torch\n")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == (
        "ImportError: softcuda.torch needs PyTorch and Triton (import of torch halted; None in sys.modules); "
        "it was tried with PyTorch 2.13.0 and Triton 3.9.0"
    )
