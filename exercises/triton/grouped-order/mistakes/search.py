# slow: instructions
import triton
import triton.language as tl


@triton.jit
def order(row_of, column_of, rows, columns, GROUP: tl.constexpr):
    program = tl.program_id(0)
    row, column = 0, 0
    first = 0
    left = program
    while left >= min(rows - first, GROUP) * columns:  # <-- here
        left -= min(rows - first, GROUP) * columns  # <-- here
        first += GROUP  # <-- here
    height = min(rows - first, GROUP)
    row = first + left % height
    column = left // height
    tl.store(row_of + program, row)
    tl.store(column_of + program, column)
