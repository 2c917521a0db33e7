"""A check that passes a broken kernel is no check: every program and every page, with its kernels broken on purpose.

A kernel that writes nothing, zeros or NaN must be noticed, whatever the program compares with; a reference that was
itself computed by the kernel would be broken along with it and is found out here. A gradient must also be noticed if
one of its numbers has the wrong sign, if it lacks a term, or if it is that of an earlier launch. Runs on softcuda only,
where kernels are PTX and can be changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import depends
import pytest

from warpbook.book import SOFTCUDA, Book, BookError, here
from warpbook.records import records
from warpbook.run import compare
from warpbook.run.run import RunError, present_device, run_page, run_program
from warpbook.source.pages import Page

BOOK = here()
SABOTAGE = Path(__file__).with_name("sabotage")
KINDS = ("unwritten", "zeros", "nan")
OF_GRADIENTS = ("sign", "missing", "stale")
# Three builds of an extension; kernels.py holds the same kernels against float64.
TOO_LONG = {"snippets/torch-operator/builds.py"}
PROGRAMS = [
    BOOK.relative(path)
    for article in BOOK.articles()
    for path in BOOK.programs(article)
    if not records.measures_cpu(path)  # no kernels; tests/pages/test_cpu.py breaks their C
]
PAGES = [BOOK.relative(path) for path in BOOK.pages("en") if Page(BOOK, path).python]
WAIT = {"snippets/scan/lookback.py"}  # for ever, as soon as a store is missing; whole, its one launch here takes 0.03 s


def has_gradient(name: str) -> bool:
    """Whether the program speaks of a backward kernel, and its article has one."""
    if name in TOO_LONG:
        return False
    path = BOOK.root / name
    text = "".join(file.read_text("utf-8") for file in sorted(path.parent.glob("*.cu")))
    return bool(re.search(r"\w+_backward\(", text)) and "backward" in path.read_text("utf-8")


pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def on_softcuda() -> None:
    try:
        device = present_device(BOOK)
    except BookError as error:
        pytest.fail(str(error), pytrace=False)
    if not device["softcuda"]:
        pytest.skip("a GPU's kernels are machine code")


@pytest.fixture
def sabotage(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Break the kernels of all programs from here on."""

    def start(kind: str) -> None:
        monkeypatch.setenv("SABOTAGE", kind)
        monkeypatch.setenv("SOFTCUDA_TIMEOUT", "20")  # blocks that wait for what another should have written
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]))

    return start


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, sabotage: Callable[[str], None]) -> str:
    sabotage(request.param)
    return str(request.param)


def notices(book: Book, program: Path) -> bool:
    """Whether the program fails, and not for want of a module."""
    try:
        run = run_program(book, program)
        if why := compare.lacked(run.stdout):
            pytest.skip(why)
        return bool(run.skipped)  # aloud, for want of hardware: it has no kernel to break here
    except RunError as error:
        if "cuModuleLoad" in str(error):
            raise
        return True


@pytest.mark.inputs("tests/pages/sabotage", by=depends.of_program)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_notices(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in WAIT:
        monkeypatch.setenv("SOFTCUDA_TIMEOUT", "5")
    if not notices(BOOK, BOOK.root / name):
        pytest.fail(f"{name}: says all is well when its kernels write {kind}", pytrace=False)


@pytest.mark.inputs("tests/pages/sabotage", by=depends.of_page)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_notices(name: str, kind: str) -> None:
    page = Page(BOOK, BOOK.root / name)
    try:
        printed = run_page(page)
    except RunError:
        return
    record = records.read(BOOK, SOFTCUDA, page.article)
    assert record is not None
    if why := next(filter(None, map(compare.lacked, printed)), ""):
        pytest.skip(why)
    pairs = zip(record["blocks"]["printed"], printed, strict=True)
    if not any(compare.difference("", kept["stdout"], text) for kept, text in pairs):
        pytest.fail(f"{name}: prints the same when its kernels write {kind}", pytrace=False)


@pytest.fixture(params=OF_GRADIENTS)
def wrong(request: pytest.FixtureRequest, sabotage: Callable[[str], None], monkeypatch, tmp_path: Path) -> Callable:
    """Break one thing in backward kernels; what is returned asks whether there was one to break."""
    sabotage(request.param)
    mark = tmp_path / "sabotaged"
    monkeypatch.setenv("SABOTAGED", str(mark))

    def check(noticed: bool, what: str) -> None:
        if not mark.exists():
            pytest.skip(f"nothing to break: {request.param}")
        if not noticed:
            pytest.fail(f"{what}: says all is well when gradients are wrong: {request.param}", pytrace=False)

    return check


@pytest.mark.inputs("tests/pages/sabotage", by=depends.of_program)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if has_gradient(name)])
def test_a_program_notices_a_wrong_gradient(name: str, wrong: Callable[[bool, str], None]) -> None:
    wrong(notices(BOOK, BOOK.root / name), name)


