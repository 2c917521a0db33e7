"""A book of three pages with two exercises and a kernel that a program uses, for the tests of the workbench."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from warpbook.book import Book, write_text

EXERCISE = "memory-access/eight-per-thread"
TRITON = "triton/vector-add"  # whose answer is Python
KERNEL = """// Doubles.
// --8<-- [start:double]
extern "C" __global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
// --8<-- [end:double]
"""
PROGRAM = """import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as cuda
import warpbench as wb

twice = wb.module("memory-access/twice.cu").get_function("twice")
x = np.arange(40, dtype=np.float32)
twice(cuda.InOut(x), np.int32(40), block=(32, 1, 1), grid=(2, 1))
print("x[3] is", x[3])
"""
PAGE = """# Memory {{ #memory }}

## Stride {{ #stride }}

```cuda
--8<-- "snippets/memory-access/twice.cu:double"
```

## {heading} {{ #exercises }}

{{{{ exercise:{exercise} }}}}
"""
TRITON_PAGE = """# Triton {{ #triton }}

## Masks {{ #masks }}

{{{{ exercise:{exercise} }}}}
"""


def make_book(book: Book, root: Path) -> Book:
    """With the theme and the code of `book`, under `root`."""
    for name in ("warpbook", "theme", "snippets/warpjudge", f"exercises/{EXERCISE}", f"exercises/{TRITON}"):
        shutil.copytree(book.root / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(book.snippets / "warpbench.py", root / "snippets")
    (root / "node_modules").symlink_to(book.root / "node_modules")
    for name, home in (("mkdocs.yml", "Home"), ("mkdocs.zh.yml", "首页")):
        nav = f"nav:\n  - {home}: index.md\n  - Memory: memory-access.md\n  - Triton: triton.md\n"
        config = (book.root / name).read_text("utf-8")
        (root / name).write_text(re.sub(r"^nav:\n(.*\n)*?(?=\n)", nav, config, flags=re.MULTILINE), "utf-8")
    texts = {
        "docs/glossary.toml": "",
        "docs/en/index.md": "# Home\n",
        "docs/zh/index.md": "# 首页\n",
        "docs/en/memory-access.md": PAGE.format(heading="Exercises", exercise=EXERCISE),
        "docs/zh/memory-access.md": PAGE.format(heading="练习", exercise=EXERCISE),
        "docs/en/triton.md": TRITON_PAGE.format(exercise=TRITON),
        "docs/zh/triton.md": TRITON_PAGE.format(exercise=TRITON),
        "snippets/memory-access/twice.cu": KERNEL,
        "snippets/memory-access/twice.py": PROGRAM,
    }
    for name, text in texts.items():
        write_text(root / name, text)
    return Book(root)
