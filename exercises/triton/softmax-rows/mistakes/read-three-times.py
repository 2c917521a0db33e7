# slow: bytes
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    largest = float("-inf")
    for j in range(columns):
        largest = tl.maximum(largest, tl.load(x + row + j))  # <-- here
    total = 0.0
    for j in range(columns):
        total += tl.exp(tl.load(x + row + j) - largest)  # <-- here
    value = tl.load(x + row + i, mask=inside)
    tl.store(out + row + i, tl.exp(value - largest) / total, mask=inside)
