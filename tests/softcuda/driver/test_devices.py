"""Several devices: SOFTCUDA_DEVICES=2, or a list of profiles."""

from __future__ import annotations

import pytest

START = """
import ctypes, sys
import numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
raw = ctypes.CDLL(None)
cuda.init()
devices = [cuda.Device(i) for i in range(cuda.Device.count())]
"""
TWO = """
contexts = [device.make_context() for device in devices]  # the last one is current
source = "__global__ void add(int *a, int by) { a[threadIdx.x] += by; }"
def on(i): cuda.Context.pop(); contexts[i].push()
def host(memory): cuda.memcpy_dtoh(got := np.zeros(32, np.int32), memory); return int(got[0]), int(got[31])
handles = [ctypes.c_void_p(context.handle) for context in contexts]
"""
END = """
import os; sys.stdout.flush(); os._exit(0)
"""


def test_a_number_of_devices(program):
    done = program(START + "print([d.name() for d in devices], len({d.pci_bus_id() for d in devices}))",
                   SOFTCUDA_DEVICES="3", SOFTCUDA_DEVICE="t4")  # fmt: skip
    assert done.stdout == f"{['Tesla T4 (softcuda)'] * 3} 3\n", done.stderr


def test_a_list_of_profiles(program):
    done = program(START + "print([(d.compute_capability(), d.total_memory()) for d in devices])",
                   SOFTCUDA_DEVICES="h200,t4", SOFTCUDA_MEMORY="1G")  # fmt: skip
    assert done.stdout == "[((9, 0), 1073741824), ((7, 5), 1073741824)]\n", done.stderr


@pytest.mark.parametrize("value", ["0", "17", "h200,", "2,t4", "-1"])
def test_bad_settings_are_one_line(program, value):
    done = program("import pycuda.driver as cuda\ntry:\n    cuda.init()\nexcept cuda.Error as error:\n    print(error)",
                   SOFTCUDA_DEVICES=value)  # fmt: skip
    assert (done.stdout + done.stderr).count("SOFTCUDA_DEVICES=") == 1, done.stdout + done.stderr


def test_each_device_has_its_memory_and_its_kernels(program):
    done = program(START + TWO + """
results = []
for i in (1, 0):
    on(i)
    free = cuda.mem_get_info()[0]
    memory = cuda.to_device(np.full(32, 10, np.int32))
    SourceModule(source).get_function("add")(memory, np.int32(i), block=(32, 1, 1))
    results.append((cuda.Context.get_device().pci_bus_id() == devices[i].pci_bus_id(),
                    free - cuda.mem_get_info()[0] > 0, host(memory)))
print(results)
""" + END, SOFTCUDA_DEVICES="2")  # fmt: skip
    assert done.stdout == "[(True, True, (11, 11)), (True, True, (10, 10))]\n", done.stderr


def test_copies_between_devices_need_no_peer_access(program):
    done = program(START + TWO + """
on(1); there = cuda.to_device(np.full(32, 7, np.int32))
on(0); here = cuda.to_device(np.zeros(32, np.int32))
cuda.memcpy_peer(here, there, 128, contexts[0], contexts[1])
print(host(here))
cuda.memcpy_dtod(there, here, 64)
print(host(there))
""" + END, SOFTCUDA_DEVICES="2")  # fmt: skip
    assert done.stdout == "(7, 7)\n(7, 7)\n", done.stderr


PEER = START + TWO + """
on(1); there = cuda.to_device(np.full(32, 7, np.int32))
on(0)
add = SourceModule(source).get_function("add")
can = ctypes.c_int()
raw.cuDeviceCanAccessPeer(ctypes.byref(can), 0, 1)
codes = [raw.cuCtxDisablePeerAccess(handles[1]), raw.cuCtxEnablePeerAccess(handles[0], 0)]
if ENABLE:
    codes += [raw.cuCtxEnablePeerAccess(handles[1], 0), raw.cuCtxEnablePeerAccess(handles[1], 0)]
print(can.value, codes)
add(there, np.int32(1), block=(32, 1, 1))
try:
    contexts[0].synchronize()
    print(host(there))
except cuda.Error as error:
    print(error)
""" + END  # fmt: skip


def test_kernels_use_a_peers_memory_once_access_is_enabled(program):
    done = program(PEER.replace("ENABLE", "True"), SOFTCUDA_DEVICES="2")
    assert done.stdout == "1 [705, 201, 0, 704]\n(8, 8)\n", done.stderr


def test_without_access_a_peers_memory_is_no_memory(program):
    done = program(PEER.replace("ENABLE", "False"), SOFTCUDA_DEVICES="2", SOFTCUDA_QUIET="0")
    assert done.stdout.startswith("1 [705, 201]\n") and "illegal memory access" in done.stdout, done.stderr
    assert "memory of device 1, the kernel ran on device 0 without peer access" in done.stderr


@pytest.mark.parametrize("devices", ["rtx4090,rtx4090", "h200,t4"])
def test_access_is_refused_by_profile(program, devices):
    done = program(PEER.replace("ENABLE", "True"), SOFTCUDA_DEVICES=devices)
    assert done.stdout.startswith("0 [705, 201, 217, 217]\n") and "illegal memory access" in done.stdout, done.stderr


def test_pinned_and_managed_memory_is_everybodys(program):
    done = program(START + TWO + """
on(1)
pinned = cuda.pagelocked_zeros(32, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
managed = cuda.managed_zeros(32, np.int32, mem_flags=cuda.mem_attach_flags.GLOBAL)
on(0)
add = SourceModule(source).get_function("add")
for array in (pinned, managed):
    add(np.uintp(array.ctypes.data), np.int32(5), block=(32, 1, 1))
contexts[0].synchronize()
print(pinned[31], managed[31])
""" + END, SOFTCUDA_DEVICES="2")  # fmt: skip
    assert done.stdout == "5 5\n", done.stderr


def test_peer_attributes(program):
    done = program(START + """
value, answers = ctypes.c_int(), []
for attribute in (2, 3):  # ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED
    answers.append((raw.cuDeviceGetP2PAttribute(ctypes.byref(value), attribute, 0, 1), value.value))
answers.append(raw.cuDeviceGetP2PAttribute(ctypes.byref(value), 2, 0, 0))
answers.append(raw.cuDeviceGetP2PAttribute(ctypes.byref(value), 2, 0, 5))
print(answers)
""", SOFTCUDA_DEVICES="2")  # fmt: skip
    assert done.stdout == "[(0, 1), (0, 1), 101, 101]\n", done.stderr
