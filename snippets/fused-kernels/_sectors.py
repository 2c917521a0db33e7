"""The sectors that each kernel of fused.cu loads and stores, predicted from its shape."""

from _fused import MOVED, backward_threads, classifier_threads, forward_threads, partial_lines


def sectors(name: str, rows: int, n: int) -> tuple[int, int]:
    """Sectors of 32 bytes that the warps of one launch load and store, counted by hand; n is a multiple of 128."""
    row, warps = n // 8, (backward_threads if "backward" in name else forward_threads)(n) // 32
    if name == "norm_columns":  # two arrays of partial sums; a sum is stored alone
        return 2 * partial_lines(rows, n) * row, 2 * n
    read, written = (floats * rows * row for floats in MOVED[name])
    if name == "layernorm_forward":
        return read + 2 * rows * row, written + 2 * rows  # gamma, beta: from a cache; mean and scale of each row
    if name == "rmsnorm_forward":
        return read + rows * row, written + rows
    if name == "layernorm_backward":  # gamma again; each warp reads mean and scale
        return read + rows * (row + 2 * warps), written + 2 * partial_lines(rows, n) * row
    if name == "rmsnorm_backward":
        return read + rows * (row + warps), written + partial_lines(rows, n) * row
    if name == "classifier":  # each warp reads the label, one thread the logit of it, whose gradient it corrects
        return read + rows * (classifier_threads(n) // 32 + 1), written + 2 * rows
    return read, written
