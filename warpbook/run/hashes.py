"""The hash that says whether a record still belongs to the code: what a machine would notice, and nothing else.

Kernels count with comments and white space normalised; Python as its syntax tree without words (see `without_words`),
so that neither comments nor formatting nor a sentence matters and every Python version finds the same hash; the timing
helper warpbench.py only through its VERSION, a module shared beside it like one beside the program; what else lies
beside the programs (a table, C for the host), as it is. Claims are not code: they stand in claims.toml, and the records
are judged against them whenever somebody looks.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from warpbook import reads
from warpbook.book import Book, BookError

KERNEL_SUFFIXES = (".cu", ".cuh", ".cpp")  # C++ that launches kernels counts as they do
DATA_SUFFIXES = (".csv", ".txt", ".c")
MESSAGES = ("what", "help", "description")  # keywords whose text is for people: wb.check's and argparse's
# A string, a character, or a comment, whichever begins first.
CPP_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


@lru_cache(maxsize=1024)  # a page's blocks are hashed with all blocks before them
def normal_kernel(text: str) -> str:
    """CUDA C without comments, every run of white space one space; preprocessor lines keep a line each."""
    text = CPP_TOKENS.sub(lambda m: m[0] if m[0][0] in "\"'" else " ", text.replace("\\\n", " "))
    out: list[str] = []
    for line in (" ".join(line.split()) for line in text.splitlines()):
        if line.startswith("#") or not out or out[-1].startswith("#"):
            out.append(line)
        elif line:
            out[-1] = f"{out[-1]} {line}".strip()
    return "\n".join(line for line in out if line)


PARSED: dict[str, list[ast.AST]] = {}  # nodes of code that `named_in` has parsed, until `normal_python` changes them


def nodes_of(code: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(code)))


@lru_cache(maxsize=1024)
def named_in(code: str) -> tuple[list[str], list[str]]:
    """The texts in Python `code` that may name a kernel or a data file, and the modules that it imports."""
    nodes = PARSED[code] = nodes_of(code)
    if len(PARSED) > 64:
        del PARSED[next(iter(PARSED))]
    constants = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return (
        list(dict.fromkeys(text for text in constants if text.endswith(KERNEL_SUFFIXES + DATA_SUFFIXES))),
        list(dict.fromkeys(name for node in nodes for name in imported(node))),
    )


@lru_cache(maxsize=1024)
def normal_python(code: str) -> str:
    """The syntax tree as text. Not `ast.dump`, whose form changes with Python's version."""

    def show(node: object) -> str:
        if isinstance(node, ast.AST):
            fields = [
                (name, value)
                for name, value in ast.iter_fields(node)
                if value not in (None, []) and name not in ("kind", "type_comment")
            ]
            return f"{type(node).__name__}({','.join(f'{name}={show(value)}' for name, value in fields)})"
        if isinstance(node, list):
            return f"[{','.join(map(show, node))}]"
        return repr(node)

    return show(without_words(PARSED.pop(code, []) or nodes_of(code)))


def without_words(nodes: list[ast.AST]) -> ast.AST:
    """The tree of these nodes without the words for people: docstrings, what is printed, messages, help of options.

    Only text goes. What is computed inside an f-string or in an argument stays, and so do format specifications.
    """
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        elif isinstance(node, ast.Assert):
            node.msg = None  # evaluated only where the program ends
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = [without_text(argument) for argument in node.exc.args]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "print":
                node.args = [without_text(argument) for argument in node.args]
            for keyword in node.keywords:
                if keyword.arg in MESSAGES:
                    keyword.value = without_text(keyword.value)
    return nodes[0]


