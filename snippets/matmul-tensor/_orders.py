"""What the L2 fetches from DRAM for a product of tiles, by the order in which blocks take them: a model."""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise

# --8<-- [start:orders]
ROWS, COLUMNS, BLOCKS = 128, 256, 132  # of C per tile; blocks at once
Tile = tuple[int, int]  # its row and its column, counted in tiles


def row_by_row(rows: int, columns: int) -> list[list[Tile]]:
    """v8: along a row of tiles, then the next row. Each list is what the blocks compute at the same time."""
    tiles = [(row, column) for row in range(rows) for column in range(columns)]
    return [tiles[i : i + BLOCKS] for i in range(0, len(tiles), BLOCKS)]


def runs(rows: int, columns: int) -> list[list[Tile]]:
    """v9: the same, but each block takes neighbours one after the other."""
    count = rows * columns
    firsts = [count * block // BLOCKS for block in range(BLOCKS + 1)]
    longest = max(last - first for first, last in pairwise(firsts))
    waves: list[list[Tile]] = [[] for _ in range(longest)]
    for first, last in pairwise(firsts):
        for i, t in enumerate(range(first, last)):
            waves[i].append(divmod(t, columns))
    return waves


def grouped(rows: int, columns: int, group: int = 16) -> list[list[Tile]]:
    """v10: down the columns of a group of rows."""
    tiles = [
        (first + row, column)
        for first in range(0, rows, group)
        for column in range(columns)
        for row in range(min(group, rows - first))
    ]
    return [tiles[i : i + BLOCKS] for i in range(0, len(tiles), BLOCKS)]


# --8<-- [end:orders]
# --8<-- [start:model]
def dram_bytes(waves: list[list[Tile]], n: int, cache: float = 60 * 2**20, slabs: int = 32, back: bool = False) -> int:
    """Bytes of A and B that the L2 fetches if the blocks of a wave go along K together, every second wave `back`.

    The L2 drops what was used longest ago. K is cut into `slabs`; a wave wants, slab by slab, the rows of A and of B
    that its tiles have, each once. Its tiles of C take room, too.
    """
    kept: OrderedDict[tuple[str, int, int], int] = OrderedDict()
    held = fetched = 0

    def touch(key: tuple[str, int, int], size: int, fetch: bool) -> None:
        nonlocal held, fetched
        if key in kept:
            kept.move_to_end(key)
            return
        fetched += size if fetch else 0
        held += size
        kept[key] = size
        while held > cache:
            held -= kept.popitem(last=False)[1]

    for i, wave in enumerate(waves):
        for slab in reversed(range(slabs)) if back and i % 2 else range(slabs):
            for row in sorted({row for row, _ in wave}):
                touch(("A", row, slab), ROWS * n * 2 // slabs, True)
            for column in sorted({column for _, column in wave}):
                touch(("B", column, slab), COLUMNS * n * 2 // slabs, True)
        for row, column in wave:
            touch(("C", row, column), ROWS * COLUMNS * 2, False)
    return fetched


# --8<-- [end:model]
ORDERS = {"v8": row_by_row, "v9": runs, "v10": grouped, "v14": grouped}


def table(n: int) -> Iterator[tuple[str, int, float, int]]:
    """Of each order: its name, waves, rows of A and B that a wave wants (mean), bytes fetched."""
    rows, columns = -(-n // ROWS), -(-n // COLUMNS)
    for name, order in ORDERS.items():
        waves = order(rows, columns)
        wanted = [ROWS * len({r for r, _ in wave}) + COLUMNS * len({c for _, c in wave}) for wave in waves]
        yield name, len(waves), sum(wanted) / len(wanted), dram_bytes(waves, n, back=name == "v14")
