"""Programs that others wrote, which are not in this repository: `CUDA_PROGRAMS=FOLDER` names where they are.

    git clone https://github.com/NVIDIA/cuda-samples FOLDER/cuda-samples
    git clone https://github.com/karpathy/llm.c      FOLDER/llm.c
    git clone https://github.com/siboehm/SGEMM_CUDA  FOLDER/SGEMM_CUDA
    git clone https://github.com/NVIDIA/cutlass      FOLDER/cutlass

They are compiled as they are; of llm.c and SGEMM_CUDA, copies with smaller matrices and fewer repetitions.  Those two
include cuBLAS: outside/ has the little that they need of it.  All check their own results; CUTLASS's examples have no
check, and get one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import native
import pytest

FOLDER = os.environ.get("CUDA_PROGRAMS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="CUDA_PROGRAMS=FOLDER names where programs of others are")
STAND_INS = Path(__file__).parent / "outside"

# Of the folders 0_Introduction and 2_Concepts_and_Techniques: each with what it prints when all is well.
SAMPLES = {
    "asyncAPI": "time spent by CPU",
    "clock": "Average clocks/block",
    "cudaOpenMP": "uses CUDA device 0",
    "fp16ScalarProduct": "PASSED",
    "inlinePTX": "Test Successful",
    "matrixMul": "Result = PASS",
    "mergeSort": "stability property: stable!",
    "convolutionSeparable": "Test passed",
    "histogram": "Test passed",
    "interval": "Check against Host computation",
    "reduction": "Test passed",
    "scalarProd": "Test passed",
    "simpleAWBarrier": "Result = PASSED",
    "simpleAssert": "returned OK",
    "simpleAtomicIntrinsics": "returned OK",
    "simpleOccupancy": "Test PASSED",
    "simpleMultiCopy": "Overlapped using",
    "simplePrintf": "printf() is called",
    "simpleTemplates": "Test Results: 0 Failures",
    "simpleVoteIntrinsics": "OK",
    "simpleZeroCopy": "Releasing CPU memory",
    "streamOrderedAllocation": "streamOrderedAllocationPostSync PASSED",
    "systemWideAtomics": "returned OK",
    "template": "Processing time",
    "vectorAdd": "Test PASSED",
}
# What the rest of them wants, by what softcuda or nvcc says of it.
REFUSED = {
    "convolutionTexture": "cudaCreateTextureObject: not supported (textures and surfaces)",
    "simpleTexture": "not supported (textures and surfaces)",
}


def softcuda(*words: str | Path, cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    called = [sys.executable, "-m", "softcuda", *words]
    environment = native.clean_environment()
    return subprocess.run(
        called, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace", timeout=timeout
    )


def sample(name: str) -> tuple[Path, list[str]]:
    [folder] = Path(FOLDER, "cuda-samples", "Samples").glob(f"*/{name}")
    sources = [path.name for path in sorted(folder.iterdir()) if path.suffix in (".cu", ".cpp")]
    return folder, [*sources, f"-I{folder.parents[1].parent / 'Common'}", "-I.", "-std=c++17", "-Xcompiler=-fopenmp"]


@pytest.mark.parametrize("name", [*SAMPLES, *REFUSED])
def test_cuda_samples(tmp_path, name):
    folder, words = sample(name)
    done = softcuda("nvcc", *words, "-o", tmp_path / name, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = softcuda("run", tmp_path / name, cwd=folder)
    if name in REFUSED:
        assert REFUSED[name] in done.stderr
    else:
        assert (done.returncode, SAMPLES[name] in done.stdout) == (0, True), done.stdout + done.stderr


def smaller(text: str) -> str:
    text = re.sub(r"\bint repeat_times = \d+", "int repeat_times = 1", text)
    text = re.sub(r"\bint B = \d+", "int B = 2", text)
    text = re.sub(r"\bint T = \d+", "int T = 64", text)
    text = re.sub(r"\bint V = \d+", "int V = 1027", text)
    return re.sub(r"SIZE = \{[\d, ]+\}", "SIZE = {256}", text)  # the largest tile of its kernels


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    for path in to.rglob("*.cu*"):
        path.write_text(smaller(path.read_text()))
    return to


@pytest.fixture(scope="module")
def sgemm(tmp_path_factory) -> Path:
    folder = copied(Path(FOLDER, "SGEMM_CUDA"), tmp_path_factory.mktemp("sgemm") / "SGEMM_CUDA")
    sources = ["sgemm.cu", "src/runner.cu", "-Isrc", f"-I{STAND_INS}", "-O3"]
    done = softcuda("nvcc", *sources, "-o", "sgemm", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kernel", [*range(1, 8), *range(9, 13)])  # the runner has no 8
def test_siboehms_kernels(sgemm, kernel):
    done = softcuda("run", "./sgemm", str(kernel), cwd=sgemm)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "size: (256)" in done.stdout


LLM = [
    "adamw",
    "crossentropy_forward",
    "crossentropy_softmax_backward",
    "encoder_backward",
    "encoder_forward",
    "fused_residual_forward",
    "gelu_backward",
    "gelu_forward",
    "global_norm",
    "layernorm_backward",
    "layernorm_forward",
    "matmul_backward_bias",
    "permute",
    "residual_forward",
    "softmax_forward",
]

# Kernels of these that are left out, and why.
LEFT_OUT = {
    ("softmax_forward", 4): "a race, which softcuda check reports: one warp still reads what another one overwrites",
    ("fused_residual_forward", 2): "reads past the end where the block size does not divide the tokens: idx > N",
    ("global_norm", 4): "asserts that there are fewer than 1,024 blocks, and has more on a device with 132 SMs",
    (
        "matmul_backward_bias",
        8,
    ): "shuffles with lanes that have left the loop, where a block is a warp (softcuda check)",
    ("matmul_backward_bias", 9): "writes past the end of its buffer where many small blocks fit on the device",
    ("layernorm_backward", 8): "leaves out the last 64 of the 1,600 channels, which it takes 256 at a time",
    ("layernorm_backward", 9): "asserts that there are a multiple of 256 channels, and has 1,600",
    ("layernorm_backward", 10): "keeps a flag behind the end of its shared memory, where a block is a warp",
}


@pytest.mark.parametrize("name", LLM)
def test_llm_c(tmp_path, name):
    folder = copied(Path(FOLDER, "llm.c", "dev", "cuda"), tmp_path / "cuda")
    source = (folder / f"{name}.cu").read_text()
    done = softcuda("nvcc", f"{name}.cu", "-O3", "--use_fast_math", f"-I{STAND_INS}", "-o", name, cwd=folder)
    assert done.returncode == 0, done.stderr
    for kernel in sorted(set(map(int, re.findall(r"\bcase (\d+):", source)))) or [1]:
        if (name, kernel) in LEFT_OUT:
            continue
        done = softcuda("run", f"./{name}", str(kernel), cwd=folder)
        said = done.stdout + done.stderr
        if "Invalid kernel number" in said or "only supported for fp32" in said:  # compiled for bfloat16
            continue
        assert (done.returncode, "mismatch" in said.lower()) == (0, False), f"{kernel}: {said}"


# Of CUTLASS: what `softcuda check` says of each.  In wgmma_sm90.cu no barrier and no proxy fence stands between the
# copies of other threads and the products that read them.
HOPPER = {"wgmma_sm90": "no fence.proxy.async before a wgmma", "wgmma_tma_sm90": "nothing found"}
COMPARED = """thrust::host_vector<TC> cute_result = d_C;
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int q = 0; q < k; ++q) {
        float a = h_A[transA == 'N' ? i + q * m : q + i * k], b = h_B[transB == 'T' ? j + q * n : q + j * k];
        sum += double(a) * b;
      }
      wrong += !(std::abs(float(cute_result[i + j * m]) - sum) <= 1e-3 * (1 + std::abs(sum)));
    }
  printf("%d wrong\\n", wrong);"""


@pytest.mark.parametrize("name", HOPPER)
def test_cutes_products_on_hopper(tmp_path, name):
    cutlass = Path(FOLDER, "cutlass")
    text = (cutlass / "examples" / "cute" / "tutorial" / "hopper" / f"{name}.cu").read_text()
    text = text.replace("timing_iterations = 100", "timing_iterations = 1")
    (tmp_path / f"{name}.cu").write_text(text.replace("thrust::host_vector<TC> cute_result = d_C;", COMPARED))
    words = ["-arch=sm_90a", "-std=c++17", "-O2", "--expt-relaxed-constexpr"]
    include = [f"-I{cutlass / 'include'}", f"-I{cutlass / 'tools' / 'util' / 'include'}"]
    done = softcuda("nvcc", *words, *include, f"{name}.cu", "-o", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for layout in ("NT", "TN"):
        done = softcuda("run", f"./{name}", "256", "256", "128", *layout, cwd=tmp_path)
        assert done.returncode == 0 and "\n0 wrong" in "\n" + done.stdout, done.stdout + done.stderr
    done = softcuda("check", f"./{name}", "256", "256", "128", *"NT", cwd=tmp_path)
    assert HOPPER[name] in done.stdout + done.stderr
