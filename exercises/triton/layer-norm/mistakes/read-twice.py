# slow: bytes
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    mean = 0.0
    for j in range(columns):
        mean += tl.load(x + row + j)  # <-- here
    mean /= columns
    deviation = tl.where(inside, tl.load(x + row + i, mask=inside) - mean, 0.0)
    variance = tl.sum(deviation * deviation, axis=0) / columns
    normal = deviation * tl.rsqrt(variance + epsilon)
    w = tl.load(weight + i, mask=inside)
    b = tl.load(bias + i, mask=inside)
    tl.store(out + row + i, normal * w + b, mask=inside)
