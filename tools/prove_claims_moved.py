"""Prove that the programs compute what they computed before their claims moved to claims.toml.

python tools/prove_claims_moved.py BASE   the programs as they are now, against revision BASE (before the move)

For each program of snippets/ that changed, the new syntax tree must be the old one with statements deleted, and each
deleted statement must have no effect besides wb.claim.  Docstrings may change; names may leave an import list.
Exits with status 1, and the place, where that is not proven.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELPER = "snippets/warpbench.py"
BUILTINS = {"bool", "dict", "enumerate", "float", "int", "len", "list", "max", "min", "range", "round", "set", "sorted",
            "str", "sum", "tuple", "zip"}  # fmt: skip
NUMPY = {
    "arange",
    "array",
    "bincount",
    "empty",
    "full",
    "log",
    "sqrt",
    "unique",
    "where",
    "zeros",
}  # without side effects
# Methods that change nothing: of strings, dicts and arrays; and attributes of a device, asked of the driver.
METHODS = {"astype", "count", "format", "fromkeys", "get", "items", "max", "min", "removesuffix", "reshape",
           "startswith", "sum", "values", "compute_capability", "get_attribute", "name"}  # fmt: skip
DYNAMIC = {
    "__dict__",
    "eval",
    "exec",
    "globals",
    "locals",
    "modules",
    "vars",
}  # by which a name might be read that no syntax tree shows
SECTION = re.compile(r"# --8<-- \[start:(\w+)\]\n(.*?)# --8<-- \[end:\1\]", re.DOTALL)
Functions = dict[str, ast.FunctionDef | None]  # None: there are two of that name


class NotProvenError(Exception):
    pass


def show(path: str, revision: str) -> str:
    return subprocess.run(
        ["git", "show", f"{revision}:{path}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def place(node: ast.AST) -> str:
    return f"line {getattr(node, 'lineno', '?')} of the old program: {ast.unparse(node)[:100]!r}"


# --- The new tree is the old one with statements deleted -------------------------------------------------------------


def is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def aligned(old: list[ast.stmt], new: list[ast.stmt], documented: bool) -> list[ast.AST] | None:
    """What was deleted from `old`; None if `new` is not what is left. `documented`: the first may be a docstring."""
    deleted: list[ast.AST] = []
    rest = list(new)
    if documented and old and rest and is_docstring(old[0]) and is_docstring(rest[0]):
        old, rest = old[1:], rest[1:]
    for statement in old:
        inner = matched(statement, rest[0]) if rest else None
        if inner is None:
            deleted.append(statement)
        else:
            deleted += inner
            rest.pop(0)
    return None if rest else deleted


def matched(old: ast.AST, new: ast.AST) -> list[ast.AST] | None:
    """What was deleted inside `old` to give `new`; None if that is not the only difference."""
    if type(old) is not type(new):
        return None
    if isinstance(old, ast.Import | ast.ImportFrom) and isinstance(new, ast.Import | ast.ImportFrom):
        if getattr(old, "module", None) != getattr(new, "module", None):
            return None
        kept = [ast.dump(alias) for alias in new.names]
        gone = [alias for alias in old.names if ast.dump(alias) not in kept]
        left = [ast.dump(alias) for alias in old.names if alias not in gone]
        return list(gone) if left == kept and getattr(old, "level", 0) == getattr(new, "level", 0) else None
    deleted: list[ast.AST] = []
    for field in old._fields:
        before, after = getattr(old, field, None), getattr(new, field, None)
        statements = field in ("body", "orelse", "finalbody", "handlers")
        if statements and isinstance(before, list) and isinstance(after, list):
            documented = field == "body" and isinstance(old, ast.FunctionDef | ast.ClassDef)
            inner = aligned(before, after, documented)
            if inner is None:
                return None
            deleted += inner
        elif dumped(before) != dumped(after):
            return None
    return deleted


def dumped(value: object) -> object:
    if isinstance(value, list):
        return [dumped(one) for one in value]
    return ast.dump(value) if isinstance(value, ast.AST) else value


# --- What was deleted has no effect ----------------------------------------------------------------------------------


def functions(tree: ast.AST) -> Functions:
    """All functions that are not methods, by name."""
    methods = {id(f) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
    found: Functions = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and id(node) not in methods:
            found[node.name] = None if node.name in found else node
    return found


def aliases(tree: ast.AST) -> set[str]:
    """Names that are assigned once in the program, in `name = object.method` with a method of METHODS."""
    found: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, []).append(False)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for target, value in pairs:
            if isinstance(target, ast.Name) and isinstance(value, ast.Attribute) and value.attr in METHODS:
                found[target.id][0] = True
    return {name for name, uses in found.items() if uses == [True]}


def fresh(definition: ast.FunctionDef) -> set[str]:
    """Names that the function assigns numbers or new lists to, and nothing else: `+=` on them is its own affair."""
    values: dict[str, list[ast.expr | None]] = {a.arg: [None] for a in ast.walk(definition) if isinstance(a, ast.arg)}
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in (n for n in ast.walk(target) if isinstance(n, ast.Name)):
                    values.setdefault(name.id, []).append(node.value if target is name else None)
        elif isinstance(node, ast.For):
            for name in (n for n in ast.walk(node.target) if isinstance(n, ast.Name)):
                values.setdefault(name.id, []).append(None)
    return {name for name, all_of in values.items() if all(isinstance(v, ast.Constant | ast.List) for v in all_of)}


class Effects:
    """Looks for anything in the deleted statements of one program that could be seen outside of them."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = functions(tree)
        self.stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.aliases = aliases(tree)
        self.checked: set[str] = set()
        self.fresh: set[str] = set()  # names of the function at hand that hold what it made itself

    def expression(self, node: ast.AST | None) -> None:
        """Raises NotProvenError unless evaluating `node` changes nothing."""
        if node is None:
            return
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
                raise NotProvenError(place(node))
            if isinstance(part, ast.Call):
                self.call(part)

    def call(self, node: ast.Call) -> None:
        """The function alone; arguments are walked by `expression`."""
        called = ast.unparse(node.func)
        if isinstance(node.func, ast.Name):
            if called in self.aliases and called not in self.functions:
                return
            if called in self.stored:
                raise NotProvenError(f"{called} is a variable in {place(node)}")
            if called in self.functions:
                self.function(called)
                return
            if called in BUILTINS:
                return
        elif called in ("wb.claim", "wb.is_gpu"):
            return
        elif isinstance(node.func, ast.Attribute):
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "np" and node.func.attr in NUMPY:
                return
            if node.func.attr in METHODS and not (isinstance(of, ast.Name) and of.id in ("np", "wb", "cuda", "torch")):
                return
        raise NotProvenError(f"a call of {called} in {place(node)}")

    def function(self, name: str) -> None:
        """Raises NotProvenError unless calling the program's own function `name` changes nothing."""
        if name in self.checked:
            return
        self.checked.add(name)
        definition = self.functions[name]
        if definition is None:
            raise NotProvenError(f"there are two functions {name}")
        self.definition(definition)
        mine = {a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)}
        mine |= {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        mine |= {n.name for n in ast.walk(definition) if isinstance(n, ast.FunctionDef)}
        outer, self.fresh = self.fresh, fresh(definition)
        for statement in definition.body:
            self.statement(statement, mine)
        self.fresh = outer

    def definition(self, node: ast.FunctionDef) -> None:
        """What is evaluated where a function is defined."""
        if node.decorator_list:
            raise NotProvenError(f"a decorator of {node.name}")
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            self.expression(default)
        for argument in (*arguments.args, *arguments.posonlyargs, *arguments.kwonlyargs):
            self.expression(argument.annotation)
        self.expression(node.returns)

    def statement(self, node: ast.AST, mine: set[str]) -> None:
        """Raises NotProvenError unless `node` changes nothing but the names `mine`, which nobody else reads."""
        if isinstance(node, ast.alias):  # the module is imported all the same: another name of its list stays
            if (node.asname or node.name) not in mine:
                raise NotProvenError(f"the new program still reads the imported {node.asname or node.name}")
        elif isinstance(node, ast.FunctionDef):
            if node.name not in mine:
                raise NotProvenError(f"the new program still has the name of the function {node.name}")
            self.definition(node)
        elif isinstance(node, ast.Expr | ast.Return):
            self.expression(node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.target(target, mine)
            self.expression(node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            self.target(node.target, mine)
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) not in self.fresh:
                raise NotProvenError(f"what changes may be somebody else's in {place(node)}")
            self.expression(node.value)
        elif isinstance(node, ast.For):
            self.target(node.target, mine)
            self.expression(node.iter)
            for inner in (*node.body, *node.orelse):
                self.statement(inner, mine)
        elif isinstance(node, ast.If):
            self.expression(node.test)
            for inner in (*node.body, *node.orelse):
                self.statement(inner, mine)
        elif not isinstance(node, ast.Pass | ast.Continue | ast.Break):
            raise NotProvenError(f"a {type(node).__name__} in {place(node)}")

    def target(self, node: ast.expr, mine: set[str]) -> None:
        """Only plain names are assigned to, and only those of `mine`."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                if part.id not in mine:
                    raise NotProvenError(f"the new program still has the name {part.id}, assigned in {place(node)}")
            elif not isinstance(part, ast.Tuple | ast.List | ast.Starred | ast.expr_context):
                raise NotProvenError(f"an assignment to {place(node)}")


def names(tree: ast.AST) -> set[str]:
    """Every identifier in the tree, and every string, by which something could be looked up."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found |= {node.name, node.asname or node.name}
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return found


def bound(node: ast.AST) -> set[str]:
    """The names that a deleted statement binds where it stood (not those inside a function that it defines)."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.alias):
        return {node.asname or node.name}
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found | {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def returns(node: ast.AST) -> Iterator[ast.AST]:
    """Statements that leave the block in which the deleted `node` stood, and so could skip what came after it."""
    if isinstance(node, ast.Return | ast.Continue | ast.Break | ast.Raise):
        yield node
    elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.alias):
        inside = isinstance(node, ast.For | ast.While)
        for inner in ast.iter_child_nodes(node):
            for one in returns(inner):
                if not (inside and isinstance(one, ast.Continue | ast.Break)):
                    yield one


def readers(path: str, gone: set[str]) -> list[str]:
    """Places in other files that import one of the names `gone` from the program."""
    module = Path(path).stem
    found = []
    files = [*ROOT.glob("snippets/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.py")]
    listed = re.compile(rf"from {re.escape(module)} import (\([^)]*\)|[^\n]*)")
    whole = re.compile(rf"^\s*import (?:.*, *)?{re.escape(module)}\b", re.MULTILINE)
    for file in files:
        text = file.read_text("utf-8")
        for match in listed.finditer(text):
            if hit := gone & set(re.findall(r"\w+", match[1])):
                found.append(f"{file.relative_to(ROOT)} imports {', '.join(sorted(hit))}")
        if whole.search(text) and any(re.search(rf"\b{re.escape(module)}\.{name}\b", text) for name in gone):
            found.append(f"{file.relative_to(ROOT)} reads the module's names")
    return found


def prove(path: str, before: str, after: str) -> int:
    """How many statements were deleted; raises NotProvenError."""
    old, new = ast.parse(before), ast.parse(after)
    deleted = aligned(old.body, new.body, documented=True)
    if deleted is None:
        raise NotProvenError("the new program is not the old one with statements deleted")
    kept = names(new)
    if dynamic := kept & DYNAMIC:
        raise NotProvenError(f"the new program calls {', '.join(sorted(dynamic))}")
    effects = Effects(old)
    gone: set[str] = set()
    for node in deleted:
        gone |= bound(node)
        for jump in returns(node):
            raise NotProvenError(f"{type(jump).__name__} in {place(jump)}")
        effects.statement(node, bound(node) - kept)
    if places := readers(path, gone):
        raise NotProvenError("; ".join(places))
    sections = [dict(SECTION.findall(text)) for text in (before, after)]
    if sections[0] != sections[1]:
        raise NotProvenError("a section that pages show differs")
    return len(deleted)


def prove_helper(before: str, after: str) -> None:
    """warpbench: without claim() and _claims it is the same, docstrings aside."""
    trees = [ast.parse(text) for text in (before, after)]
    for node in ast.walk(trees[0]):
        if isinstance(node, ast.Module):
            node.body = [
                s
                for s in node.body
                if not (isinstance(s, ast.FunctionDef) and s.name == "claim")
                and not (isinstance(s, ast.AnnAssign) and ast.unparse(s.target) == "_claims")
            ]
        elif isinstance(node, ast.BoolOp):
            node.values = [v for v in node.values if ast.unparse(v) != "_claims"]
        elif isinstance(node, ast.Dict):
            kept = [(k, v) for k, v in zip(node.keys, node.values, strict=True) if ast.unparse(v) != "_claims"]
            node.keys, node.values = [k for k, _ in kept], [v for _, v in kept]
    for tree in trees:
        if is_docstring(tree.body[0]):
            del tree.body[0]
    if ast.dump(trees[0]) != ast.dump(trees[1]):
        raise NotProvenError("more than claim() and _claims has gone")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    base = sys.argv[1]
    changed = subprocess.run(
        ["git", "diff", "--name-only", base, "--", "snippets"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    failures = 0
    for path in changed:
        if path.endswith("/claims.toml"):
            continue
        try:
            if not path.endswith(".py"):
                raise NotProvenError("not a program")
            before, after = show(path, base), (ROOT / path).read_text("utf-8")
            if path == HELPER:
                prove_helper(before, after)
                print(f"{path}: without claim() the same")
            else:
                print(f"{path}: {prove(path, before, after)} statements deleted, none with an effect")
        except (NotProvenError, subprocess.CalledProcessError) as error:
            print(f"{path}: NOT PROVEN: {error}")
            failures += 1
    print(f"{len(changed)} files changed, {failures} not proven")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
