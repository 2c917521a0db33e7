import numpy as np
from warpjudge import Budget, Cause, Exercise, Programs, Sizes

GROUP = 4


def order(rows, columns, group):
    """(row, column) of every program: `group` rows of tiles at a time, column by column."""
    tiles = [
        (row, column)
        for first in range(0, rows, group)
        for column in range(columns)
        for row in range(first, min(first + group, rows))
    ]
    return np.array(tiles, np.int32).T


def inputs(random, rows, columns):
    return {"rows": rows, "columns": columns}


def reference(rows, columns):
    row, column = order(rows, columns, GROUP)
    return {"row_of": row, "column_of": column}


def whole_groups(rows, columns):
    """The order of somebody who takes every group to have GROUP rows."""
    program = np.arange(rows * columns)
    group, inside = np.divmod(program, GROUP * columns)
    return {"row_of": group * GROUP + inside % GROUP, "column_of": inside // GROUP}


def row_by_row(rows, columns):
    program = np.arange(rows * columns)
    return {"row_of": program // columns, "column_of": program % columns}


def from_zero(rows, columns):
    row, column = order(rows, columns, GROUP)
    return {"row_of": row % GROUP, "column_of": column}


def of_all_programs(rows, columns):
    """The order of somebody who divides the program's number, and not its number within the group."""
    program = np.arange(rows * columns)
    first = program // (GROUP * columns) * GROUP
    height = np.minimum(rows - first, GROUP)
    return {"row_of": first + program % height, "column_of": program // height}


def exchanged(rows, columns):
    row, column = order(rows, columns, GROUP)
    return {"row_of": column, "column_of": row}


KNOWN = {
    "last-group": (
        whole_groups,
        "{size}: {name} is wrong in the last group, which has fewer rows of tiles than GROUP",
        "{size}：{name} 在最后一组出错：这一组的行数少于 GROUP",
    ),
    "row-by-row": (
        row_by_row,
        "{size}: {name} is that of the order row by row: GROUP programs in a row should share a column",
        "{size}：{name} 还是逐行的次序：应当让连续 GROUP 个程序实例位于同一列",
    ),
    "from-zero": (
        from_zero,
        "{size}: {name} counts from 0 in every group: add the group's first row",
        "{size}：{name} 在每一组里都从 0 数起：要加上这一组的第一行",
    ),
    "not-within-group": (
        of_all_programs,
        "{size}: {name} follows from the number of the program among all programs; within a group, count from the "
        "group's first program",
        "{size}：{name} 是用程序实例在全部程序实例中的编号算出来的；组内应当从这一组的第一个程序实例数起",
    ),
    "exchanged": (
        exchanged,
        "{size}: {name} holds what the other output should: row and column are exchanged",
        "{size}：{name} 里是另一个输出应有的值：行和列颠倒了",
    ),
}


def known(failure):
    """An order that somebody would have written."""
    rows, columns = int(failure.inputs["rows"]), int(failure.inputs["columns"])
    for name, (order_of, english, chinese) in KNOWN.items():
        if np.array_equal(failure.got, order_of(rows, columns)[failure.name]):
            return Cause(name, {"name": failure.name}, {"en": english, "zh": chinese})
    return None


exercise = Exercise(
    kernel="def order(row_of, column_of, rows, columns, GROUP: tl.constexpr)",
    types="int* row_of, int* column_of, int rows, int columns",
    sizes=Sizes([(1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (4, 4), (8, 3), (9, 9), (7, 6), (11, 5), (6, 13), (16, 16)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns: Programs(rows * columns, num_warps=1, GROUP=GROUP),
    causes=(known,),
    budget=Budget(at=(22, 16), instructions_per_warp=30),
)
