"""Read a real device's profile through its driver and print it as JSON (for python/softcuda/profiles).

    python tools/read_device.py [ORDINAL] > profile.json

Needs an NVIDIA driver and nothing else; see tools/profiles.py for the format.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

ATTRIBUTES = Path(__file__).parent.parent / "python/softcuda/profiles/attributes.json"


def read_device(ordinal: int) -> dict:
    """The profile of device `ordinal`; SystemExit with one line if the driver refuses."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: object) -> None:
        if code := getattr(cuda, name)(*arguments):
            sys.exit(f"read_device.py: {name} answered error {code}")

    version, device, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    call("cuInit", 0)
    call("cuDriverGetVersion", ctypes.byref(version))
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDeviceGetName", name, len(name), device)
    call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    attributes = {}
    for attribute, number in json.loads(ATTRIBUTES.read_text()).items():
        value = ctypes.c_int()
        if cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
            attributes[attribute] = value.value
    major, minor = attributes["COMPUTE_CAPABILITY_MAJOR"], attributes["COMPUTE_CAPABILITY_MINOR"]
    return {
        "name": name.value.decode(),
        "compute_capability": [major, minor],
        "memory": memory.value,
        "source": f"read from the device, CUDA driver API {version.value // 1000}.{version.value % 1000 // 10}",
        "unknown": [],
        "attributes": attributes,
    }


if __name__ == "__main__":
    print(json.dumps(read_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0), indent=2))
