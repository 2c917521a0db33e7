#!/usr/bin/env bash
# softcuda for arm64: compile it with Debian's cross compiler and, where qemu-user is, try it.  `make aarch64` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
compiler=aarch64-linux-gnu-g++
build=softcuda/build/aarch64

if ! command -v $compiler >/dev/null; then
    echo "no $compiler on this machine: apt-get install g++-aarch64-linux-gnu (and qemu-user, to try what it makes)" >&2
    exit 1
fi
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' softcuda/python/softcuda/__init__.py)
cmake -G Ninja -S softcuda -B $build -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_CXX_COMPILER=$compiler -DSKBUILD_PROJECT_VERSION="$version" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
ninja -C $build
include=$(echo .venv/lib/python3*/site-packages/nvidia/cu13/include)
$compiler -std=c++20 -isystem "$include" softcuda/tools/smoke.cpp -o $build/smoke
if command -v qemu-aarch64 >/dev/null; then
    qemu-aarch64 -L /usr/aarch64-linux-gnu $build/smoke $build/package/libcuda.so.1
else
    echo "compiled; there is no qemu-aarch64 to try it: apt-get install qemu-user"
fi
