"""Listings in a real browser: a small book with a kernel beside its program, notes, a console and a long output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import recorded
from test_builds import make

from warpbook.book import Book, write_text

FIRST, ROWS = 21, 12  # the listing's first line in its file, well below the file's top, and how many it has
KERNEL = "\n".join(
    [f"// line {number}" for number in range(1, FIRST - 1)]
    + ["// --8<-- [start:copy]", "__global__ void copy(const float* a, float* b, int n) {"]
    + [f"    int i{row} = {row} * blockDim.x + threadIdx.x;" for row in range(ROWS - 3)]
    + [f"    if (i0 < n && i1 < n) b[i0] = a[i1];  // {'wide enough to scroll ' * 8}", "}", "// --8<-- [end:copy]"]
    + [f"// after {number}" for number in range(40)]
)
PROGRAM = 'import warpbench as wb\n\nwb.module("copying/copy.cu")\n' + "".join(f"print({row})\n" for row in range(40))
BLOCK = "\n".join(f"x{row} = {row}" for row in range(ROWS - 1))
PAGE = f"""# Copying {{ #copying }}

A copy of `n` floats.

```cuda title="snippets/copying/copy.cu"
--8<-- "snippets/copying/copy.cu:copy"
```

```python
{BLOCK}
print(6 * 7)
```

```cuda
--8<-- "snippets/copying/copy.cu:copy"
```

{{{{ notes }}}}

1.  `if (i0 < n` Both are tested.

```console
$ make serve
built
$ make test
```
"""


@pytest.fixture(scope="module")
def site(small_site: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    write_text(small_site.snippets / "copying" / "copy.cu", KERNEL)
    write_text(small_site.snippets / "copying" / "copy.py", PROGRAM)
    for language in ("en", "zh"):
        write_text(small_site.docs / language / "copying.md", PAGE)
    programs = {"copying/copy.py": {"stdout": "".join(f"{row}\n" for row in range(40))}}
    for device in ("nvidia-h200", "softcuda"):
        recorded.keep(small_site, device, "copying", programs, printed=["42\n"])
    output = tmp_path_factory.mktemp("built") / "site"
    done = make(small_site, output)
    assert done.returncode == 0, done.stderr
    return output


def test_listings_are_linked_copied_and_stand_side_by_side(
    site: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    listing = {"path": "copying/", "lab": "snippets/copying/copy/", "file": "copy.cu", "section": "copy"}
    look("listings.mjs", serve(site), listing | {"first": FIRST, "last": FIRST + ROWS - 1})
