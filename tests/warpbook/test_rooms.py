"""The rooms of warpbook/, in the order that a page passes them: each imports only rooms above it."""

import ast
from pathlib import Path

import pytest

from warpbook.book import here

PACKAGE = here().root / "warpbook"
ROOMS = (
    ("book", "numbers", "markup", "reads", "tools"),
    ("toml",),
    ("source",),
    ("run",),
    ("records",),
    ("blocks",),
    ("exercises",),
    ("pipeline",),
    ("exports",),
    ("site",),
    ("check",),
    ("new",),
    ("cli", "references", "__main__"),
)
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(code: str) -> list[tuple[int, str]]:
    """(line, room) of each import from warpbook, wherever it stands."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == "warpbook":
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("warpbook."):
            found.append((node.lineno, str(node.module).split(".")[1]))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, a.name.split(".")[1]) for a in node.names if a.name.startswith("warpbook.")]
    return found


def wrong_way(path: Path, code: str) -> list[str]:
    """One line for each import of a room below the importing one."""
    mine = room_of(path)
    return [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {mine} imports {theirs}, a room below it"
        for line, theirs in imported(code)
        if FLOOR[theirs] > FLOOR[mine]
    ]


def test_each_room_imports_only_rooms_above_it() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE]
    wrong = [line for path in sorted(files) for line in wrong_way(path, path.read_text("utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_every_module_is_in_a_room_that_the_order_names() -> None:
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms <= FLOOR.keys()


def test_nothing_but_the_site_and_its_checks_knows_mkdocs() -> None:
    for path in PACKAGE.rglob("*.py"):
        if room_of(path) not in ("site", "check", "cli"):
            text = path.read_text("utf-8")
            assert "from mkdocs" not in text and "import mkdocs" not in text, path


@pytest.mark.parametrize(
    ("code", "room"),
    [
        ("from warpbook.site import plugin", "site"),
        ("def f():\n    from warpbook import cli", "cli"),
        ("import warpbook.check.audit", "check"),
    ],
)
def test_an_import_the_wrong_way_is_named(code: str, room: str) -> None:
    [line] = wrong_way(PACKAGE / "blocks" / "listings.py", code)
    assert line.endswith(f"blocks imports {room}, a room below it")
