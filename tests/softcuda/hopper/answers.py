"""Runs recorded cases on softcuda and prints, as JSON, how its answers differ from the hardware's.

    SOFTCUDA=force python answers.py FAMILY…

One process for all cases: unlike a GPU's, softcuda's driver makes a new context after a fault.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pycuda.driver as cuda

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hopper import barriers, families
from hopper.cases import POISON, Case, Kept, read_archive
from hopper.copies import SHOWN, copied_bytes
from hopper.driver import Module, launch
from hopper.maps import ADDRESS, CRASHED, NOT_CALLED, RESULT, Calls

GOLDEN = Path(__file__).parent / "golden"
BEHIND = 1 << 16  # zeros behind a tensor, as interleaved maps may describe more than their buffer
EXPECT = 36  # in a row of `copies.Box.words`


def expects_otherwise(case: Case) -> bool:
    """Its barriers expect another number of bytes than come: open on hardware, and here the copies never land."""
    if not isinstance(case.about, tuple) or case.about[0] != "load":
        return False
    return copied_bytes(case.about[1]) != case.about[2][0].expect


def given_of(case: Case) -> bytes:
    given = bytearray(case.given() or bytes(16))
    if expects_otherwise(case):
        for i in range(len(case.about[2])):
            given[64 * i + EXPECT : 64 * i + EXPECT + 4] = copied_bytes(case.about[1]).to_bytes(4, "little")
    return bytes(given)


def run_case(case: Case) -> bytes:
    given = given_of(case)
    source, target = cuda.mem_alloc(len(given)), cuda.mem_alloc(max(16, case.out_bytes))
    result = np.full(case.out_bytes, POISON, np.uint8)
    cuda.memcpy_htod(source, given)
    if case.out_bytes:
        cuda.memcpy_htod(target, result)
    encoded, tensor, data = np.zeros(128, np.uint8), None, np.zeros(0, np.uint8)
    if case.tensor is not None:
        data = np.frombuffer(case.tensor(), np.uint8)
        tensor = cuda.mem_alloc(len(data) + BEHIND)
        cuda.memset_d8(tensor, 0, len(data) + BEHIND)
        cuda.memcpy_htod(tensor, data)
    if case.tensor_map is not None:
        code, encoded = case.tensor_map.encode(int(tensor) if tensor is not None else ADDRESS)
        if code:
            raise RuntimeError(f"the tensor map is refused with error {code}")
    module = Module(case.source)
    launch(module.function("k"), int(target), int(source), encoded, case.grid, case.block, case.shared)
    cuda.Context.synchronize()
    if case.out_bytes:
        cuda.memcpy_dtoh(result, target)
    made = result.tobytes()
    if case.writes_tensor:
        assert tensor is not None
        after = np.empty_like(data)
        cuda.memcpy_dtoh(after, tensor)
        made += after.tobytes()
    module.unload()
    return case.decode(made) if case.decode else made


def with_early_waits(case: Case, result: bytes) -> bytes:
    """An H200's try_wait.parity of the current phase is true as soon as nothing but bytes is due, against PTX; and
    where copies are under way it is not, as every kernel shows that waits so.  See `barriers.sequence_result`."""
    words = np.frombuffer(result, "<u4").reshape(-1, 4).copy()
    if case.about[0] == "sequence":
        words[barriers.sequence_result(*case.about[1:])[1], 2] = 1
    else:
        for phase in range(4):
            words[3 * phase + 1, 2 + phase % 2] = 1
    return words.tobytes()


def variants(case: Case, result: bytes) -> Iterator[bytes]:
    """What the hardware may have shown in place of this result."""
    yield result
    if isinstance(case.about, tuple) and case.about[0] in ("sequence", "waits"):
        yield with_early_waits(case, result)
    if not expects_otherwise(case):
        return
    _, _, boxes, size = case.about
    rows = np.frombuffer(result, np.uint8).reshape(len(boxes), size + SHOWN).copy()
    for ended in product((1, 0), repeat=len(boxes)):
        for row, end, box in zip(rows, ended, boxes, strict=True):
            row[size:].view("<u4")[:] = end, box.expect
        yield rows.tobytes()


def difference(case: Case, kept: Kept | None, refused: str | None) -> str:
    """Empty if softcuda answers as the hardware did."""
    try:
        result = run_case(case)
    except (RuntimeError, cuda.Error) as error:
        why = " ".join(str(error).split())
        return "" if refused is not None and why.split(": ")[-1] in refused else f"refused: {why}"
    if kept is None:
        return f"runs, where the hardware said: {refused}"
    differences = [kept.difference(made) for made in variants(case, result)]
    return "" if "" in differences else differences[0]


def map_differences(calls: Calls, stored: bytes) -> str:
    """Of cuTensorMapEncode… and cuTensorMapReplaceAddress; calls that crashed the driver have to be refused."""
    wrong = []
    for i, call in enumerate(calls.calls):
        mine, theirs = call.result(), stored[RESULT * i : RESULT * (i + 1)]
        code = int.from_bytes(theirs[:4], "little")
        if code in (CRASHED, NOT_CALLED):
            theirs = (1).to_bytes(4, "little") + theirs[4:]
        if mine[:4] != theirs[:4] or (not code and mine != theirs):
            wrong.append(call.name)
    return ", ".join(wrong)


def main(names: list[str]) -> None:
    cuda.init()
    context = cuda.Device(0).make_context()
    answers: dict[str, dict[str, str]] = {}
    for family in names:
        header, kept = read_archive(GOLDEN / f"{family}.npz")
        answers[family] = {}
        for case in families()[family]():
            if isinstance(case, Calls):
                answers[family][case.name] = map_differences(case, kept[case.name].stored)
                continue
            if "wgmma" in case.source:
                continue
            if not isinstance(case, Case):
                answers[family][case.name] = kept[case.name].difference(case.run())
                continue
            why = header["refused"].get(case.name)
            answers[family][case.name] = difference(case, kept.get(case.name), why)
            if why is not None or answers[family][case.name]:
                context.pop()
                context.detach()
                context = cuda.Device(0).make_context()
    context.pop()
    context.detach()
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1:])
