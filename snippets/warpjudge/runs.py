"""Launch an answer's kernel on softcuda, in this process, and compare what it wrote with the reference.

Called in a process that was forked for it: `check` under softcuda's checker at all sizes, `count` under its profiler.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from warpjudge import diagnose
from warpjudge.compiler import Variant
from warpjudge.exercise import Cause, Exercise, Failure, Launch, Random, Size, as_size

GUARD = 4096  # bytes, between any two buffers
PROBED = 300  # unit vectors, at most
UNWRITTEN = 0xCD  # softcuda fills new memory with it
POISON = 0x5A  # the judge's, where that is not enough
LAUNCH_SECONDS = 2.0


@dataclass
class Done:
    """What one launch left: the outputs, and what went wrong beside them."""

    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    causes: list[Cause] = field(default_factory=list)
    fault: str = ""  # in softcuda's words
    endless: bool = False


class Device:
    """softcuda's device with the answer's modules, each loaded when it is first used."""

    def __init__(self, exercise: Exercise, code: Any) -> None:
        import pycuda.driver as cuda

        self.cuda, self.exercise, self.code = cuda, exercise, code
        cuda.init()
        self.context = cuda.Device(0).make_context()
        self.functions: dict[tuple[str, str], Any] = {}

    def reload(self) -> None:
        """The modules anew, with what their variables began with."""
        self.functions.clear()

    def function(self, variant: Variant) -> Any:
        key = (variant.ptx, variant.entry)
        if key not in self.functions:
            module = self.cuda.module_from_buffer(variant.ptx.encode())
            self.functions[key] = module.get_function(variant.entry)
        return self.functions[key]

    def run(
        self, given: dict[str, Any], shapes: dict[str, tuple[int, ...]], launch: Launch, poison: int | None = None
    ) -> Done:
        """One launch on fresh memory with a guard zone around every buffer; `poison`: a byte to fill outputs with."""
        cuda, done = self.cuda, Done()
        pattern = np.frombuffer(os.urandom(GUARD), np.uint8)
        buffers: dict[str, Any] = {}
        zones = []

        def add_guard() -> None:
            zones.append(cuda.to_device(pattern))

        add_guard()
        variant = self.code.variant(self.exercise, given, launch)
        arguments: list[Any] = []
        for one in self.exercise.parameters:
            if not one.pointer:
                if one.name in variant.names:
                    arguments.append(np.dtype(one.dtype).type(given[one.name]))
                continue
            if one.name in given:
                whole = np.ascontiguousarray(given[one.name])
                buffers[one.name] = cuda.to_device(whole) if whole.nbytes else cuda.mem_alloc(1)
            else:
                size = int(np.prod(shapes[one.name])) * np.dtype(one.dtype).itemsize
                buffers[one.name] = cuda.mem_alloc(max(1, size))
                if poison is not None and size:
                    cuda.memset_d8(buffers[one.name], poison, size)
            add_guard()
            arguments.append(buffers[one.name])
        if variant.hidden:
            x, y, z = launch.blocks
            scratch: Any = cuda.mem_alloc(variant.scratch * x * y * z) if variant.scratch else np.uint64(0)
            arguments += [scratch, *[np.uint64(0)] * (variant.hidden - 1)]
        try:
            self.function(variant)(*arguments, block=launch.threads, grid=launch.blocks, shared=variant.shared)
            cuda.Context.synchronize()
        except cuda.Error as error:
            text = str(error)
            done.endless = "timeout" in text.lower() or "timed out" in text.lower()
            done.fault = "" if done.endless else text
            return done
        for one in self.exercise.parameters:
            if not one.pointer:
                continue
            data: Any = given.get(one.name)
            got = np.empty(shapes.get(one.name, np.shape(data)), one.dtype)
            if got.nbytes:
                cuda.memcpy_dtoh(got, buffers[one.name])
            if not one.constant:
                done.outputs[one.name] = got
            elif got.tobytes() != np.ascontiguousarray(data).tobytes():
                changed = np.flatnonzero(got.reshape(-1) != np.asarray(data).reshape(-1))
                at = f"[{changed[0]}]" if changed.size else ""
                done.causes.append(Cause("input-changed", {"name": one.name, "at": at}))
        done.causes += self._damage(zones, pattern, buffers, shapes, given)
        return done

    def _damage(
        self, zones: list[Any], pattern: np.ndarray, buffers: dict[str, Any], shapes: Any, given: Any
    ) -> list[Cause]:
        """Where the kernel wrote into a guard zone."""
        for zone in zones:
            now = np.empty_like(pattern)
            self.cuda.memcpy_dtoh(now, zone)
            if changed := np.flatnonzero(now != pattern).tolist():
                address = int(zone) + changed[0]
                outputs = [one.name for one in self.exercise.parameters if one.pointer and not one.constant]
                name = min(outputs or buffers, key=lambda name: abs(int(buffers[name]) - address))
                begin = int(buffers[name])
                away = begin - address if address < begin else address - begin
                direction = "before" if address < begin else "after"
                return [Cause("outside", {"name": name, "bytes": away, "direction": direction})]
        return []


def fails(exercise: Exercise, given: dict[str, Any], want: dict[str, np.ndarray], outputs: dict[str, np.ndarray],
          size: Size, launch: Launch) -> Failure | None:  # fmt: skip
    """The first output that is wrong. NaN never passes."""
    bounds = exercise.bounds(given, want)
    for name, reference in want.items():
        got, bound = outputs[name], bounds[name]
        if got.dtype.kind in "iu" and reference.dtype.kind in "iub":
            wrong = (
                got.astype(object) != reference.astype(object) if reference.dtype.itemsize == 8 else got != reference
            )
            wrong = np.asarray(wrong, bool)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                wrong = ~(np.abs(got.astype(np.float64) - reference.astype(np.float64)) <= bound)
        if not wrong.any():
            continue
        if name in given:
            same = got == np.asarray(given[name])
            untouched = join(wrong & same, same)
        else:
            raw = np.frombuffer(got.tobytes(), np.uint8).reshape(*got.shape, got.dtype.itemsize)
            untouched = wrong & (raw == UNWRITTEN).all(axis=-1)
        return Failure(exercise, size, launch, given, name, got, reference, np.asarray(bound), wrong, untouched)
    return None


def join(untouched: np.ndarray, same: np.ndarray) -> np.ndarray:
    """With what lies between and around them, if it has its old value as well: there a result may equal that value."""
    flat, kept = untouched.reshape(-1).copy(), same.reshape(-1)
    if flat.any():
        first, last = int(np.argmax(flat)), flat.size - int(np.argmax(flat[::-1]))
        first, last = 0 if kept[:first].all() else first, flat.size if kept[last:].all() else last
        if kept[first:last].all():
            flat[first:last] = True
    return flat.reshape(untouched.shape)


def shapes_of(want: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: value.shape for name, value in want.items()}


def as_message(cause: Cause, size: Size) -> dict[str, Any]:
    return {
        "cause": cause.name,
        "values": cause.values,
        "text": cause.text,
        "section": cause.section,
        "size": list(size),
    }


def check(exercise: Exercise, code: Any, seed: int) -> dict[str, Any]:
    """Run at every size. {"inputs": how many were run, "causes": what is wrong, as messages without words}."""
    device, random = Device(exercise, code), Random(seed)
    failures: list[tuple[Failure, Size]] = []
    beside: list[dict[str, Any]] = []
    passing: list[Size] = []
    answer: dict[str, Any] = {"inputs": 0, "causes": beside, "marks": []}
    for size in exercise.all_sizes(random):
        given, want = exercise.make(random, size)
        launch = exercise.launch(*size)
        done = device.run(given, shapes_of(want), launch)
        answer["marks"].append([recorded(), list(size)])
        answer["inputs"] += 1
        if done.endless:
            answer["endless"] = list(size)
            break
        if done.fault:
            answer["fault"] = {"size": list(size), "text": done.fault}
            break
        beside += [as_message(cause, size) for cause in done.causes if cause.name not in {b["cause"] for b in beside}]
        if failure := fails(exercise, given, want, done.outputs, size, launch):
            failures.append((failure, size))
        else:
            passing.append(size)
    if failures and "endless" not in answer:
        usable = None if "fault" in answer else device
        failure, cause = most_telling([failure for failure, _ in failures], usable)
        threads = failure.launch.threads
        block = threads[0] * threads[1] * threads[2]
        cause.values["only"] = diagnose.only_at([size for _, size in failures], passing, block)
        beside.insert(0, as_message(cause, failure.size))
    return answer


def recorded() -> int:
    """Bytes that softcuda has written about this process's kernels."""
    folder = os.environ["SOFTCUDA_INSPECT"].partition(":")[2]
    return sum(path.stat().st_size for path in Path(folder).glob("*.jsonl"))


