"""Kernels of every kind give what NumPy gives, on devices of three generations; Triton's interpreter takes longer."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest
import settings
from cases import CASES, FLOAT8

MISTAKEN = {"bfloat16_rounding", "bfloat16_sum", "rms_norm", "dot_bfloat16"}  # in the interpreter: bfloat16
TIMES_THE_INTERPRETER = 3
LEFT_OUT = {"a100": FLOAT8, "rtx4090": set(), "h200": set()}


@functools.cache
def timed(**changes: str) -> dict[str, dict]:
    """What timed.py found, by case."""
    names = sorted(CASES.keys() - LEFT_OUT.get(changes.get("SOFTCUDA_DEVICE", ""), set()))
    done = subprocess.run([sys.executable, settings.HERE / "timed.py", *names], capture_output=True, text=True,
                          env=settings.environment(**changes), timeout=250)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("device", "name"), [(device, name) for device in LEFT_OUT for name in CASES if name not in LEFT_OUT[device]]
)
def test_a_kernel_gives_what_numpy_gives(device, name):
    assert timed(SOFTCUDA_DEVICE=device)[name]["wrong"] == []


@pytest.mark.parametrize("name", CASES)
def test_it_is_no_slower_than_the_interpreter_allows(name):
    """The second launch, when both have compiled or read what they need."""
    soft, interpreted = timed(SOFTCUDA_DEVICE="h200")[name], timed(TRITON_INTERPRET="1")[name]
    assert soft["seconds"] <= TIMES_THE_INTERPRETER * interpreted["seconds"]


@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_agrees_but_for_bfloat16(name):
    """So these cases are right, and where the interpreter is not, softcuda is."""
    assert bool(timed(TRITON_INTERPRET="1")[name]["wrong"]) == (name in MISTAKEN)


def test_hopper_gets_its_own_instructions(tmp_path):
    """What ran above is wgmma and tensor copies, not what an older device would get."""
    cache = tmp_path / "kernels"
    done = subprocess.run([sys.executable, settings.HERE / "timed.py", "described_product"], capture_output=True,
                          env=settings.environment(SOFTCUDA_DEVICE="h200", TRITON_CACHE_DIR=str(cache)))  # fmt: skip
    assert done.returncode == 0, done.stderr
    [image] = cache.glob("*/described_product.cubin")
    assert "wgmma.mma_async" in image.read_text() and "cp.async.bulk.tensor" in image.read_text()


def test_what_is_missing_is_refused_by_name(run):
    start = f"import sys; sys.path.insert(0, {str(settings.HERE)!r})\n"
    start += "import numpy as np, places, pycuda.autoprimaryctx\nfrom cases import CASES\n"
    done = run(start + "CASES['dot_tf32'](places.on_device)[0]()", SOFTCUDA_DEVICE="b200")
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: Triton Error [CUDA]: a PTX JIT compilation failed: ")
    assert "tcgen05" in last and "kernels.py:" in last
