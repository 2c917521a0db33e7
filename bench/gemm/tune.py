"""Times the kernels of this folder beside cuBLAS, over parameters that are worth trying; needs a Hopper GPU and torch.

    python3 bench/gemm/tune.py RESULTS.json [simt] [tensor]

Prints and keeps a line for each kernel and size: TFLOP/s of ours and of cuBLAS (medians of interleaved pairs), the
median of the pairs' ratios, clocks in MHz, power in W, registers and spills.  Inputs are random.  Each kernel is
compared with float64 first, at sizes that are no multiples of its tile.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pynvml
import torch

HERE = Path(__file__).resolve().parent
TUNED = HERE.parents[1] / "snippets" / "matmul" / "tuned.cu"  # of the article on matrix products
SIZES = 4096, 8192
Run = Callable[[], Any]

cuda = ctypes.CDLL("libcuda.so.1")
torch.zeros(1, device="cuda")  # makes the context that is used below
pynvml.nvmlInit()
GPU = pynvml.nvmlDeviceGetHandleByIndex(0)


def call(name: str, *arguments: Any) -> None:
    if error := getattr(cuda, name)(*arguments):
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(error, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")


# -- building and launching --------------------------------------------------------------------------------------------


def wgmma(n: int, kind: str) -> str:
    """A function mma_KIND_N(d, a, b, accumulate): m64nN of a type, both operands in shared memory, K innermost."""
    shape, types, transposes = {
        "bf16": ("k16", "f32.bf16.bf16", ", 0, 0"),
        "f16": ("k16", "f32.f16.f16", ", 0, 0"),
        "tf32": ("k8", "f32.tf32.tf32", ""),
        "e4m3": ("k32", "f32.e4m3.e4m3", ""),
    }[kind]
    count = n // 2
    d, outputs = ", ".join(f"%{i}" for i in range(count)), ", ".join(f'"+f"(d[{i}])' for i in range(count))
    name = f"void mma_{kind}_{n}(float (&d)[{count}], unsigned long long a, unsigned long long b, int accumulate)"
    return f"""__device__ __forceinline__ {name} {{
    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{count + 2}, 0; "
        "wgmma.mma_async.sync.aligned.m64n{n}{shape}.{types} {{{d}}}, %{count}, %{count + 1}, p, 1, 1{transposes};}}"
        : {outputs} : "l"(a), "l"(b), "r"(accumulate));
}}
"""


def build(variants: dict[str, dict[str, Any]], source: Path, *options: str) -> dict[str, tuple[Path, str]]:
    """The cubin of each variant, and what ptxas says of its registers."""
    folder = Path(tempfile.mkdtemp())
    (folder / "wgmma.h").write_text("".join(wgmma(n, k) for k in ("bf16", "f16", "tf32", "e4m3") for n in (128, 256)))

    def one(name: str) -> tuple[Path, str]:
        cubin = folder / f"{name}.cubin"
        defines = [f"-D{key}={value}" for key, value in variants[name].items()]
        command = [
            "nvcc",
            "-std=c++17",
            f"-I{folder}",
            *options,
            "-cubin",
            "-Xptxas",
            "-v",
            *defines,
            source,
            "-o",
            cubin,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr}")
        lines = [line.split("info    :")[-1].strip() for line in done.stderr.splitlines()]
        return cubin, "; ".join(line for line in lines if "registers" in line or "spill" in line)

    with ThreadPoolExecutor() as pool:
        return dict(zip(variants, pool.map(one, variants), strict=True))


def kernel(cubin: Path, name: str, shared: int) -> ctypes.c_void_p:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoad", ctypes.byref(module), str(cubin).encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    call("cuFuncSetAttribute", function, 8, shared)  # MAX_DYNAMIC_SHARED_SIZE_BYTES
    return function


def launch(function: ctypes.c_void_p, grid: int, block: int, shared: int, addresses: list[int]) -> None:
    arguments = (ctypes.c_void_p * len(addresses))(*addresses)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, stream, arguments, None)


class TensorMap:
    """Of a matrix, in boxes of `rows` x `columns` with the 128-byte swizzle."""

    def __init__(self, matrix: torch.Tensor, rows: int, columns: int, kind: int) -> None:
        self.buffer = ctypes.create_string_buffer(192)
        self.address = (ctypes.addressof(self.buffer) + 63) & ~63
        size = matrix.element_size()
        extents = (ctypes.c_uint64 * 2)(matrix.shape[1], matrix.shape[0])
        strides, box = (ctypes.c_uint64 * 1)(matrix.shape[1] * size), (ctypes.c_uint32 * 2)(columns, rows)
        ones, data = (ctypes.c_uint32 * 2)(1, 1), ctypes.c_void_p(matrix.data_ptr())
        place = ctypes.c_void_p(self.address)
        call("cuTensorMapEncodeTiled", place, kind, 2, data, extents, strides, box, ones, 0, 3, 2, 0)


# -- timing ------------------------------------------------------------------------------------------------------------


def median(values: list[Any]) -> Any:
    return sorted(values)[len(values) // 2]


def pairs(ours: Run, theirs: Run, flop: float, count: int, repeat: int) -> dict[str, Any]:
    """Both in turn, the first of a pair in turn too."""
    times: tuple[list[float], list[float]] = ([], [])
    clocks, power = [], []
    for run in (ours, theirs):
        run()
    torch.cuda.synchronize()
    for i in range(count):
        for which, run in [(0, ours), (1, theirs)][:: 1 if i % 2 else -1]:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            run()
            start.record()
            for _ in range(repeat):
                run()
            end.record()
            clocks.append(pynvml.nvmlDeviceGetClockInfo(GPU, pynvml.NVML_CLOCK_SM))
            power.append(round(pynvml.nvmlDeviceGetPowerUsage(GPU) / 1000))
            end.synchronize()
            times[which].append(start.elapsed_time(end) / repeat)
    return {
        "ours": round(flop / median(times[0]) / 1e9, 1),
        "cublas": round(flop / median(times[1]) / 1e9, 1),
        "ratio": round(median([b / a for a, b in zip(*times, strict=True)]), 4),
        "clock": median(clocks),
        "power": median(power),
    }


def addresses(*values: Any) -> tuple[list[int], list[Any]]:
    """Of arguments, and what must live as long."""
    return [v.address if isinstance(v, TensorMap) else ctypes.addressof(v) for v in values], list(values)


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


# -- the two kernels ---------------------------------------------------------------------------------------------------


def simt(report: Callable[..., None]) -> None:
    """fp32 on the CUDA cores, beside cuBLAS with TF32 off."""
    torch.backends.cuda.matmul.allow_tf32 = False
    shapes = [(64, 128, 32, 64, 8, 8), (128, 128, 32, 64, 8, 8), (128, 256, 64, 64, 16, 8), (256, 128, 64, 64, 16, 8)]
    variants, shared = {}, {}
    for bm, bn, wm, wn, tm, tn in shapes:
        for bk, stages in ((8, 3), (8, 4), (16, 2), (16, 3)):
            for blocks in (1, 2, 3):
                threads = bm // wm * (bn // wn) * 32
                if not 24000 <= blocks * threads * (tm * tn + 44) <= 65536:
                    continue
                name = f"{bm}x{bn}x{bk}_{tm}x{tn}_stages{stages}_blocks{blocks}"
                shared[name] = stages * 4 * (bk * (bm + 4) + bk * bn)
                variants[name] = {"BM": bm, "BN": bn, "BK": bk, "WM": wm, "WN": wn, "TM": tm, "TN": tn}
                variants[name] |= {"STAGES": stages, "MINB": blocks, "GROUP": 8}
    for name, (cubin, registers) in build(variants, TUNED, "-arch=sm_90").items():
        function = kernel(cubin, "gemm_v10", shared[name])
        try_simt(function, variants[name], shared[name], partial(report, variant=name, registers=registers))


def try_simt(function: ctypes.c_void_p, tile: dict[str, Any], shared: int, report: Callable[..., None]) -> None:
    threads = tile["BM"] // tile["WM"] * (tile["BN"] // tile["WN"]) * 32

    def prepare(m: int, n: int, k: int, alpha: float, beta: float) -> tuple[Run, list[torch.Tensor]]:
        a, b, c = (torch.rand(s, device="cuda") * 2 - 1 for s in ((m, k), (k, n), (m, n)))
        out, integers = c.clone(), [ctypes.c_int(x) for x in (m, n, k)]
        floats = ctypes.c_float(alpha), ctypes.c_float(beta)
        where, kept = addresses(*integers, floats[0], pointer(a), pointer(b), floats[1], pointer(out))
        grid = -(-m // tile["BM"]) * -(-n // tile["BN"])
        return lambda kept=kept: launch(function, grid, threads, shared, where), [a, b, c, out]

    run, (a, b, c, out) = prepare(517, 387, 291, 1.5, 0.5)
    run()
    error = (out.double() - 1.5 * (a.double() @ b.double()) - 0.5 * c.double()).abs().max().item()
    assert error < 2e-4, f"wrong by {error}: {tile}"
    n = SIZES[0]
    run, (a, b, _, out) = prepare(n, n, n, 1, 0)
    theirs = torch.empty_like(out)
    report(kernel="simt", n=n, error=error, **pairs(run, lambda: torch.mm(a, b, out=theirs), 2 * n**3, 7, 3))


KINDS = {  # bytes, torch's type, a tensor map's; of C: torch's type, a map's, and the macro that asks for it
    "bf16": (2, torch.bfloat16, 9, torch.bfloat16, 9, ""),
    "f16": (2, torch.float16, 6, torch.float16, 6, "OUTF16"),
    "tf32": (4, torch.float32, 7, torch.float32, 7, "OUT32"),
    "e4m3": (1, torch.float8_e4m3fn, 0, torch.bfloat16, 9, ""),
}


def tensor(report: Callable[..., None]) -> None:
    """The tensor cores, beside cuBLAS with the same types."""
    torch.backends.cuda.matmul.allow_tf32 = True
    variants: dict[str, dict[str, Any]] = {}
    for kind, (size, *_, macro) in KINDS.items():
        for bn, stages, cluster in ((256, 4, 2), (256, 4, 1), (128, 6, 2)):
            for group in (4, 8, 16):
                tile = {"KIND": kind, "ELEMENT": size, "BN": bn, "STAGES": stages, "CLUSTER": cluster, "GROUP": group}
                variants[f"{kind}_128x{bn}_stages{stages}_cluster{cluster}_group{group}"] = tile | (
                    {macro: 1} if macro else {}
                )
    built = build(variants, HERE / "tensor.cu", "-gencode=arch=compute_90a,code=sm_90a")
    for name, (cubin, registers) in built.items():
        try_tensor(cubin, variants[name], partial(report, variant=name, registers=registers))


def try_tensor(cubin: Path, tile: dict[str, Any], report: Callable[..., None]) -> None:
    size, kind, map_kind, out_kind, out_map, macro = KINDS[tile["KIND"]]
    cluster, row = tile["CLUSTER"], 128 // size
    shared = tile["STAGES"] * (128 + tile["BN"]) * 128 + (macro != "OUT32") * 32768 + 16 * tile["STAGES"] + 1024
    function = kernel(cubin, "hgemm", shared)
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def prepare(m: int, n: int, k: int) -> tuple[Run, list[torch.Tensor]]:
        a, b = (torch.randn(s, device="cuda").to(kind) for s in ((m, k), (n, k)))
        c = torch.empty((m, n), device="cuda", dtype=out_kind)
        maps = [TensorMap(a, 128, row, map_kind), TensorMap(b, tile["BN"] // cluster, row, map_kind)]
        maps.append(TensorMap(c, 64, 128 // c.element_size(), out_map))
        where, kept = addresses(*maps, pointer(c), *(ctypes.c_int(x) for x in (m, n, k)))
        tiles = -(-m // (128 * cluster)) * -(-n // tile["BN"])
        grid = min(tiles, multiprocessors // cluster) * cluster
        return lambda kept=kept: launch(function, grid, 384, shared, where), [a, b, c]

    def library(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Run:
        if tile["KIND"] != "e4m3":
            out = torch.empty_like(c)
            return lambda: torch.mm(a, b.t(), out=out)
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=out_kind, use_fast_accum=True)

    run, (a, b, c) = prepare(520, 392, 336)
    run()
    want = a.float().double() @ b.float().double().t()
    error = ((c.double() - want).abs().max() / want.abs().max()).item()
    assert error < 5e-3, f"wrong by {error} of the largest element: {tile}"
    for n in SIZES:
        run, matrices = prepare(n, n, n)
        seen = pairs(run, library(*matrices), 2 * n**3, 24, 10 if n == 4096 else 3)
        report(kernel="tensor", n=n, error=error, **seen)


def main() -> None:
    path, asked = Path(sys.argv[1]), sys.argv[2:] or ["simt", "tensor"]
    machine = {"gpu": torch.cuda.get_device_name(), "driver": pynvml.nvmlSystemGetDriverVersion()}
    machine |= {"torch": torch.__version__, "cuda": torch.version.cuda, "date": date.today().isoformat()}
    results: list[dict[str, Any]] = []

    def report(**values: Any) -> None:
        results.append(values)
        print(json.dumps(values), flush=True)
        lines = ",\n".join(json.dumps(one) for one in results)
        path.write_text(f'{{"machine": {json.dumps(machine)},\n"results": [\n{lines}\n]}}\n')

    for name in asked:
        {"simt": simt, "tensor": tensor}[name](report)


if __name__ == "__main__":
    main()
