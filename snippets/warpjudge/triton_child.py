"""The process in which Triton compiles one answer: `python -m warpjudge.triton_child`, begun by triton_compiler.py.

Reads triton.json and answer.py in its folder, and writes compiled.json. An answer may hold Triton kernels and numbers
and nothing else: its syntax tree is looked at before any of it runs. Python cannot be locked up in Python, so where
Linux has Landlock, the process can then read Python, Triton and the system, and write to its folder.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from warpjudge import fence

NAME = "answer.py"
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/nix", "/etc/ld.so.cache", "/proc", "/sys/devices/system")
DEVICES = ("/dev/null", "/dev/urandom", "/dev/zero")
MODULES = ("triton.language", "triton.language.math", "triton.language.extra", "triton.language.extra.cuda",
           "triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")  # fmt: skip
OF_TRITON = ("jit", "cdiv", "next_power_of_2")
BUILTINS = ("range", "len", "min", "max", "abs", "int", "float", "bool", "tuple", "list", "isinstance", "print", "str")
CONSTANT = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.Name, ast.Attribute, ast.Call, ast.operator,
            ast.unaryop, ast.expr_context)  # fmt: skip
FORBIDDEN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global,
             ast.Nonlocal, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom,
             ast.Delete, ast.Match, ast.NamedExpr)  # fmt: skip
MLIR = re.compile(rf'"?[^\s"]*{re.escape(NAME)}"?:(\d+):\d+\)?:? (?:error: )?(.*)')
OWN_WORDS = re.compile(r"(?:at \d+:\d+:\n.*?\^\n)", re.DOTALL)


class Refused(Exception):  # noqa: N818
    """An answer that is not compiled: a cause in messages.toml, the line, and what."""

    def __init__(self, cause: str, line: int = 0, what: str = "") -> None:
        super().__init__(what)
        self.error = {"cause": cause, "line": line, "what": what}


class Screen:
    """Looks at an answer's syntax tree: imports of Triton, numbers, functions under @triton.jit, and nothing else."""

    def __init__(self, tree: ast.Module, triton: ModuleType) -> None:
        self.tree, self.triton = tree, triton
        self.modules: dict[str, ModuleType] = {}  # by the name that the answer gives them
        self.functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}

    def look(self) -> None:
        """Refused at the first thing that an answer may not hold."""
        for one in self.tree.body:
            if isinstance(one, ast.Import):
                for alias in one.names:
                    self.imported(one, alias.name, alias.asname)
            elif isinstance(one, ast.ImportFrom):
                for alias in one.names:
                    self.imported(one, f"{one.module or '.'}.{alias.name}", alias.asname or alias.name)
            elif isinstance(one, ast.FunctionDef):
                self.function(one)
            elif isinstance(one, (ast.Assign, ast.AnnAssign)):
                self.constant(one)
            elif not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
                raise Refused("not-a-kernel", one.lineno)

    def imported(self, node: ast.stmt, name: str, alias: str | None) -> None:
        if name == "triton" and alias is None:
            self.modules["triton"] = self.triton
        elif name in MODULES and alias and alias not in dir(builtins):
            __import__(name)
            self.modules[alias] = sys.modules[name]
        else:
            raise Refused("foreign-import", node.lineno, name)

    def function(self, node: ast.FunctionDef) -> None:
        decorators = [ast.unparse(one) for one in node.decorator_list]
        about = node.args
        if node.returns is not None or getattr(node, "type_params", None):
            raise Refused("not-a-kernel", node.lineno)
        if decorators != ["triton.jit"] or about.vararg or about.kwarg or node.name in dir(builtins):
            raise Refused("not-a-kernel", node.lineno)
        for argument in (*about.posonlyargs, *about.args, *about.kwonlyargs):
            if argument.annotation is not None:
                self.annotation(argument.annotation)
        for default in (*about.defaults, *filter(None, about.kw_defaults)):
            self.constant(default)
        for statement in node.body:
            self.expression(statement)

    def constant(self, node: ast.stmt | ast.expr) -> None:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(one is not None and not isinstance(one, ast.Name) for one in targets):
            raise Refused("not-a-kernel", node.lineno)
        for one in ast.walk(value) if isinstance(value, ast.AST) else ():
            if not isinstance(one, CONSTANT):
                raise Refused("not-a-kernel", node.lineno)
            if isinstance(one, ast.Call) and not ast.unparse(one.func).endswith(".constexpr"):
                raise Refused("not-a-kernel", node.lineno)
        if value is not None:
            self.expression(value)
        if isinstance(node, ast.AnnAssign):
            self.annotation(node.annotation)

    def annotation(self, node: ast.expr) -> None:
        """Python evaluates it, so it is a type of Triton's, and no call."""
        if not isinstance(node, ast.Attribute):
            raise Refused("not-a-kernel", node.lineno)
        self.expression(node)

    def expression(self, node: ast.AST) -> None:
        """Every name and attribute in `node`: an answer's own, Triton's, or of what kernels work with."""
        if isinstance(node, FORBIDDEN):
            raise Refused("construct", getattr(node, "lineno", 0), type(node).__name__)
        if isinstance(node, ast.Attribute):
            chain, base = [node.attr], node.value
            while isinstance(base, ast.Attribute):
                chain, base = [base.attr, *chain], base.value
            if hidden := next((name for name in chain if name.startswith("_")), ""):
                raise Refused("foreign-name", node.lineno, hidden)
            if isinstance(base, ast.Name) and base.id in self.modules:
                self.resolve(node, base.id, chain)
                return
            if isinstance(base, ast.Name) and base.id in self.functions:
                raise Refused("foreign-name", node.lineno, ast.unparse(node))
        if isinstance(node, ast.Name):
            unknown = node.id in dir(builtins) and node.id not in BUILTINS
            if node.id.startswith("__") or unknown or node.id in self.modules:
                raise Refused("foreign-name", node.lineno, node.id)
            if isinstance(node.ctx, ast.Store) and node.id in self.functions:
                raise Refused("foreign-name", node.lineno, node.id)
        for child in ast.iter_child_nodes(node):
            self.expression(child)

    def resolve(self, node: ast.Attribute, alias: str, chain: list[str]) -> None:
        """`tl.load`, `tl.math.exp2`: what Triton's language has. Not the modules that its own source imports."""
        here: Any = self.modules[alias]
        for i, name in enumerate(chain):
            if here is self.triton and name not in OF_TRITON and name != "language":
                raise Refused("foreign-name", node.lineno, f"{alias}.{'.'.join(chain)}")
            if not hasattr(here, name):
                raise Refused("no-such", node.lineno, f"{alias}.{'.'.join(chain[: i + 1])}")
            here = getattr(here, name)
            if not isinstance(here, ModuleType):
                kind = getattr(here, "__module__", "triton")
                if not str(kind).startswith("triton") or (callable(here) and len(chain) > i + 1):
                    raise Refused("foreign-name", node.lineno, f"{alias}.{'.'.join(chain)}")
                return
            if here.__name__ not in MODULES:
                raise Refused("foreign-name", node.lineno, f"{alias}.{'.'.join(chain)}")
        raise Refused("foreign-name", node.lineno, f"{alias}.{'.'.join(chain)}")  # a module is no value


def parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source, NAME)
    except SyntaxError as error:
        raise Refused("syntax", error.lineno or 0, error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused("syntax", 0, str(error)) from None


def check_signature(tree: ast.Module, job: dict[str, Any]) -> None:
    [found] = ast.parse(f"def f({job['arguments']}): pass").body
    kernel = next((one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == job["kernel"]), None)
    if kernel is None:
        raise Refused("no-kernel")
    assert isinstance(found, ast.FunctionDef)
    if ast.dump(kernel.args) != ast.dump(found.args):
        raise Refused("signature", kernel.lineno)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("answer", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line, trace = 0, error.__traceback__
        while trace:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == str(path) else line
            trace = trace.tb_next
        raise Refused("syntax", line, f"{type(error).__name__}: {error}") from None
    return module


def without_hooks() -> None:
    """softcuda's import hook would choose a device for Triton; to compile, none is needed."""
    sys.meta_path[:] = [one for one in sys.meta_path if not type(one).__module__.startswith("softcuda")]


def close_fence(folder: Path) -> None:
    """Leave this process what Triton needs. All that is imported from elsewhere has been."""
    import softcuda._ptxas
    import triton.backends.nvidia.compiler
    import triton.compiler.errors

    home = Path(str(triton.__file__)).parents[1]
    readable = (*SYSTEM, sys.prefix, sys.base_prefix, str(home), str(Path(softcuda._ptxas.__file__).parent))
    fence.close(readable, (*DEVICES, str(folder)))


def compile_all(module: ModuleType, job: dict[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    import triton
    from softcuda._ptxas import drop_inline_lines
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.compiler import ASTSource

    CUDABackend.make_cubin = lambda *_: b""  # softcuda runs PTX
    kernel = getattr(module, job["kernel"])
    done = {}
    for key in job["variants"]:
        wanted = json.loads(key)
        signature, constants, attributes = dict(job["parameters"]), dict(wanted["constants"]), {}
        for name, kind in wanted["numbers"].items():
            if kind == "1":
                signature[name], constants[name] = "constexpr", 1
        for name in wanted["constants"]:
            signature[name] = "constexpr"
        signature = {name: signature[name] for name in kernel.arg_names}
        for i, name in enumerate(kernel.arg_names):
            if signature[name].startswith("*") or wanted["numbers"].get(name) == "16":
                attributes[i,] = [["tt.divisibility", 16]]
        placed = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
        source = ASTSource(kernel, signature, placed, attributes)
        try:
            found = triton.compile(source, target=GPUTarget("cuda", job["capability"], 32), options=wanted["options"])
        except Exception as error:
            raise explained(error, module, folder) from None
        metadata = found.metadata
        done[key] = {"ptx": drop_inline_lines(found.asm["ptx"]), "shared": metadata.shared,
                     "scratch": metadata.global_scratch_size}  # fmt: skip
    return done


def explained(error: BaseException, module: ModuleType, folder: Path) -> Refused:
    """What Triton objects to, at the answer's line: its own words without the excerpt of the source."""
    from triton.compiler.errors import CompilationError

    functions = [one for one in vars(module).values() if hasattr(one, "def_file_line_number")]
    begins = {one.src: one.def_file_line_number for one in functions}
    line, what, seen = 0, "", 0
    current: BaseException | None = error
    while current is not None and seen < 20:
        if isinstance(current, CompilationError):
            at = getattr(current.node, "lineno", 0)
            if current.src in begins and at:
                line = begins[current.src] + at - 1
            what = current.error_message or what
        else:
            what = str(current) or type(current).__name__
        following = current.__cause__ or current.__context__
        current, seen = following, seen + 1
    sys.stdout.flush()
    sys.stderr.flush()
    said = (folder / "triton.txt").read_text("utf-8", "replace")
    if not line and (found := MLIR.search(said)):
        line, what = int(found[1]), found[2]
    what = " ".join(OWN_WORDS.sub("", what).replace("\n", " ").split())
    return Refused("syntax" if line else "compiler", line, what or type(error).__name__)


def main() -> int:
    folder = Path.cwd()
    job = json.loads((folder / "triton.json").read_text("utf-8"))
    source = (folder / NAME).read_text("utf-8")
    without_hooks()
    try:
        tree = parsed(source)
        import triton
        import triton.runtime.cache

        triton.runtime.cache.triton_key = lambda: ""  # names a cache that is this answer's alone
        Screen(tree, triton).look()
        check_signature(tree, job)
        close_fence(folder)
        found: dict[str, Any] = {"variants": compile_all(load(folder / NAME), job, folder)}
    except Refused as refused:
        found = {"errors": [refused.error]}
    except RecursionError:
        found = {"errors": [{"cause": "compiler", "line": 0, "what": "the answer is nested too deeply"}]}
    temporary = folder / "compiled.part"
    temporary.write_text(json.dumps(found), "utf-8")
    temporary.rename(folder / "compiled.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
