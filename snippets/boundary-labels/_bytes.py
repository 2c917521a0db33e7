"""Five ways to boundaries, and the bytes that each must move."""

CLASSES = 19
# Kernels in their order: what each reads and writes.
WAYS = {
    "v0": [("one_hot", "labels", "planes"), ("convolve", "planes", "edges")],
    "v1": [("edge_planes", "labels", "edges")],
    "v2": [("class_sets", "labels", "sets")],
    "v3": [("class_sets_by_four", "labels", "sets")],
    "v4": [("edge_bits", "labels", "bits")],
}
# --8<-- [start:bytes]
BYTES = {"labels": 1, "planes": 4 * CLASSES, "edges": 4 * CLASSES, "sets": 4, "bits": 1 / 8}  # per pixel


def bytes_per_pixel(way: str) -> float:
    """What the kernels of a way must read and write, if no cache keeps anything from one to the next."""
    return sum(BYTES[reads] + BYTES[writes] for _, reads, writes in WAYS[way])


# --8<-- [end:bytes]
