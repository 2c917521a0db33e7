"""Records golden results of Hopper's instructions on the present CUDA device.

    python record.py FOLDER [--raw FOLDER] [--family NAME,NAME] [--only WORD]

Needs NumPy and PyCUDA; the driver translates the PTX.  Writes one archive per family to FOLDER; with --raw also whole
results.  Cases that do not load or fault are listed in the archive's header.  --only: cases whose name contains WORD.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hopper import families
from hopper.cases import POISON, Case, write_archive
from hopper.driver import Module, launch
from hopper.maps import ADDRESS


def run_case(function: ctypes.c_void_p, case: Case) -> bytes:
    """The bytes of the result; what the kernel did not write stays POISON."""
    given = case.given() or bytes(16)
    source, target = cuda.mem_alloc(len(given)), cuda.mem_alloc(max(16, case.out_bytes))
    result = np.full(case.out_bytes, POISON, np.uint8)
    cuda.memcpy_htod(source, given)
    cuda.memcpy_htod(target, result)
    encoded = np.zeros(128, np.uint8)
    if case.tensor is not None:
        data = np.frombuffer(case.tensor(), np.uint8)
        tensor = cuda.mem_alloc(len(data))
        cuda.memcpy_htod(tensor, data)
    if case.tensor_map is not None:
        code, encoded = case.tensor_map.encode(int(tensor) if case.tensor is not None else ADDRESS)
        if code:
            raise RuntimeError(f"the tensor map is refused with error {code}")
    launch(function, int(target), int(source), encoded, case.grid, case.block, case.shared)
    cuda.Context.synchronize()
    if case.out_bytes:
        cuda.memcpy_dtoh(result, target)
    made = result.tobytes()
    if case.writes_tensor:
        after = np.empty_like(data)
        cuda.memcpy_dtoh(after, tensor)
        made += after.tobytes()
    return case.decode(made) if case.decode else made


def work(pipe: Any, cases: Sequence[Case]) -> None:
    """In a process of its own: sends what the device is, then each case's name, whether it ran, its result or error."""
    cuda.init()
    device = cuda.Device(0)
    device.make_context()
    pipe.send((device.name(), cuda.get_driver_version(), device.compute_capability()))
    source, function = "", None
    for case in cases:
        try:
            if not isinstance(case, Case):
                pipe.send((case.name, True, case.run()))
                continue
            if case.source != source:
                source, function = "", Module(case.source).function("k")
                source = case.source
            assert function is not None
            pipe.send((case.name, True, run_case(function, case)))
        except RuntimeError as error:
            pipe.send((case.name, False, str(error)))
        except cuda.Error as error:  # a fault: this process can use the device no more
            pipe.send((case.name, False, str(error)))
            break
    pipe.close()
    os._exit(0)  # without the clean-up, which a fault has made impossible


MOST_FAULTS = 200


def run_cases(cases: Sequence[Case], refused: dict[str, str], about: dict[str, Any]) -> dict[str, bytes]:
    """Results by name.  After a fault the next process goes on; after MOST_FAULTS the rest is `about["not run"]`."""
    context = multiprocessing.get_context("fork")  # the cases are closures; this process itself has not used the driver
    results: dict[str, bytes] = {}
    waiting, faults = list(cases), 0
    while faults < MOST_FAULTS:
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(theirs, waiting))
        worker.start()
        theirs.close()
        seen = 0
        try:
            about["device"], about["cuda"], about["capability"] = mine.recv()
            while True:
                name, ran, result = mine.recv()
                seen += 1
                if ran:
                    results[name] = result
                else:
                    refused[name] = " ".join(result.split())
        except EOFError:
            pass
        worker.join()
        if worker.exitcode:
            if waiting:
                refused[waiting[min(seen, len(waiting) - 1)].name] = f"the process died: {worker.exitcode}"
            seen += 1
        faults += 1
        waiting = waiting[seen:]
        if not waiting:
            break
    about["not run"] = [case.name for case in waiting]
    return results


def driver_version() -> str:
    try:
        return Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
    except OSError:
        return "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--family", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    header: dict[str, Any] = {
        "driver": driver_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    for family, make in families().items():
        if options.family and family not in options.family.split(","):
            continue
        start = time.monotonic()
        cases = [case for case in make() if options.only in case.name]
        made = time.monotonic() - start
        refused: dict[str, str] = {}
        if family == "maps":  # which crash the driver: their processes are their own
            run_cases([], refused, header)
            results = {case.name: case.run() for case in cases}
        else:
            results = run_cases(cases, refused, header)
        ran = time.monotonic() - start
        kept = [case for case in cases if case.name in results]
        entries = [(case.name, case.digest, results[case.name], case.keep) for case in kept]
        options.folder.mkdir(parents=True, exist_ok=True)
        out = options.folder / f"{family}.npz"
        write_archive(out, header | {"refused": refused}, entries)
        size = f"{out.stat().st_size / 1024:.0f} KiB"
        print(f"{family}: {len(kept)} of {len(cases)} cases, {made:.1f} + {ran - made:.1f} s, {size}", flush=True)
        if header["not run"]:
            print(f"    not run after {MOST_FAULTS} faults: {len(header['not run'])} cases", flush=True)
        for name, why in list(refused.items())[:40]:
            print(f"    left out: {name}: {why[:150]}", flush=True)
        if options.raw:
            options.raw.mkdir(parents=True, exist_ok=True)
            rows = {f"r{i}": np.frombuffer(results[case.name], np.uint8) for i, case in enumerate(kept)}
            names = np.array([case.name for case in kept])
            np.savez_compressed(options.raw / f"raw-{family}.npz", names=names, **rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
