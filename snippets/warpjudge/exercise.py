"""What an exercise's judge.py declares: signature, sizes, inputs, reference, launch and budget."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import runpy
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if typing.TYPE_CHECKING:
    import numpy as np

Size = tuple[int, ...]
# Of a C++ type: NumPy's, and what PTX calls a parameter of it.
TYPES = {
    "float": ("float32", "f32"),
    "double": ("float64", "f64"),
    "int": ("int32", "u32"),
    "unsigned": ("uint32", "u32"),
    "long long": ("int64", "u64"),
    "unsigned long long": ("uint64", "u64"),
    "unsigned char": ("uint8", "u8"),
    "short": ("int16", "u16"),
    "__half": ("float16", "b16"),
}
# Of the same: what Triton calls the elements of a tensor, and a number.
TRITON_TENSORS = {"float": "fp32", "double": "fp64", "int": "i32", "long long": "i64", "unsigned char": "u8",
                  "short": "i16", "__half": "fp16"}  # fmt: skip
TRITON_NUMBERS = {"float": "fp32", "int": "i32", "long long": "i64"}


class ExerciseError(Exception):
    """A judge.py or its folder is wrong. The text is one line: where, what, what to do."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: `pointer` to many or a scalar; `constant`: the kernel does not write it."""

    name: str
    kind: str
    pointer: bool
    constant: bool

    @property
    def dtype(self) -> str:
        return TYPES[self.kind][0]

    @property
    def ptx(self) -> str:
        return "u64" if self.pointer else TYPES[self.kind][1]


def parse_signature(text: str) -> tuple[str, list[Parameter]]:
    """A kernel's name and its parameters, from "void scale(const float* x, int n)"."""
    match = re.fullmatch(r"\s*void\s+(\w+)\s*\((.*)\)\s*", text, re.DOTALL)
    if not match:
        raise ExerciseError(f'kernel="{text}": write it as "void name(const float* x, float* y, int n)"')
    parameters = []
    for part in match[2].split(","):
        words = re.fullmatch(r"\s*(const\s+)?([\w ]+?)\s*(\*?)\s*(?:__restrict__\s+)?(\w+)\s*", part)
        if not words or words[2] not in TYPES:
            raise ExerciseError(f'kernel="{text}": cannot read "{part.strip()}"; the types are {", ".join(TYPES)}')
        parameters.append(Parameter(words[4], words[2], bool(words[3]), bool(words[1])))
    return match[1], parameters


def parse_triton_signature(text: str, types: str) -> tuple[str, list[Parameter], list[str]]:
    """A Triton kernel's name, its tensors and numbers, its constexpr parameters.

    `text`: "def add(x, out, n, BLOCK: tl.constexpr)"; `types`: "const float* x, float* out, int n".
    """
    example = 'kernel="def add(x, out, n, BLOCK: tl.constexpr)", types="const float* x, float* out, int n"'
    try:
        [found] = ast.parse(f"{text}: pass").body
        assert isinstance(found, ast.FunctionDef)
    except (SyntaxError, ValueError, AssertionError):
        raise ExerciseError(f'kernel="{text}": write it as {example}') from None
    names = [one.arg for one in found.args.args]
    constants = [one.arg for one in found.args.args if one.annotation is not None]
    _, parameters = parse_signature(f"void {found.name}({types})")
    if [one.name for one in parameters] != [name for name in names if name not in constants]:
        raise ExerciseError(f'types="{types}": give the parameters of {text} that are no constexpr, in their order')
    for one in parameters:
        if one.kind not in (TRITON_TENSORS if one.pointer else TRITON_NUMBERS):
            raise ExerciseError(f'types="{types}": Triton\'s judge has no {one.kind} for {one.name}')
    return found.name, parameters, constants


