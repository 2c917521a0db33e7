import triton
import triton.language as tl


@triton.jit
def order(row_of, column_of, rows, columns, GROUP: tl.constexpr):
    program = tl.program_id(0)
    row, column = 0, 0
    # your code
    group = program // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    inside = program % (GROUP * columns)
    row = first + inside % height
    column = inside // height
    # end of your code
    tl.store(row_of + program, row)
    tl.store(column_of + program, column)
