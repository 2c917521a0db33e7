"""A compiler in eighty lines: it traces a Python function and emits one CUDA kernel for all that the function computes.

python mini.py   fifty random functions, as fifty kernels of one module, against NumPy in double precision
"""

import random

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from pycuda import gpuarray
from pycuda.compiler import SourceModule

# --8<-- [start:trace]
CUDA = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "max": "fmaxf({}, {})",
        "neg": "-{}", "abs": "fabsf({})", "sqrt": "sqrtf({})"}  # fmt: skip


def recorded(operation):
    return lambda self, *others: self.graph.record(operation, self, *others)


class Value:
    """A number that is not known yet: the operation that will compute it, and what from."""

    def __init__(self, graph, operation, inputs):
        self.graph, self.operation, self.inputs = graph, operation, inputs

    def __bool__(self):
        raise TypeError("branch on a value that is not known yet; this compiler has no graph breaks")

    __add__, __sub__, __mul__, __truediv__ = map(recorded, ("add", "sub", "mul", "div"))
    __neg__, __abs__, sqrt, maximum = map(recorded, ("neg", "abs", "sqrt", "max"))


class Graph:
    """What a function does with its arguments: arrays are values, and numbers are constants of the kernel."""

    def __init__(self, function, kinds):
        self.values = {}
        self.arrays = [i for i, kind in enumerate(kinds) if kind == "array"]
        named = [self.record(f"x{i}[i]") if kind == "array" else kind for i, kind in enumerate(kinds)]
        self.result = function(*named)

    def record(self, operation, *inputs):
        """The same operation on the same values is computed once."""
        inputs = [each if isinstance(each, Value) else self.record(f"{float(each)!r}f") for each in inputs]
        return self.values.setdefault((operation, *map(id, inputs)), Value(self, operation, inputs))

    def live(self):
        """The values that the result needs, each after what it is computed from."""
        order = {}

        def visit(value):
            if value not in order:
                for each in value.inputs:
                    visit(each)
                order[value] = f"v{len(order)}"

        visit(self.result)
        return order


# --8<-- [end:trace]
# --8<-- [start:emit]
def emit(graph, name):
    """One CUDA kernel: a line for each argument, constant and operation that the result needs, and one store."""
    names = graph.live()
    lines = []
    for value, variable in names.items():
        text = CUDA.get(value.operation, value.operation).format(*[names[each] for each in value.inputs])
        lines.append(f"    float {variable} = {text};")
    arrays = "".join(f"const float *x{i}, " for i in graph.arrays)
    return "\n".join([
        f"__global__ void {name}({arrays}float *out, int n) {{",
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "    if (i >= n) return;",
        *lines,
        f"    out[i] = {names[graph.result]};",
        "}\n",
    ])  # fmt: skip


def launch(kernel, arrays):
    out = gpuarray.empty_like(arrays[0])
    out.fill(np.float32("nan"))
    kernel(*arrays, out, np.int32(out.size), block=(256, 1, 1), grid=(-(-out.size // 256), 1))
    return out


def compiled(function):
    """The function as a kernel, compiled at the first call, and again for arguments that its guards do not let in."""
    kernels = {}

    def call(*arguments):
        guard = tuple("array" if isinstance(each, gpuarray.GPUArray) else each for each in arguments)
        if guard not in kernels:
            call.sources.append(emit(Graph(function, guard), "fused"))
            kernels[guard] = SourceModule(call.sources[-1]).get_function("fused")
        return launch(kernels[guard], [each for each in arguments if isinstance(each, gpuarray.GPUArray)])

    call.sources = []
    return call


# --8<-- [end:emit]
# --8<-- [start:bounded]
class Bounded:
    """A result in double precision, and how far the same operations in float32 may lie from it."""

    def __init__(self, value, error):
        self.value, self.error = value, error

    def rounded(self):
        return Bounded(self.value, self.error + 2.0**-24 * (abs(self.value) + self.error) + 2.0**-149)

    def __add__(self, other):
        return Bounded(self.value + other.value, self.error + other.error).rounded()

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        return Bounded(self.value * other.value, error).rounded()

    def __truediv__(self, other):
        value = self.value / other.value
        return Bounded(value, (self.error + abs(value) * other.error) / (abs(other.value) - other.error)).rounded()

    def __neg__(self):
        return Bounded(-self.value, self.error)

    def __abs__(self):
        return Bounded(abs(self.value), self.error)

    def sqrt(self):
        value = np.sqrt(self.value)
        below = value - np.sqrt(np.maximum(self.value - self.error, 0))
        return Bounded(value, np.maximum(below, np.sqrt(self.value + self.error) - value)).rounded()

    def maximum(self, other):
        return Bounded(np.maximum(self.value, other.value), np.maximum(self.error, other.error))


# --8<-- [end:bounded]
# --8<-- [start:trees]
ARGUMENTS, DEPTH = 4, 6


def tree(rng, depth=DEPTH):
    """A random expression: an argument's number, or an operation and its operands."""
    if depth == 0 or rng.random() < 0.1:
        return rng.randrange(ARGUMENTS)
    operation = rng.choice(["add", "sub", "mul", "div", "max", "neg", "abs", "sqrt"])
    return (operation, *[tree(rng, depth - 1) for _ in range(1 if operation in ("neg", "abs", "sqrt") else 2)])


def evaluate(expression, arguments):
    """The expression of whatever has operators: of values that are traced, or of bounded arrays."""
    if isinstance(expression, int):
        return arguments[expression]
    operation, a, *rest = expression[0], *[evaluate(each, arguments) for each in expression[1:]]
    match operation, *rest:
        case "neg", *_:
            return -a
        case "abs", *_:
            return abs(a)
        case "sqrt", *_:
            return abs(a).sqrt()
        case "max", b:
            return a.maximum(b)
        case "add", b:
            return a + b
        case "sub", b:
            return a - b
        case "mul", b:
            return a * b
        case "div", b:
            return a / (b * b + arguments[-1])  # the last argument is one: no division by nearly zero


# --8<-- [end:trees]


def fifty(rng, n):
    trees = [tree(rng) for _ in range(50)]
    guard = ("array",) * ARGUMENTS + (1.0,)
    graphs = [Graph(lambda *arguments, each=each: evaluate(each, arguments), guard) for each in trees]
    module = SourceModule("".join(emit(graph, f"fused_{i}") for i, graph in enumerate(graphs)))
    arrays = np.random.default_rng().uniform(-1, 1, (ARGUMENTS, n)).astype(np.float32)
    exact = [Bounded(array.astype(np.float64), 0.0) for array in arrays] + [Bounded(1.0, 0.0)]
    worst = 0.0
    for i, each in enumerate(trees):
        got = launch(module.get_function(f"fused_{i}"), [gpuarray.to_gpu(array) for array in arrays])
        want = evaluate(each, exact)
        worst = max(worst, wb.check(got.get(), want.value, want.error, what=f"tree {i}: {each}"))
    recorded = sum(map(operations, trees))
    emitted = sum(value.operation in CUDA for graph in graphs for value in graph.live())
    print(f"50 random functions of {ARGUMENTS} arrays of {n} numbers: 50 kernels, all within their bounds")
    print(f"this run: {recorded} operations written, {emitted} emitted; at most {worst:.2f} of a bound used")


def operations(expression):
    """How many operations NumPy would do."""
    if isinstance(expression, int):
        return 0
    return {"div": 3, "sqrt": 2}.get(expression[0], 1) + sum(map(operations, expression[1:]))


if __name__ == "__main__":
    fifty(random.Random(), 1000)