# -- and the test of this test: four lax checks, each blind to one way of being wrong --------------------------------

PROGRAM = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

text = "__global__ void twice(float *a) {{ a[threadIdx.x] = 2 * a[threadIdx.x]; }}"
a = {start}
out = a.copy()
SourceModule(text).get_function("twice")(cuda.InOut(out), block=(32, 1, 1))
{check}
"""
RANDOM = "np.random.rand(32).astype(np.float32)"
BLIND = [  # (what it starts from, its check, what it does not see)
    (RANDOM, "assert not (abs(out - 2 * a) > 1e-6).any()", "nan"),
    ("np.zeros(32, np.float32)", "assert (out == 2 * a).all()", "zeros"),
    ("np.zeros(32, np.float32)", "assert (out == 2 * a).all()", "unwritten"),
    (RANDOM, "assert np.array_equal(out, (want := out), equal_nan=True)", "nan"),
    (RANDOM, "assert np.array_equal(out, (want := out))", "zeros"),
    (RANDOM, "assert np.array_equal(out, (want := out))", "unwritten"),
]


@pytest.mark.parametrize(("start", "check", "unseen"), BLIND)
def test_lax_checks_are_found_out(small, write, sabotage, start: str, check: str, unseen: str) -> None:
    sabotage(unseen)
    assert not notices(small, write("snippets/x/a.py", PROGRAM.format(start=start, check=check)))


def test_a_sound_check_notices_everything(small, write, kind: str) -> None:
    (small.root / "snippets").mkdir()
    (small.root / "snippets" / "warpbench.py").symlink_to(BOOK.snippets / "warpbench.py")
    check = "import warpbench as wb\nwb.check(out, 2 * a, 1e-6)"
    assert notices(small, write("snippets/x/a.py", PROGRAM.format(start=RANDOM, check=check)))


OF_A_SQUARE = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

text = "__global__ void backward(const float *a, const float *d, float *out)"
text += "{{ int i = threadIdx.x; out[i] = 2 * a[i] * d[i] + 3; }}"
kernel = SourceModule(text).get_function("backward")
out = np.full(32, np.nan, np.float32)
for _ in range(2):
    a, d = (np.random.rand(32).astype(np.float32) for _ in range(2))
    {poison}
    kernel(cuda.In(a), cuda.In(d), cuda.InOut(out), block=(32, 1, 1))
    want = 2 * a * d + 3
    {check}
"""
POISON, SOUND = "out[:] = np.nan", "assert (abs(out - want) <= 1e-5).all()"


@pytest.mark.parametrize(
    ("poison", "check", "unseen"),
    [
        (POISON, "assert (abs(abs(out) - want) <= 1e-5).all()", "sign"),
        (POISON, "assert np.corrcoef(out, want)[0, 1] > 0.999", "missing"),
        ("want = None", "assert np.isfinite(out).all()", "stale"),
    ],
)
def test_lax_checks_of_gradients_are_found_out(small, write, sabotage, poison: str, check: str, unseen: str) -> None:
    sabotage(unseen)
    assert not notices(small, write("snippets/x/a.py", OF_A_SQUARE.format(poison=poison, check=check)))


def test_a_sound_check_notices_a_wrong_gradient(small, write, wrong: Callable[[bool, str], None]) -> None:
    wrong(notices(small, write("snippets/x/a.py", OF_A_SQUARE.format(poison=POISON, check=SOUND))), "a.py")
