"""Blocks share one process, as in a notebook; a failure names the line where it was written."""

from __future__ import annotations

import pytest

from warpbook.run.run import RunError, run_page, run_program
from warpbook.source.pages import Page


def fence(*codes: str) -> str:
    return "# X\n\n" + "\n".join(f"```python\n{code}\n```\n" for code in codes)


def test_blocks_run_in_order_in_one_process(small, write):
    page = Page(small, write("docs/en/x.md", fence("a = 20", "print(a + 1)", "print(__name__, end='')")))
    assert run_page(page) == ["", "21\n", "__main__"]


def test_output_is_captured_below_python(small, write):
    code = 'import ctypes, os\nos.write(1, b"raw ")\nctypes.CDLL(None).puts(b"from C")'
    page = Page(small, write("docs/en/x.md", fence(code, "print('next')")))
    assert run_page(page) == ["raw from C\n", "next\n"]


def test_a_page_imports_what_its_programs_import(small, write):
    write("snippets/helper.py", "ONE = 1\n")
    write("snippets/x/beside.py", "TWO = 2\n")
    page = Page(small, write("docs/en/x.md", fence("import beside, helper\nprint(helper.ONE + beside.TWO)")))
    assert run_page(page) == ["3\n"]


def test_a_failing_block_names_the_page_and_the_line(small, write):
    page = Page(small, write("docs/en/x.md", fence("print('before')", "a = 1\na / 0")))
    with pytest.raises(RunError) as raised:
        run_page(page)
    assert str(raised.value) == "docs/en/x.md:9: this block fails: ZeroDivisionError: division by zero"
    assert 'File "docs/en/x.md", line 9' in raised.value.traceback
    assert "child.py" not in raised.value.traceback


def test_a_failing_snippet_names_its_own_line(small, write):
    write("snippets/x/a.py", "# --8<-- [start:f]\ndef f():\n    raise ValueError('no')\n# --8<-- [end:f]\n")
    page = Page(small, write("docs/en/x.md", fence('--8<-- "snippets/x/a.py:f"\nf()')))
    with pytest.raises(RunError) as raised:
        run_page(page)
    assert str(raised.value) == "docs/en/x.md:3: snippets/x/a.py:3: this block fails: ValueError: no"


def test_a_block_that_is_not_python(small, write):
    page = Page(small, write("docs/en/x.md", fence("a = 1", "b = (")))
    with pytest.raises(RunError, match=r"^docs/en/x.md:8: this block fails: .*SyntaxError: '\(' was never closed"):
        run_page(page)


def test_a_block_that_ends_the_process(small, write):
    page = Page(small, write("docs/en/x.md", fence("a = 1", "import os\nos.abort()")))
    with pytest.raises(RunError) as raised:
        run_page(page)
    assert str(raised.value) == "docs/en/x.md:7: this block ended the process (killed by SIGABRT)"


def test_leaving_a_page_early_is_a_failure(small, write):
    page = Page(small, write("docs/en/x.md", fence("raise SystemExit(0)", "print(1)")))
    with pytest.raises(RunError, match=r"^docs/en/x.md:4: this block fails: SystemExit: 0"):
        run_page(page)


def test_a_failing_program_is_told_in_one_line(small, write):
    program = write("snippets/x/a.py", "print('so far')\nassert 1 == 2, 'sums differ'\n")
    with pytest.raises(RunError) as raised:
        run_program(small, program)
    assert str(raised.value) == "snippets/x/a.py:2: this program fails: AssertionError: sums differ"
    assert raised.value.traceback.startswith("so far\n")


COMPILER = """nvcc compilation of kernel.cu failed
[command: nvcc --cubin -arch sm_90 kernel.cu]
[stderr:
snippets/x/k.cu(7): error: identifier "thread" is undefined

1 error detected in the compilation of "kernel.cu".
]"""


def test_a_kernel_that_does_not_compile_names_its_own_line(small, write):
    page = Page(small, write("docs/en/x.md", fence(f"raise RuntimeError({COMPILER!r})")))
    with pytest.raises(RunError) as raised:
        run_page(page)
    said = 'the kernel does not compile: identifier "thread" is undefined'
    assert str(raised.value) == f"docs/en/x.md:3: snippets/x/k.cu:7: this block fails: {said}"
    program = write("snippets/x/a.py", f"raise RuntimeError({COMPILER!r})\n")
    with pytest.raises(RunError) as raised:
        run_program(small, program)
    assert str(raised.value) == f"snippets/x/a.py: snippets/x/k.cu:7: this program fails: {said}"


NEEDS = "import pycuda.autoprimaryctx, warpbench as wb\nwb.needs({})\nprint('went on')\n"


@pytest.fixture
def with_helper(small, book):
    (small.root / "snippets").mkdir()
    (small.root / "snippets" / "warpbench.py").symlink_to(book.snippets / "warpbench.py")
    return small


def test_a_program_that_the_device_cannot_serve_is_skipped_aloud(with_helper, write):
    run = run_program(with_helper, write("snippets/x/a.py", NEEDS.format("'99.0'")))
    assert run.skipped.startswith("needs compute capability 99.0, and ")
    assert run_program(with_helper, write("snippets/x/b.py", NEEDS.format("'5.0'"))).stdout == "went on\n"


def test_a_page_goes_on_after_a_block_that_the_device_cannot_serve(with_helper, write):
    page = Page(with_helper, write("docs/en/x.md", fence(NEEDS.format("memory=2**60"), "print('the next')")))
    first, second = run_page(page)
    assert first.startswith("skipped: needs 1.07e+09 GiB of device memory, and ")
    assert second == "the next\n"


def test_a_program_whose_values_cannot_be_written_fails(with_helper, write):
    lost = 'import warpbench as wb\n\nwb.value("a.time", 1.0, "s")\nwb.device = lambda: 1 / 0\nprint("done")\n'
    program = write("snippets/x/lost.py", lost)
    with pytest.raises(RunError, match=r"x/lost\.py: what it measured could not be written: ZeroDivisionError"):
        run_program(with_helper, program)
