"""Class-level boundaries of label maps: one-hot then convolve, and four fused ways; held against SciPy, then timed.

python boundary.py             check; on a GPU also time 16 maps of 1024 x 2048 with 19 classes
python boundary.py --profile   launch every way once for a profiler
"""

import itertools
import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _boundary import EVERY, KNOWN, Maps
from _bytes import CLASSES, WAYS, bytes_per_pixel
from _scenes import VOID, scene


def check(rng: np.random.Generator) -> None:
    for h, w, images in ((1, 4, 2), (5, 36, 3), (8, 32, 1), (33, 132, 2)):
        maps = Maps(np.stack([scene(rng, h, w, 12) for _ in range(images)]))
        for way in WAYS:
            maps.run(way)
        maps.counted = KNOWN
        maps.run("v4")
        print(f"{images} maps of {h:2} x {w:3}: {', '.join(WAYS)} right, every pixel")


# --8<-- [start:exhaustive]
def check_every_map(h: int, w: int) -> int:
    """Every map of two classes and void: what the word of a pixel says of edges, and what one-hot and Laplacian say."""
    labels = np.array(list(itertools.product((0, 1, VOID), repeat=h * w)), np.uint8).reshape(-1, h, w)
    for part in np.array_split(labels, -(-len(labels) // 3000)):
        maps = Maps(part, ("v0", "v1", "v2"))
        for way in ("v0", "v1", "v2"):
            maps.run(way)
    return len(labels)


# --8<-- [end:exhaustive]


def measure(rng: np.random.Generator, images: int, h: int, w: int) -> None:
    drawn = [scene(rng, h, w, 64) for _ in range(4)]
    labels = np.stack([np.roll(drawn[i % 4], int(rng.integers(w)), 1) for i in range(images)])
    pixels = labels.size
    maps = Maps(labels, copies=wb.rotation(pixels))
    spare = cuda.mem_alloc(pixels)
    copy = maps.module.get_function("copy")
    threads = pixels // 16

    def launch_copy(i: int) -> None:
        source = maps.inputs[i % len(maps.inputs)]
        copy(source, spare, np.int32(threads), grid=(-(-threads // 256), 1), block=(256, 1, 1))

    def check_copy(_: int) -> None:
        got = np.empty_like(labels)
        cuda.memcpy_dtoh(got, spare)
        wb.check(got, labels, 0, "copy")

    t = wb.time(launch_copy, poison=lambda _: cuda.memset_d8_async(spare, 0xFF, pixels), check=check_copy)
    wb.timing("copy", t, 2 * pixels)
    print(f"\n{images} maps of {h} x {w}, {CLASSES} classes\n{'':5}{'µs':>9}{'GB/s':>8}{'B/pixel':>9}{'Gpixel/s':>10}")
    print(f"copy {t.median * 1e6:9.1f}{2 * pixels / t.median / 1e9:8.0f}{2:9}{pixels / t.median / 1e9:10.1f}")
    for way in WAYS:
        at = int(rng.integers(images))
        t = wb.time(
            lambda i, way=way: maps.launch(way, i),
            poison=lambda _, way=way: maps.poison(way),
            check=lambda _, way=way, at=at: maps.check(way, slice(at, at + 1)),
        )
        moved = bytes_per_pixel(way)
        wb.timing(way, t, round(moved * pixels))
        rate = moved * pixels / t.median / 1e9
        print(f"{way:5}{t.median * 1e6:9.1f}{rate:8.0f}{moved:9.3f}{pixels / t.median / 1e9:10.1f}")


def profile(rng: np.random.Generator, h: int, w: int) -> None:
    maps = Maps(scene(rng, h, w, 24)[None])
    assert maps.counted == EVERY
    for way in WAYS:
        maps.run(way)
    print(f"{', '.join(WAYS)} on a map of {h} x {w}: right, every pixel")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:  # the same map each time, as in metrics.py
        profile(np.random.default_rng(20), *((1024, 2048) if wb.is_gpu() else (64, 256)))
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check(generator)
    print(f"all {check_every_map(3, 3)} maps of 3 x 3 with two classes and void: right")
    if wb.is_gpu():
        wb.needs(memory=8 * 2**30)
        measure(generator, 16, 1024, 2048)
    else:
        print("no GPU: nothing is timed")
