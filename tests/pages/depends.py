"""What the run of a page or a program depends on, for the marker `inputs` (tests/unchanged.py)."""

from __future__ import annotations

from pathlib import Path

from unchanged import CODE, code_of

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = ROOT / "snippets"
PACKAGES = [f".cache/torch/packages/{name}-*.dist-info/METADATA" for name in ("torch", "triton")]  # their versions


def of_article(article: str, code: str = "") -> list[str]:
    """Its folder of snippets, those that `code` or a file in one of them mentions, the helper module, the records."""
    every = [path.name for path in SNIPPETS.iterdir() if path.is_dir() and path.name != "__pycache__"]
    todo, used, texts = [article], [], [code]
    while todo:
        folder = todo.pop()
        if folder in used:
            continue
        used.append(folder)
        texts += [path.read_text("utf-8", "replace") for path in (SNIPPETS / folder).glob("*.*") if path.is_file()]
        todo += [one for one in every if any(f"{one}/" in text or f'"{one}"' in text for text in texts)]
        texts = []
    folders = [f"snippets/{one}" for one in used]
    files = (path for one in used for path in (SNIPPETS / one).glob("*.py"))
    if "packages=" in code or any("packages=" in path.read_text("utf-8") for path in files):
        folders += PACKAGES
    return [*folders, "snippets/*.py", f"records/*/{article}.json", f"records/*/*/{article}.json"]


def of_page(name: str, **_: object) -> list[str]:
    path = ROOT / name
    return [CODE + name, *of_article(path.stem, code_of(path.read_text("utf-8")))]


def of_program(name: str, **_: object) -> list[str]:
    return of_article(Path(name).parent.name)


def of_both_pages(article: str, **_: object) -> list[str]:
    """For tests of an article in both languages: of its pages, wherever they lie, and of its programs."""
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob(f"{article}.md")]
    return [*of_article(article), *(one for name in pages for one in of_page(name))]
