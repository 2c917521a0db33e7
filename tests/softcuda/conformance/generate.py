"""Runs every form on the present CUDA device and keeps its results: python generate.py OUT.npz [WORD ...]

Needs NumPy and PyCUDA; the driver translates the PTX.  With words, only forms whose names contain one of them.  Forms
that do not load or fault are named and left out.  The file holds `results`, the bytes of all forms one behind the other
(LZMA), and `header`: device, driver, date, PTX version, and for each form its name, digest and length.
"""

from __future__ import annotations

import datetime
import json
import lzma
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pycuda.driver as cuda

sys.path.insert(0, str(Path(__file__).parent))
from forms import Form, all_forms, bits_of
from inputs import operands

PTX_VERSION, TARGET = "8.7", "sm_90"
THREADS = 64
TOGETHER = 48  # forms a module


class Device:
    """A context, renewed when a kernel's fault has spoilt it."""

    def __init__(self) -> None:
        cuda.init()
        self.device = cuda.Device(0)
        self.context = self.device.make_context()

    def renew(self) -> None:
        self.close()
        self.context = self.device.make_context()

    def close(self) -> None:
        try:
            self.context.pop()
            self.context.detach()
        except cuda.Error:  # a spoilt context says so once more
            pass


def module_of(forms: Sequence[Form]) -> str:
    entries = "\n".join(form.ptx(f"form{i}") for i, form in enumerate(forms))
    return f".version {PTX_VERSION}\n.target {TARGET}\n.address_size 64\n\n{entries}"


def packed_operands(form: Form) -> bytes:
    arrays = operands(form.operands, form.count)
    return b"".join(
        a.astype(f"<u{bits_of(k) // 8}").tobytes() for a, k in zip(arrays, form.operands, strict=True)
    ) or bytes(8)


def run_form(function: cuda.Function, form: Form) -> bytes:
    """The bytes of the results; what no lane wrote stays 0xCD."""
    source = packed_operands(form)
    given, taken = cuda.mem_alloc(len(source)), cuda.mem_alloc(form.result_bytes)
    result = np.full(form.result_bytes, 0xCD, np.uint8)
    cuda.memcpy_htod(given, source)
    cuda.memcpy_htod(taken, result)
    function(taken, given, block=(THREADS, 1, 1), grid=(form.count // THREADS, 1))
    cuda.Context.synchronize()
    cuda.memcpy_dtoh(result, taken)
    return result.tobytes()


def run_all(device: Device, forms: Sequence[Form], refused: dict[str, str]) -> dict[str, bytes]:
    """Results by name; a module that does not load is halved until the form that spoils it stands alone."""
    try:
        module = cuda.module_from_buffer(module_of(forms).encode() + b"\0")
    except (cuda.Error, RuntimeError) as error:
        if len(forms) == 1:
            refused[forms[0].name] = str(error)
            return {}
        half = len(forms) // 2
        return run_all(device, forms[:half], refused) | run_all(device, forms[half:], refused)
    results: dict[str, bytes] = {}
    for index, form in enumerate(forms):
        try:
            results[form.name] = run_form(module.get_function(f"form{index}"), form)
        except cuda.Error as error:
            refused[form.name] = f"launch: {error}"
            del module
            device.renew()
            rest = forms[index + 1 :]
            return results | (run_all(device, rest, refused) if rest else {})
    return results


def driver_version() -> str:
    try:
        return Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
    except OSError:
        return f"CUDA {cuda.get_driver_version()}"


def write_golden(out: Path, header: dict[str, object], payload: bytes) -> None:
    """Atomically; the results are compressed as one stream, since forms resemble each other."""
    packed = lzma.compress(payload, preset=9 | lzma.PRESET_EXTREME)
    told = lzma.compress(json.dumps(header).encode(), preset=9)
    temporary = out.with_name(f"{out.name}.{os.getpid()}.tmp.npz")
    np.savez(temporary, header=np.frombuffer(told, np.uint8), results=np.frombuffer(packed, np.uint8))
    os.replace(temporary, out)


def read_golden(path: Path) -> tuple[dict[str, object], dict[str, bytes]]:
    """The header, and the bytes of each form's results by name."""
    with np.load(path) as file:
        header = json.loads(lzma.decompress(file["header"].tobytes()))
        payload = lzma.decompress(file["results"].tobytes())
    results, at = {}, 0
    for name, _, length in header["forms"]:
        results[name] = payload[at : at + length]
        at += length
    return header, results


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    out, words = Path(arguments[0]), arguments[1:]
    forms = [form for form in all_forms() if not words or any(word in form.name for word in words)]
    start = time.monotonic()
    device = Device()
    refused: dict[str, str] = {}
    results: dict[str, bytes] = {}
    for first in range(0, len(forms), TOGETHER):
        results |= run_all(device, forms[first : first + TOGETHER], refused)
    kept = [form for form in forms if form.name in results]
    header = {
        "device": device.device.name(),
        "driver": driver_version(),
        "cuda": cuda.get_driver_version(),
        "pycuda": list(cuda.get_version()),
        "capability": list(device.device.compute_capability()),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "ptx": PTX_VERSION,
        "target": TARGET,
        "refused": refused,
        "forms": [(form.name, form.digest, len(results[form.name])) for form in kept],
    }
    device.close()
    for name, why in refused.items():
        print(f"left out: {name}: {' '.join(why.split())[:160]}")
    ran = time.monotonic() - start
    write_golden(out, header, b"".join(results[form.name] for form in kept))
    size = f"{out.stat().st_size / 1024:.0f} KiB"
    print(f"{len(kept)} of {len(forms)} forms on {header['device']} in {ran:.1f} s, {out}: {size}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
