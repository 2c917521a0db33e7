"""Time two launches beside each other: in turn, in long bursts, with the clock and the power of each.

Near its power limit a GPU adapts its clock to what runs, but not at once: in bursts of few launches a kernel that draws
less would pay for one that draws more. So a burst lasts for at least BURST seconds, and neighbours are compared.

It is a module of its own because warpbench.py counts in a record's hash only through its VERSION, which every program
shares; a change here makes only the records of the programs that use it stale.
"""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pycuda.driver as cuda

BURST = 0.05  # seconds of a burst, at least
ROUNDS = 10
Spread = tuple[float, float, float]


def spread(values: Sequence[float]) -> Spread:
    """The median, and the 10th and the 90th percentile."""
    low, median, high = (float(x) for x in np.percentile(values, [10, 50, 90]))
    return median, low, high


class Meter:
    """The clock and the power of GPU 0, from NVIDIA's management library; does not work where that is missing."""

    def __init__(self) -> None:
        self.gpu: Any = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            failed = self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByPciBusId_v2(
                cuda.Context.get_device().pci_bus_id().encode(), ctypes.byref(self.gpu)
            )
        except OSError:
            failed = 1
        self.works = not failed

    def clock(self) -> float:
        """Of the SMs now, in Hz."""
        mhz = ctypes.c_uint()
        self.library.nvmlDeviceGetClockInfo(self.gpu, 1, ctypes.byref(mhz))
        return mhz.value * 1e6

    def watts(self) -> float:
        """Drawn now; 0 where the GPU cannot say."""
        value = FieldValue(field=186)  # NVML_FI_DEV_POWER_INSTANT
        failed = self.library.nvmlDeviceGetFieldValues(self.gpu, 1, ctypes.byref(value))
        return 0.0 if failed or value.failed else value.value * 1e-3

    def joules(self) -> float:
        """Since the driver was loaded."""
        millijoules = ctypes.c_ulonglong()
        self.library.nvmlDeviceGetTotalEnergyConsumption(self.gpu, ctypes.byref(millijoules))
        return millijoules.value * 1e-3

    def watch(self, run: Callable[[], None], seconds: float) -> tuple[float, float, float]:
        """Launch for so long without a pause: seconds per launch, watts, and the clock in Hz meanwhile.

        The energy moves in steps, some times a second: what counts is the time from its first step to its last.
        """
        repeats = max(3, int(seconds / burst(run, 3)))
        burst(run, max(3, repeats // 2))  # heat
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        for _ in range(repeats):
            run()
        stop.record()
        clocks, steps = [], [(time.perf_counter(), self.joules())]
        while not stop.query():
            now = self.joules()
            if now != steps[-1][1]:
                steps.append((time.perf_counter(), now))
                clocks.append(self.clock())
        took = stop.time_since(start) * 1e-3
        if len(steps) < 4:
            return took / repeats, (self.joules() - steps[0][1]) / took, self.clock()
        (t0, e0), (t1, e1) = steps[1], steps[-1]
        return took / repeats, (e1 - e0) / (t1 - t0), float(np.median(clocks))


class FieldValue(ctypes.Structure):
    """NVML's nvmlFieldValue_t; the value is an unsigned number of milliwatts."""

    _fields_ = (
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("type", ctypes.c_int),
        ("failed", ctypes.c_int),
        ("value", ctypes.c_ulonglong),
    )


# --8<-- [start:pairs]
@dataclass
class Side:
    """What one of the two took, burst by burst, and what the meter said meanwhile."""

    seconds: list[float] = field(default_factory=list)  # per launch
    clocks: list[float] = field(default_factory=list)  # Hz
    watts: list[float] = field(default_factory=list)

    @property
    def clock(self) -> float:
        return float(np.mean(self.clocks)) if self.clocks else 0.0

    @property
    def power(self) -> float:
        return float(np.mean(self.watts)) if self.watts else 0.0


def burst(run: Callable[[], None], repeats: int, side: Side | None = None, meter: Meter | None = None) -> float:
    """Seconds per launch of so many without a pause; meanwhile the meter is read."""
    start, stop = cuda.Event(), cuda.Event()
    start.record()
    for _ in range(repeats):
        run()
    stop.record()
    if meter is not None and meter.works and side is not None:
        while not stop.query():
            side.clocks.append(meter.clock())
            side.watts.append(meter.watts())
    stop.synchronize()
    return float(stop.time_since(start)) * 1e-3 / repeats


def pairs(
    ours: Callable[[], None], theirs: Callable[[], None], seconds: float = 0.0, meter: Meter | None = None
) -> tuple[Side, Side]:
    """Time both in turn, in bursts, for about `seconds` or longer."""
    length = max(BURST, seconds / (2 * ROUNDS))
    runs, sides = (ours, theirs), (Side(), Side())
    repeats = [max(1, min(1000, round(length / burst(run, 2)))) for run in runs]
    for i in range(ROUNDS):
        for which in (0, 1) if i % 2 else (1, 0):
            runs[which]()
            sides[which].seconds.append(burst(runs[which], repeats[which], sides[which], meter))
    return sides


def share_of(ours: Side, theirs: Side) -> Spread:
    """How fast ours is in per cent of theirs, from bursts beside each other."""
    return spread([100 * b / a for a, b in zip(ours.seconds, theirs.seconds, strict=True)])


# --8<-- [end:pairs]
