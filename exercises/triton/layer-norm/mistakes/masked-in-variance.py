# wrong: masked-in-variance, no line
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    value = tl.load(x + row + i, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / columns
    deviation = value - mean
    variance = tl.sum(deviation * deviation, axis=0) / columns
    normal = deviation * tl.rsqrt(variance + epsilon)
    w = tl.load(weight + i, mask=inside)
    b = tl.load(bias + i, mask=inside)
    tl.store(out + row + i, normal * w + b, mask=inside)
