"""A pytest plugin: tests that passed before, on the same inputs, are not run again.

What a test depends on is a list of files of the repository.  A marker names them for tests of which there are many or
which take long, one page or program each; for the others a rule for their folder does, which may name the whole
repository.  To these come the test's own file, the modules that it uses, and facts about this machine and its packages.
A digest of all this is kept in .cache/tests-passed.json for a test that passed, if nothing of it changed meanwhile.

It must never leave out a test that might fail.  So it does nothing in CI, with --all, on a machine with a GPU, with
settings of CUDA's or softcuda's in the environment, and where somebody chooses tests by name; and where it cannot make
sense of a file, the test depends on the whole repository.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WHOLE = (".",)  # the repository
CODE = "code of "  # before a page's path: its prose does not count
KEPT = 8  # digests of a test: one or two for each state of the repository that somebody changes between
PRUNED = {"__pycache__", ".ipynb_checkpoints"}  # folders that are no source, anywhere …
PRUNED_PATHS = {
    ".git", ".venv", ".cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", "build", "dist", "node_modules", "site",
    "softcuda/build",
}  # fmt: skip  # … and there
SETTINGS = (
    "SOFTCUDA",
    "CUDA",
    "NVCC",
    "NVRTC",
    "PYCUDA",
    "TORCH",
    "TRITON",
    "WARPBENCH",
    "SABOTAGE",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
)
GPUS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
PASSED_BEFORE = "what it looks at is as it was when this passed"
SAID = "{} unchanged since they last passed: not run again; all of them: make test ARGS=--all"


# -- digests of files --------------------------------------------------------------------------------------------------


def digest(*parts: str | bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()[:32]


def code_of(page: str) -> str:
    """What runs of a page: its front matter, its fenced blocks, and the lines that name values, listings or counters.

    All of it, if its fences do not pair.
    """
    kept, fence, head = [], "", page.startswith("---\n")
    for number, line in enumerate(page.splitlines()):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if head:
            head = number == 0 or line.rstrip() != "---"
            kept.append(line)
        elif fence:
            kept.append(line)
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark:
            fence = mark[1]
            kept.append(line)
        elif "{{" in line or "--8<--" in line:
            kept.append(line)
    return page if fence or head else "\n".join(kept)


class Files:
    """The repository's files, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[str, str] = {}

    def of(self, patterns: Iterable[str], facts: str = "") -> str:
        """A digest of what patterns name: a file, a folder, a glob, `code of FILE`; !PATTERN leaves out."""
        chosen = tuple(sorted(set(patterns)))
        out = [pattern[1:] for pattern in chosen if pattern.startswith("!")]
        parts = []
        for pattern in chosen:
            if pattern.startswith(CODE):
                parts += [pattern, self.code(pattern.removeprefix(CODE))]
            elif not pattern.startswith("!"):
                found = [p for p in self.under(pattern) if not any(f"{p}/".startswith(f"{one}/") for one in out)]
                parts += [pattern, *(text for path in found for text in (path, self.content(path)))]
        return digest(facts, *parts)

    def under(self, pattern: str) -> list[str]:
        if "*" in pattern:
            return sorted(p for path in self.root.glob(pattern) for p in self.under(self.name(path)))
        path = self.root / pattern
        return self.walk(path) if path.is_dir() else [self.name(path)]

    @functools.cache  # noqa: B019  (lives as long as a run)
    def walk(self, folder: Path) -> list[str]:
        found = []
        for place, folders, files in os.walk(folder):
            here = Path(place)
            links = [one for one in folders if (here / one).is_symlink()]
            folders[:] = [
                one
                for one in folders
                if one not in PRUNED and one not in links and self.name(here / one) not in PRUNED_PATHS
            ]
            names = [self.name(here / one) for one in (*files, *links)]
            found += [name for name in names if name not in PRUNED_PATHS and not name.endswith(".pyc")]
        return sorted(found)

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path != self.root else "."

    def content(self, name: str) -> str:
        if name not in self.known:
            path = self.root / name
            try:
                if path.is_symlink():
                    self.known[name] = digest("link", os.readlink(path))
                else:
                    executable = "x" if os.access(path, os.X_OK) else ""
                    self.known[name] = digest(executable, path.read_bytes())
            except OSError:
                self.known[name] = "absent"
        return self.known[name]

    def code(self, name: str) -> str:
        try:
            return digest(code_of((self.root / name).read_text("utf-8")))
        except (OSError, UnicodeDecodeError):
            return "absent"