def without_text(node: ast.expr) -> ast.expr:
    """An expression that makes a sentence, its literal text left out."""
    match node:
        case ast.Constant(value=str()):
            return ast.Constant("")
        case ast.JoinedStr():
            kept: list[ast.expr] = [value for value in node.values if isinstance(value, ast.FormattedValue)]
            return ast.JoinedStr(kept) if kept else ast.Constant("")
        case ast.BinOp(op=ast.Add() | ast.Mod() | ast.Mult()):
            return ast.BinOp(without_text(node.left), node.op, without_text(node.right))
        case ast.IfExp():
            return ast.IfExp(node.test, without_text(node.body), without_text(node.orelse))
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format" | "join" as attr)):
            return ast.Call(ast.Attribute(ast.Constant(""), attr, ast.Load()), node.args, node.keywords)
    return node


def helper_version(book: Book) -> str:
    """VERSION of snippets/warpbench.py, read and not imported; "0" where there is no helper."""
    helper = book.snippets / "warpbench.py"
    text = reads.text(helper) if reads.exists(helper) else ""
    match = re.search(r"^VERSION(?:\s*:[^=]+)?\s*=\s*(\S+)", text, re.MULTILINE)
    return match[1] if match else "0"


def code_hash(book: Book, codes: Iterable[str], article: str, where: str) -> str:
    """Hash of Python `codes` run in this order, the modules beside them that they import, the files they name."""
    return hash_of(book, tuple(codes), article, where)


@reads.remembered
def hash_of(book: Book, codes: tuple[str, ...], article: str, where: str) -> str:
    modules, kernels, data = needed(book, codes, article, where)
    python = {**{f"{i}": code for i, code in enumerate(codes)}, **modules}
    parts = [f"warpbench {helper_version(book)}"]
    parts += [f"{name}\n{normal_python(code)}" for name, code in sorted(python.items())]
    parts += [f"{name}\n{normal_kernel(text)}" for name, text in sorted(kernels.items())]
    parts += [f"{name}\n{text}" for name, text in sorted(data.items())]
    return "sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def normal(name: str, text: str) -> str:
    """What of a file's text a hash counts: Python and kernels as above, everything else as it is."""
    if name.endswith(".py"):
        return normal_python(text)
    return normal_kernel(text) if name.endswith(KERNEL_SUFFIXES) else text


def needed(
    book: Book, codes: Iterable[str], article: str, where: str
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The modules beside `codes` that they import, the kernels and the data they name: path from the root to text."""
    modules: dict[str, str] = {}
    kernels: dict[str, str] = {}
    data: dict[str, str] = {}
    queue = list(codes)
    while queue:
        code = queue.pop()
        try:
            texts, imports = named_in(code)
        except SyntaxError as error:
            raise BookError(f"{where}: not Python: {error.msg}") from None
        for text in texts:
            path = find(book, article, text)
            if path and text.endswith(DATA_SUFFIXES):
                data[book.relative(path)] = reads.text(path)
            else:
                add_kernel(book, path, kernels)
        for name in imports:
            module = module_of(book, article, name)
            key = book.relative(module)
            if reads.is_file(module) and key not in modules:
                modules[key] = reads.text(module)
                queue.append(modules[key])
    return modules, kernels, data


def module_of(book: Book, article: str, name: str) -> Path:
    """Beside the program, or shared by articles beside warpbench.py, which itself counts through its VERSION."""
    shared = book.snippets / f"{name}.py"
    return shared if name != "warpbench" and reads.is_file(shared) else book.snippets / article / f"{name}.py"


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.split(".")[0]]
    return []


def find(book: Book, article: str, name: str) -> Path | None:
    places = (book.snippets / name, book.snippets / article / name, book.root / name)
    return next((place for place in places if reads.is_file(place)), None)


def add_kernel(book: Book, path: Path | None, kernels: dict[str, str]) -> None:
    """Take in a kernel file and the files beside it that it includes."""
    if path is None or book.relative(path) in kernels:
        return
    text = kernels[book.relative(path)] = reads.text(path)
    for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
        included = path.parent / name
        add_kernel(book, included if reads.is_file(included) else None, kernels)
