"""Ask the real CUDA driver whether it has a device.  Run as a script, in a process of its own; prints one JSON line.

A process of its own because a driver library cannot be had on trial: once a libcuda.so.1 is loaded another cannot
take its name, and a process that called cuInit can no longer fork one that uses CUDA.
"""

import ctypes
import json


def probe(library="libcuda.so.1"):
    """{"reason": why not} or {"devices": [name, ...], "version": 13000}."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return {"reason": "no libcuda.so.1 on this machine"}
    if hasattr(cuda, "softcuda_version"):
        return {"reason": "the libcuda.so.1 on the search path is softcuda's own"}
    code = cuda.cuInit(0)
    if code:
        text = ctypes.c_char_p()
        if hasattr(cuda, "cuGetErrorName"):
            cuda.cuGetErrorName(code, ctypes.byref(text))
        name = text.value.decode() if text.value else f"error {code}"
        return {"reason": f"the NVIDIA driver's cuInit answered {name}"}
    count, version = ctypes.c_int(), ctypes.c_int()
    code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code or count.value == 0:
        return {"reason": "the NVIDIA driver has no device"}
    cuda.cuDriverGetVersion(ctypes.byref(version))
    devices = []
    for ordinal in range(count.value):
        device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), ordinal)
        cuda.cuDeviceGetName(name, len(name), device)
        devices.append(name.value.decode(errors="replace"))
    return {"devices": devices, "version": version.value}


if __name__ == "__main__":
    print(json.dumps(probe()))
