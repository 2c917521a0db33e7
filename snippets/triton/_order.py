"""The order in which programs take their tiles, in Python, and what it costs the L2: a model."""

from collections import OrderedDict

# --8<-- [start:tile]
Tile = tuple[int, int]  # its row and its column, counted in tiles


def tile(program: int, rows: int, columns: int, group: int) -> Tile:
    """The tile of a program: down the columns of a group of rows."""
    first = program // (group * columns) * group
    height = min(rows - first, group)
    place = program % (group * columns)
    return first + place % height, place // height


def loads(programs: int, rows: int, columns: int, group: int, depth: int) -> int:
    """Tiles of A and B, each counted once, that the first programs need; K is `depth` tiles long."""
    taken = [tile(program, rows, columns, group) for program in range(programs)]
    return depth * (len({row for row, _ in taken}) + len({column for _, column in taken}))


# --8<-- [end:tile]


# --8<-- [start:memory]
def from_memory(n: int, side: Tile, group: int, at_once: int, cache: float = 60 * 2**20, slabs: int = 32) -> int:
    """Bytes of A and B (n x n, fp16) that the L2 fetches if `at_once` programs go along K together.

    The L2 drops what was used longest ago. K is cut into slabs: slab by slab the programs want the rows of A and the
    columns of B of their tiles, each once. What they write of C takes room, too.
    """
    height, width = side
    rows, columns = -(-n // height), -(-n // width)
    kept: OrderedDict[tuple[str, int, int], int] = OrderedDict()
    held = fetched = 0

    def touch(key: tuple[str, int, int], size: int) -> int:
        nonlocal held
        if key in kept:
            kept.move_to_end(key)
            return 0
        kept[key] = size
        held += size
        while held > cache:
            held -= kept.popitem(last=False)[1]
        return size

    for begin in range(0, rows * columns, at_once):
        wave = [tile(p, rows, columns, group) for p in range(begin, min(begin + at_once, rows * columns))]
        for slab in range(slabs):
            fetched += sum(touch(("A", row, slab), height * n * 2 // slabs) for row in {row for row, _ in wave})
            fetched += sum(touch(("B", column, slab), width * n * 2 // slabs) for column in {at for _, at in wave})
        for row, column in wave:
            touch(("C", row, column), height * width * 2)
    return fetched


# --8<-- [end:memory]