def most_telling(failures: list[Failure], device: Device | None) -> tuple[Failure, Cause]:
    """The failure that says most about its cause: one element says less than four, "different" less than a pattern.

    `device`: where more may be launched; None after a fault.
    """
    if device and (kept := keeps_state(device, failures[0])):
        return failures[0], kept
    small = [one for one in failures if one.want.size < 4 and len(one.inputs) and largest(one) < 4]
    rest = [one for one in failures if not any(one is other for other in small)]
    chosen = [*rest[:3], *rest[len(rest) // 2 :][:1], *rest[-1:], *small[:1]]
    found: list[tuple[Failure, Cause]] = []
    for failure in chosen:
        if device:
            confirm_untouched(device, failure)
            if not any(cause.name in diagnose.PAIRS for _, cause in found):  # once says enough, and takes time
                probe(device, failure)
        cause = diagnose.cause_of(failure)
        if cause.name not in diagnose.VAGUE:
            return failure, cause
        found.append((failure, cause))
    return min(found, key=lambda one: diagnose.VAGUE.index(one[1].name))


def largest(failure: Failure) -> int:
    return max((np.size(value) for value in failure.inputs.values()), default=0)


def keeps_state(device: Device, failure: Failure) -> Cause | None:
    """Whether the same launch is right where the module has not been used before."""
    with contextlib.suppress(device.cuda.Error):
        device.reload()
        done = device.run(failure.inputs, shapes_of(failure.exercise.expected(failure.inputs)), failure.launch)
        want = failure.exercise.expected(failure.inputs)
        if not done.fault and not done.endless and not fails(
            failure.exercise, failure.inputs, want, done.outputs, failure.size, failure.launch
        ):  # fmt: skip
            return Cause("state-kept")
    return None


def confirm_untouched(device: Device, failure: Failure) -> None:
    """Launch with another poison: an output may hold the first because the kernel copied uninitialised memory."""
    if failure.name in failure.inputs or not failure.untouched.any():
        return
    device.reload()
    shapes = shapes_of(failure.exercise.expected(failure.inputs))
    done = device.run(failure.inputs, shapes, failure.launch, POISON)
    if not done.fault and not done.endless:
        got = done.outputs[failure.name]
        raw = np.frombuffer(got.tobytes(), np.uint8).reshape(*got.shape, got.dtype.itemsize)
        failure.untouched = failure.untouched & (raw == POISON).all(axis=-1)


def probe(device: Device, failure: Failure) -> None:
    """Run a linear kernel on unit vectors: how often does each element count?"""
    name = failure.exercise.linear
    if not name or failure.untouched.any():
        return
    data = failure.inputs[name]
    total = data.size
    chosen = range(total)
    if total > PROBED:
        threads = failure.launch.threads
        block = threads[0] * threads[1] * threads[2]
        edges = {near + d for near in (0, 32, block, total, total // block * block) for d in range(-3, 4)}
        spread = np.linspace(0, total - 1, PROBED - len(edges)).astype(int).tolist()
        chosen = sorted(i for i in {*edges, *spread} if 0 <= i < total)  # type: ignore[assignment]
    zeros = failure.inputs | {name: np.zeros_like(data)}
    nothing = failure.exercise.expected(zeros)[failure.name].astype(np.float64)  # what the output holds already
    for i in chosen:
        unit = np.zeros(total, data.dtype)
        unit[i] = 1
        given = failure.inputs | {name: unit.reshape(data.shape)}
        want = failure.exercise.expected(given)
        device.reload()
        done = device.run(given, shapes_of(want), failure.launch)
        if done.fault or done.endless:
            failure.counts.clear()
            failure.pairs.clear()
            return
        got = done.outputs[failure.name].astype(np.float64) - nothing
        reference = want[failure.name].astype(np.float64) - nothing
        for cause, pair in pairs(got.reshape(-1), reference.reshape(-1)).items():
            failure.pairs.setdefault(cause, {})[i] = pair
        if reference.sum() and not np.array_equal(got, reference):
            times = float(got.sum() / reference.sum())
            failure.counts[i] = times if np.isfinite(times) else -1.0


def pairs(got: np.ndarray, reference: np.ndarray) -> dict[str, tuple[int, int]]:
    """What one element does to which output: by cause, the output, and another one or how many times."""
    missing, extra = np.flatnonzero((reference != 0) & (got == 0)), np.flatnonzero((reference == 0) & (got != 0))
    several = np.count_nonzero(reference) > 1  # otherwise how often it counts says enough
    found = {}
    if missing.size and extra.size and not several:
        return {"counted-elsewhere": (int(missing[0]), int(extra[0]))}
    if missing.size and several:
        found["left-out-of"] = (int(missing[0]), 0)
    times = np.divide(got, reference, out=np.zeros_like(got), where=reference != 0)
    if several and np.isfinite(times).all() and (more := np.flatnonzero((times > 1) & (times == np.rint(times)))).size:
        found["counted-again"] = (int(more[0]), int(times[more[0]]))
    if extra.size:
        found["not-its-own"] = (int(extra[0]), 0)
    return found


def count(exercise: Exercise, code: Any, seed: int, size: Size) -> dict[str, Any]:
    """Launch once at `size`; the profiler writes what it counted."""
    device, random = Device(exercise, code), Random(seed)
    given, want = exercise.make(random, size)
    launch = exercise.launch(*size)
    done = device.run(given, shapes_of(want), launch)
    found: dict[str, Any] = {"warps": launch.warps, "size": list(size), "wrong": bool(done.causes)}
    if done.fault or done.endless:
        return found | {"broken": True, "endless": done.endless, "fault": fault_words(done.fault)}
    failure = fails(exercise, given, want, done.outputs, size, launch)
    if failure:
        found["wrong"] = True
        found["causes"] = [as_message(diagnose.cause_of(failure), size)]
    found["outputs"] = [
        {
            "name": name,
            "got": [float(x) if np.isfinite(x) else str(x) for x in got.reshape(-1)[:64].tolist()],
            "expected": [float(x) for x in want[name].reshape(-1)[:64].tolist()],
        }
        for name, got in done.outputs.items()
    ]
    return found


def secret_budget_size(exercise: Exercise, random: Random) -> Size | None:
    """A size a little below the budget's, so that an answer cannot be fast at that one alone."""
    if exercise.budget is None:
        return None
    at = as_size(exercise.budget.at)
    return tuple(n - 32 * int(random.generator.integers(1, n // 64 + 1)) if n >= 64 else n for n in at)


def fault_words(text: str) -> str:
    """The driver's words without the call's name and PyCUDA's."""
    return re.sub(r"^\w+ failed: ", "", " ".join(text.split()))[:300]