@dataclass(frozen=True)
class Launch:
    """Blocks of a grid and threads of a block, each a number or a tuple (x, y, z); bytes of dynamic shared memory."""

    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    shared: int = 0

    @staticmethod
    def _three(value: int | tuple[int, ...]) -> tuple[int, int, int]:
        x, y, z, *_ = (*((value,) if isinstance(value, int) else value), 1, 1, 1)
        return int(x), int(y), int(z)

    @property
    def blocks(self) -> tuple[int, int, int]:
        return self._three(self.grid)

    @property
    def threads(self) -> tuple[int, int, int]:
        return self._three(self.block)

    @property
    def warps(self) -> int:
        x, y, z = self.blocks
        a, b, c = self.threads
        return x * y * z * -(-(a * b * c) // 32)


@dataclass(frozen=True, init=False)
class Programs(Launch):
    """Programs of a Triton kernel's grid, as `kernel[grid](…, BLOCK=256, num_warps=4)` has them."""

    num_warps: int = 4
    num_stages: int = 3
    constants: dict[str, Any] = field(default_factory=dict)

    def __init__(self, grid: int | tuple[int, ...], *, num_warps: int = 4, num_stages: int = 3, **constants: Any):
        super().__init__(grid, 32 * num_warps)
        for name, value in (("num_warps", num_warps), ("num_stages", num_stages), ("constants", constants)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Upper limits of counters, measured at the size `at`."""

    at: int | Size
    sectors_per_load: float | None = None
    sectors_per_store: float | None = None
    bank_conflicts: float | None = None
    instructions_per_warp: float | None = None
    bytes_loaded: float | None = None
    bytes_stored: float | None = None
    barriers_per_warp: float | None = None
    diverged_branches: float | None = None
    atomics: float | None = None

    def limits(self) -> dict[str, float]:
        return {
            one.name: value
            for one in dataclasses.fields(self)
            if one.name != "at" and (value := getattr(self, one.name)) is not None
        }


@dataclass(frozen=True)
class Cause:
    """Why an answer is wrong: a name in messages.toml with what its sentence needs, or an exercise's own sentences."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)  # by language, instead of messages.toml
    section: str = ""


@dataclass
class Failure:
    """One output of one run that is wrong."""

    exercise: Exercise
    size: Size
    launch: Launch
    inputs: dict[str, Any]
    name: str  # the output's
    got: np.ndarray
    want: np.ndarray  # float64 or integers
    bound: np.ndarray
    wrong: np.ndarray  # of booleans
    untouched: np.ndarray  # of booleans: as before the launch
    counts: dict[int, float] = field(default_factory=dict)  # of `linear`: how often an element counts, where not once
    # By cause, of elements of `linear`: the output that shows it, and by the cause another output or how many times.
    pairs: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What judge.py assigns to `exercise`; docs/developers/exercises.md explains the fields."""

    kernel: str
    types: str = ""  # of a Triton kernel: its tensors and numbers, as C++ declares them
    sizes: list[int] | list[Size]
    inputs: Callable[..., dict[str, Any]]
    reference: Callable[..., dict[str, Any]]
    launch: Callable[..., Launch]
    budget: Budget | None = None
    roundings: int = 0
    scale: Callable[..., dict[str, Any]] | None = None
    linear: str = ""
    causes: tuple[Callable[[Failure], Cause | None], ...] = ()

    def __post_init__(self) -> None:
        if self.is_triton:
            name, parameters, constants = parse_triton_signature(self.kernel, self.types)
        else:
            (name, parameters), constants = parse_signature(self.kernel), []
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "constants", constants)
        if not self.sizes:
            raise ExerciseError(f"{name}: sizes is empty; use sizes(block)")
        if self.linear and self.linear not in {one.name for one in parameters if one.pointer}:
            raise ExerciseError(f'{name}: linear="{self.linear}" is no array of the signature')

    name: str = field(init=False, default="")
    parameters: list[Parameter] = field(init=False, default_factory=list)
    constants: list[str] = field(init=False, default_factory=list)  # constexpr parameters of a Triton kernel

    @property
    def is_triton(self) -> bool:
        """Whether an answer is a Triton kernel, in Python; else it is CUDA C++."""
        return self.kernel.lstrip().startswith("def ")

    @property
    def axes(self) -> list[str]:
        """What the numbers of a size are called: as the parameters of `inputs` after `random`."""
        return list(inspect.signature(self.inputs).parameters)[1:]

    def all_sizes(self, random: Random) -> list[Size]:
        """Every size to judge, the smallest first; where `sizes` knows how, some that nobody can foresee."""
        fixed = [as_size(one) for one in self.sizes]
        fresh = self.sizes.fresh(random) if isinstance(self.sizes, Sizes) else []
        return sorted({*fixed, *fresh}, key=lambda size: (_volume(size), size))

    def make(self, random: Random, size: Size) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """(inputs, expected outputs) at this size. ExerciseError if they do not fit the signature."""
        import numpy as np

        given = dict(self.inputs(random, *size))
        for one in self.parameters:
            if one.name not in given and (not one.pointer or one.constant):
                raise ExerciseError(f"{self.name}: inputs() gives no {one.name}, which the kernel reads")
            if one.name in given:
                given[one.name] = np.asarray(given[one.name], one.dtype)
        return given, self.expected(given)

    def expected(self, given: dict[str, Any]) -> dict[str, np.ndarray]:
        import numpy as np

        copies = {name: value.copy() if value.ndim else value[()] for name, value in given.items()}
        found = {name: np.asarray(value) for name, value in self.reference(**copies).items()}
        outputs = {one.name for one in self.parameters if one.pointer and not one.constant}
        if found.keys() != outputs:
            raise ExerciseError(f"{self.name}: reference() gives {sorted(found)}, the outputs are {sorted(outputs)}")
        for name, value in found.items():
            if value.dtype.kind == "f" and value.dtype.itemsize < 8:
                raise ExerciseError(f"{self.name}: reference() gives {name} as {value.dtype}; compute it in float64")
        return found

    def bounds(self, given: dict[str, Any], want: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """How far each element may be off: k roundings to the output's type, γ(k) = k u / (1 - k u), of its scale."""
        import numpy as np

        scales = self.scale(**given) if self.scale else {}
        bounds = {}
        for one in self.parameters:
            if one.name not in want:
                continue
            reference = want[one.name]
            if self.roundings == 0 or reference.dtype.kind != "f":
                bounds[one.name] = np.zeros(reference.shape)
                continue
            kind = np.finfo(one.dtype)
            unit = float(kind.eps) / 2
            gamma = self.roundings * unit / (1 - self.roundings * unit)
            size = np.broadcast_to(np.abs(np.asarray(scales.get(one.name, reference), np.float64)), reference.shape)
            bounds[one.name] = gamma * size + self.roundings * float(kind.smallest_subnormal) / 2
        return bounds

    def is_too_loose(self, size: Size, seed: int = 1) -> bool:
        """Whether an answer with inputs or results in half precision would pass at this size."""
        import numpy as np

        given, want = self.make(Random(seed), size)
        bounds = self.bounds(given, want)
        floats = {name for name, value in want.items() if value.dtype.kind == "f"}
        if not floats:
            return False
        halved = {
            name: value.astype(np.float16).astype(value.dtype) if value.ndim and value.dtype.kind == "f" else value
            for name, value in given.items()
        }
        low = self.expected(halved)
        with np.errstate(over="ignore"):
            rounded = {name: want[name].astype(np.float16).astype(np.float64) for name in floats}
        candidates = [rounded]
        if any(np.any(halved[name] != value) for name, value in given.items()):  # not of inputs that are halves anyway
            candidates.append(low)
        return any(all((np.abs(one[name] - want[name]) <= bounds[name]).all() for name in floats) for one in candidates)


def _volume(size: Size) -> int:
    product = 1
    for one in size:
        product *= one
    return product


def as_size(size: int | Iterable[int]) -> Size:
    return (size,) if isinstance(size, int) else tuple(size)


class Sizes(list[Any]):
    """Sizes to judge, and how far secret ones may go."""

    def fresh(self, random: Random) -> list[Size]:
        """Three more, within the range of those listed."""
        most = [max(axis) for axis in zip(*(as_size(one) for one in self), strict=True)]
        return [tuple(int(random.generator.integers(1, top + 1)) for top in most) for _ in range(3)]


def sizes(block: int = 256) -> Sizes:
    """1 to 4, the edges of a warp and of blocks of `block` elements, primes, powers of two plus seven."""
    edges = {near + d for near in (32, block, 2 * block) for d in (-1, 0, 1)}
    powers = {(1 << k) + 7 for k in range(6, 13) if 1 << k <= 4 * block}
    return Sizes(sorted(n for n in {1, 2, 3, 4, 97, 131, 4 * block + 7, *edges, *powers} if n > 0))


def sizes_2d(rows: int, columns: int) -> Sizes:
    """(rows, columns) of matrices: tiny, narrow, flat, square, and at the edges of tiles of `rows` × `columns`."""
    edges = [(1, columns + 1), (rows + 1, 1), (rows, columns), (rows - 1, columns + 1), (rows + 1, columns - 1)]
    large = [(2 * rows, 2 * columns), (2 * rows + 7, 3 * columns + 7), (37, 41), (71, 13)]
    return Sizes([(1, 1), (1, 2), (2, 1), (3, 4), *edges, *large])


class Random:
    """Inputs that nobody can foresee; the same seed gives the same."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self.generator = np.random.default_rng(seed)

    def floats(self, shape: int | Size) -> np.ndarray:
        """float32 of both signs, with zeros and denormals among them."""
        import numpy as np

        values = self.generator.standard_normal(shape).astype(np.float32)
        flat = values.reshape(-1)
        special = np.array([0.0, -0.0, 1e-40, -3e-42, 1.0, -1.0], np.float32)
        if count := flat.size // 16:
            flat[self.generator.choice(flat.size, count, replace=False)] = self.generator.choice(special, count)
        return values

    def whole(self, shape: int | Size, most: int = 1 << 15) -> np.ndarray:
        """float32 that are whole numbers from -most to most; sums of up to 2^24 / most are exact in any order."""
        import numpy as np

        return self.generator.integers(-most, most, shape, endpoint=True).astype(np.float32)

    def integers(self, shape: int | Size, low: int, high: int, dtype: str = "int32") -> np.ndarray:
        """Whole numbers from low to high, both included."""
        return self.generator.integers(low, high, shape, dtype=dtype, endpoint=True)


def load(folder: Path | str) -> Exercise:
    """The exercise that FOLDER/judge.py declares; ExerciseError says in one line what is wrong with it."""
    path = Path(folder, "judge.py")
    try:
        found = runpy.run_path(str(path)).get("exercise")
    except ExerciseError as error:
        raise ExerciseError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise ExerciseError(f"{path}: there is no such file; every exercise has one") from None
    except Exception as error:
        raise ExerciseError(f"{path}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Exercise):
        raise ExerciseError(f"{path}: assign an Exercise(…) to the name `exercise`")
    return found
