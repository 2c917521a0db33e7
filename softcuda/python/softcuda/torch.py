"""`import softcuda.torch`: torch.compile writes Triton kernels for CPU tensors, and softcuda runs them.

Nothing else imports this.  PyTorch calls Triton for the CPU experimental, and what is used of it here is not its public
interface: it was tried with PyTorch 2.13.0 (CPU) and Triton 3.9.0.  Kernels are compiled for compute capability 8.0, in
this process; the device may be any from the a100 on.  It is for looking at what torch.compile writes, not for speed.
"""

from __future__ import annotations

from typing import Any

TRIED = "PyTorch 2.13.0 and Triton 3.9.0"
CAPABILITY = 80


def use_triton_for_cpu() -> None:
    """Set Inductor's CPU backend.  ImportError, one line: softcuda is not in use, or PyTorch has become another."""
    try:
        import torch
        import triton
    except ModuleNotFoundError as error:
        raise ImportError(f"softcuda.torch needs PyTorch and Triton ({error}); it was tried with {TRIED}") from None
    try:
        from torch._dynamo.device_interface import CpuInterface
        from torch._inductor import config
        from triton.backends import Backend, backends
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDABackend

        from softcuda._triton_driver import SoftcudaDriver

        if not isinstance(triton.runtime.driver.active, SoftcudaDriver):
            raise ImportError("softcuda.torch: Triton does not run on softcuda here; set SOFTCUDA=force")

        class Compiler(CUDABackend):
            """Triton's compiler for NVIDIA, under the name that Inductor asks for."""

            @staticmethod
            def supports_target(target: Any) -> bool:
                return target.backend == "cpu"

            def __init__(self, target: Any) -> None:
                super().__init__(GPUTarget("cpu", CAPABILITY, 32))

        config.cpu_backend = "triton"
        config.compile_threads = 1  # in this process, where the backend is known
        CpuInterface.get_compute_capability = staticmethod(lambda device=None: CAPABILITY)
        backends["cpu"] = Backend(Compiler, SoftcudaDriver)
    except (AttributeError, ModuleNotFoundError, TypeError) as error:
        found = f"PyTorch {torch.__version__} and Triton {triton.__version__}"
        raise ImportError(f"softcuda.torch was tried with {TRIED}, not with {found}: {error}") from None


use_triton_for_cpu()