# -- what a test uses --------------------------------------------------------------------------------------------------


class Uses:
    """Which of the repository's modules a test function reaches, read from the sources."""

    def __init__(self, root: Path, places: Iterable[Path] = ()) -> None:
        self.root = root
        self.places = [root, *places]  # where modules are imported from

    @functools.cache  # noqa: B019
    def tree(self, path: Path) -> ast.Module:
        return ast.parse(path.read_text("utf-8"))

    def of(self, path: Path, function: str) -> list[str]:
        """Of a test: its module's file, and those of the modules that it and the fixtures it names import, and so on.

        Raises SyntaxError, OSError or LookupError where the sources cannot be read so.
        """
        scopes = [self.scope(one) for one in (path, *self.conftests(path))]
        if function not in scopes[0]:
            raise LookupError(function)
        todo, seen, modules = [function], set(), set()
        for scope in scopes:
            todo += [name for name, nodes in scope.items() if any(map(is_automatic, nodes))]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            for place, scope in zip((path, *self.conftests(path)), scopes, strict=True):
                for node in scope.get(name, ()):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        modules |= self.imported(only(node, name), place)
                    else:
                        todo += names_in(node)
                        modules |= {m for one in imports_in(node) for m in self.imported(one, place)}
        return sorted({self.name(path), *map(self.name, self.closure(modules))})

    def conftests(self, path: Path) -> list[Path]:
        folders = [one for one in path.parents if self.root in (one, *one.parents)]
        return [one / "conftest.py" for one in folders if (one / "conftest.py").exists()]

    @functools.cache  # noqa: B019
    def scope(self, path: Path) -> dict[str, list[ast.stmt]]:
        """The statements at the top of a module by the names that they give."""
        given: dict[str, list[ast.stmt]] = {}
        for node in self.tree(path).body:
            for name in names_given(node):
                given.setdefault(name, []).append(node)
        return given

    def imported(self, node: ast.stmt, place: Path) -> set[Path]:
        """Our files that an import statement runs."""
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            package = place.parents[node.level - 1]
            wanted = [".".join([*package.relative_to(self.root).parts, *(node.module or "").split(".")]).rstrip(".")]
            wanted += [f"{wanted[0]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            wanted = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            return set()
        return {file for name in wanted for file in self.files_of(name, place.parent)}

    def files_of(self, module: str, beside: Path) -> set[Path]:
        parts = module.split(".")
        for place in (beside, *self.places):
            files = {place.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts) + 1)}
            whole = place.joinpath(*parts).with_suffix(".py")
            if whole.exists() or place.joinpath(*parts).is_dir():
                return {file for file in (whole, *files) if file.exists()}
        return set()

    @functools.cache  # noqa: B019
    def next_to(self, path: Path) -> frozenset[Path]:
        """What a module imports anywhere in it, and scripts beside it that it names, to start them."""
        found = {file for node in imports_in(self.tree(path)) for file in self.imported(node, path)}
        for node in ast.walk(self.tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if node.value == "conftest.py":
                    continue  # looked at by itself
                if re.fullmatch(r"[\w/.-]+\.\w+", node.value) and (path.parent / node.value).is_file():
                    found.add((path.parent / node.value).resolve())
                elif re.fullmatch(r"\w+(\.\w+)+", node.value):
                    found |= self.files_of(node.value, path.parent)
        return frozenset(found)

    def closure(self, modules: Iterable[Path]) -> set[Path]:
        todo, seen = list(modules), set()
        while todo:
            path = todo.pop()
            if path not in seen and self.root in path.parents:
                seen.add(path)
                todo += self.next_to(path) if path.suffix == ".py" else ()
        return seen

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def names_given(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def only(node: ast.Import | ast.ImportFrom, name: str) -> ast.Import | ast.ImportFrom:
    """An import statement for one of the names that it gives."""
    aliases = [alias for alias in node.names if (alias.asname or alias.name).split(".")[0] == name]
    return ast.Import(aliases) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, aliases, node.level)


def names_in(node: ast.AST) -> list[str]:
    """Names that it reads, its parameters (fixtures) and texts that are names (usefixtures, getfixturevalue)."""
    found = []
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.append(one.id)
        elif isinstance(one, ast.arg):
            found.append(one.arg)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
            found.append(one.value)
    return found


def imports_in(node: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]


def is_automatic(node: ast.stmt) -> bool:
    """A fixture that each test has, or the mark of all of a module's tests."""
    if isinstance(node, ast.FunctionDef):
        return any("autouse=True" in ast.unparse(decorator) for decorator in node.decorator_list)
    return "pytestmark" in names_given(node)


# -- the machine -------------------------------------------------------------------------------------------------------


def facts(root: Path) -> str:
    """A digest of what a test depends on beside the repository: Python, packages, programs, the CPU."""
    packages = Path(sysconfig.get_path("purelib"))
    installed = sorted(path.name for path in packages.glob("*.dist-info"))
    ours = [path.read_bytes() for name in ("softcuda", "pycuda") for path in packages.glob(f"{name}-*/RECORD")]
    cpu = [line for line in read("/proc/cpuinfo").splitlines() if line.startswith(("flags", "Features", "model name"))]
    system = read("/var/lib/dpkg/status")  # the browser, fonts, the compiler, libraries
    programs = [path_and_age(name) for name in ("chromium", "chromium-browser", "google-chrome", "g++", "make", "git")]
    browsers = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", str(Path.home() / ".cache" / "ms-playwright"))
    settings = [f"{name}={os.environ.get(name)}" for name in ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ")]
    recorded = subprocess.run(["git", "ls-files", "--", "records"], cwd=root, capture_output=True).stdout
    return digest(
        sys.version, platform.platform(), str(root), str(os.cpu_count()), *sorted(set(cpu)), *installed, *ours, system,
        *programs, *sorted(path.name for path in Path(browsers).glob("*")), *settings, recorded,
    )  # fmt: skip


def read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def path_and_age(program: str) -> str:
    path = shutil.which(program)
    return f"{path} {os.stat(path).st_mtime_ns}" if path else program


def is_known(environment: Mapping[str, str], root: Path) -> bool:
    """Whether the digests cover what tests depend on here: not in CI, nor with settings or devices of their own."""
    python_path = [Path(place).resolve() for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    return not (
        environment.get("CI")
        or any(name.startswith(SETTINGS) for name in environment)
        or any(root not in (place, *place.parents) for place in python_path)
        or any(Path(device).exists() for device in GPUS)
    )


def is_chosen(config: pytest.Config) -> bool:
    """Whether somebody names the tests to run, or wants all."""
    options = ("all", "keyword", "markexpr", "lf", "failedfirst", "stepwise", "usepdb", "collectonly")
    return any("::" in argument for argument in config.invocation_params.args) or any(
        vars(config.option).get(name) for name in options
    )


# -- the plugin --------------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """What a test that is run depends on."""

    digest: str
    patterns: list[str]
    made: str  # a digest of files that a fixture made


class Unchanged:
    """Registered in each process: xdist's workers leave out tests, the process that controls them keeps what passed."""

    def __init__(self, config: pytest.Config, rules: Mapping[str, Iterable[str]], root: Path) -> None:
        self.root = root
        self.rules = rules
        self.kept = root / ".cache" / "tests-passed.json"
        self.left_out = 0
        self.phases: dict[str, set[str]] = {}  # of a test: "setup passed", "call failed", …
        self.inputs: dict[str, list[Known]] = {}  # of a test that was run
        worker = getattr(config, "workerinput", None)
        self.is_worker = worker is not None
        given = worker.get("unchanged") if worker else None
        self.leaves_out: bool = given["leaves_out"] if given else not is_chosen(config)
        self.facts: str = given["facts"] if given else facts(root)
        self.passed: dict[str, list[str]] = given["passed"] if given else self.read()
        self.files = Files(root)
        self.uses = Uses(root, [root / "tests", root / "tests" / "softcuda", root / "snippets"])

    def read(self) -> dict[str, list[str]]:
        try:
            kept = json.loads(self.kept.read_text("utf-8"))
            return {str(name): [str(one) for one in digests] for name, digests in kept.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    # -- what is left out

    def patterns(self, item: pytest.Item) -> list[str] | None:
        """What a test depends on; None if that is not known."""
        path = item.path.resolve()
        if self.root not in path.parents:
            return None
        name = path.relative_to(self.root).as_posix()
        rule = next((rule for folder, rule in self.rules.items() if name.startswith(f"{folder}/")), None)
        marker = item.get_closest_marker("inputs")
        if rule is None:
            return None
        if marker is None:
            return [*rule]
        try:
            params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
            own = [*marker.args, *(marker.kwargs["by"](**params) if "by" in marker.kwargs else [])]
            function = getattr(item, "originalname", None) or item.name
            used = self.uses.of(path, function)
        except (SyntaxError, OSError, LookupError, UnicodeDecodeError, TypeError, ValueError):
            return [*WHOLE]
        conftests = [self.uses.name(one) for one in self.uses.conftests(path)]
        return sorted({*own, *used, *conftests, "pyproject.toml", "tests/unchanged.py"})

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        known: dict[tuple[str, ...], str] = {}
        rest, out = [], []
        for item in items:
            patterns = self.patterns(item)
            if patterns is None:
                rest.append(item)
                continue
            key = tuple(patterns)
            if key not in known:
                known[key] = self.files.of(patterns, self.facts)
            if self.leaves_out and known[key] in self.passed.get(item.nodeid, ()):
                out.append(item)
            else:
                item.user_properties.append(("inputs", [[known[key], patterns, ""]]))
                rest.append(item)
        self.left_out = len(out)
        if out:
            config.hook.pytest_deselected(items=out)
            items[:] = rest

    # -- what passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_worker:
            return
        given: Any = dict(report.user_properties).get("inputs")
        if given:
            self.inputs[report.nodeid] = [Known(*one) for one in given]
            outcome = report.outcome if not hasattr(report, "wasxfail") else "xfail"
            if outcome == "skipped" and PASSED_BEFORE in str(report.longrepr):
                outcome = "passed"
            self.phases.setdefault(report.nodeid, set()).add(f"{report.when} {outcome}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_worker:
            session.config.workeroutput["unchanged"] = self.left_out  # type: ignore[attr-defined]
            return
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.left_out:
            session.exitstatus = pytest.ExitCode.OK
        self.keep()

    def keep(self) -> None:
        """Note what passed, unless its inputs have changed since the run began; and forget what failed."""
        if not self.inputs:
            return
        now, now_facts = Files(self.root), facts(self.root)
        passed, still = self.read(), dict[tuple[str, ...], str]()
        for name, given in self.inputs.items():
            well = self.phases[name] == {"setup passed", "call passed", "teardown passed"}
            news = []
            for one in given:
                key = (*one.patterns, one.made)
                if key not in still:
                    still[key] = now.of(one.patterns, now_facts + one.made)
                news += [one.digest] if well and still[key] == one.digest else []
            others = [one for one in passed.get(name, []) if one not in {known.digest for known in given}]
            passed[name] = [*news, *others][:KEPT]
        self.kept.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.kept.parent, delete=False, encoding="utf-8") as file:
            json.dump({name: digests for name, digests in sorted(passed.items()) if digests}, file, indent=0)
        os.replace(file.name, self.kept)

    # -- xdist

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        given = {"leaves_out": self.leaves_out, "facts": self.facts, "passed": self.passed}
        node.workerinput["unchanged"] = given

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        self.left_out = max(self.left_out, output.get("unchanged", 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            terminalreporter.write_line(SAID.format(self.left_out))


def skip_if_known(item: pytest.Item, made: Iterable[Path], folder: Path) -> None:
    """For a test that looks at files which a fixture has just made in `folder`: skip it if it passed on the same.

    It depends on these and on what lies beside it, besides the facts about the machine.
    """
    plugin = item.config.pluginmanager.get_plugin("unchanged")
    given = dict(item.user_properties).get("inputs")
    if not isinstance(plugin, Unchanged) or not isinstance(given, list):
        return
    parts = [part for path in sorted(made) for part in (path.relative_to(folder).as_posix(), path.read_bytes())]
    own = [plugin.uses.name(item.path.resolve().parent), "tests/*.py", "pyproject.toml", "package-lock.json"]
    known = Known("", own, digest(*parts))
    known.digest = plugin.files.of(own, plugin.facts + known.made)
    given.append([known.digest, known.patterns, known.made])
    if plugin.leaves_out and known.digest in plugin.passed.get(item.nodeid, ()):
        pytest.skip(PASSED_BEFORE)


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run tests that have passed on the same inputs, too")


def configure(config: pytest.Config, rules: Mapping[str, Iterable[str]], root: Path) -> None:
    """`rules`: what the tests of a folder depend on, as patterns; tests of other folders are always run."""
    config.addinivalue_line(
        "markers",
        "inputs(*patterns, by=None): files that a test depends on; by: a function of its parameters that gives more",
    )
    worker = getattr(config, "workerinput", None)
    if "unchanged" in worker if worker is not None else is_known(os.environ, root):
        config.pluginmanager.register(Unchanged(config, rules, root), "unchanged")
