"""Tests that passed on the same inputs are not run again; in any doubt they are (tests/unchanged.py)."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import unchanged
from unchanged import Files, Uses, code_of

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.inputs()  # what it imports, and no more

TESTS = Path(unchanged.__file__).parent
CONFTEST = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
import unchanged

ROOT = Path(__file__).parents[1]

def pytest_addoption(parser):
    unchanged.add_option(parser)

def pytest_configure(config):
    unchanged.configure(config, {{"tests/whole": unchanged.WHOLE, "tests/part": ["book"]}}, ROOT)
"""
ONE = "def test_one():\n    pass\n"
PAGE = "# A page\n\nProse.\n\n```python\nprint(1)\n```\n"


@pytest.fixture
def repository(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of which this run knows nothing: not its settings, and not whether there is a GPU."""
    for name in list(os.environ):
        if name.startswith(unchanged.SETTINGS) or name in ("CI", "PYTHONPATH", "PYTEST_ADDOPTS"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(unchanged, "GPUS", ())
    write(pytester.path, "tests/conftest.py", CONFTEST)
    write(pytester.path, "book/page.md", PAGE)
    return pytester.path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


Run = Callable[..., dict[str, int]]


@pytest.fixture
def run(repository: Path, pytester: pytest.Pytester) -> Run:
    """Run the tests; how many passed and so on, and how many were left out."""

    def start(*arguments: str) -> dict[str, int]:
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider", *(arguments or ("tests",)))
        counts = {what: n for what, n in done.parseoutcomes().items() if what != "deselected"}
        lines = [line for line in done.outlines if "unchanged since they last passed" in line]
        counts["left out"] = sum(int(line.split()[0]) for line in lines)
        assert done.ret == (1 if "failed" in counts or "errors" in counts else 0), done.outlines
        return {what: n for what, n in counts.items() if n and what not in ("warnings", "warning")}

    return start


def test_what_passed_is_not_run_again_and_that_is_no_failure(repository, run):
    write(repository, "tests/part/test_a.py", ONE)
    assert run() == {"passed": 1}
    assert run() == {"left out": 1}
    assert run("tests", "--all") == {"passed": 1}


def test_what_passed_when_all_were_run_is_known_too(repository, run):
    write(repository, "tests/part/test_a.py", ONE)
    assert run("tests", "--all") == {"passed": 1}
    assert run() == {"left out": 1}


def test_nor_by_several_processes(repository, pytester, run):
    for name in "abc":
        write(repository, f"tests/part/test_{name}.py", ONE + "def test_two():\n    pass\n")
    assert run("-n", "2", "tests") == {"passed": 6}
    assert run("-n", "2", "tests") == run("-n", "0", "tests") == {"left out": 6}
    write(repository, "tests/part/test_c.py", ONE)
    write(repository, "book/page.md", "Another.")
    assert run("-n", "2", "tests") == {"passed": 5}


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("book/page.md", {"passed": 2}),
        ("book/new.md", {"passed": 2}),
        ("book/folder/deep.md", {"passed": 2}),
        ("elsewhere.md", {"passed": 1, "left out": 1}),  # the test of the whole repository
        (".cache/x", {"left out": 2}),
        ("site/index.html", {"left out": 2}),
        ("book/__pycache__/x.pyc", {"left out": 2}),
    ],
)
def test_what_depends_on_a_change_is_run_again(repository, run, changed, again):
    write(repository, "tests/part/test_a.py", ONE)
    write(repository, "tests/whole/test_b.py", ONE)
    assert run() == {"passed": 2}
    write(repository, changed, "Changed.")
    assert run() == again


def test_what_is_gone_is_a_change_too(repository, run):
    write(repository, "tests/part/test_a.py", ONE)
    write(repository, "book/other.md", "")
    run()
    (repository / "book" / "other.md").unlink()
    assert run() == {"passed": 1}


def test_a_branch_that_one_comes_back_to_is_known(repository, run):
    write(repository, "tests/part/test_a.py", ONE)
    run()
    write(repository, "book/page.md", "Another branch.")
    assert run() == {"passed": 1}
    write(repository, "book/page.md", PAGE)
    assert run() == {"left out": 1}


MARKED = """
    import pytest
    def of(name): return [f"code of book/{name}.md"]

    @pytest.mark.inputs("data.txt", by=of)
    @pytest.mark.parametrize("name", ["page", "other"])
    def test_page(name):
        pass
"""


@pytest.mark.parametrize(
    ("changed", "text", "again"),
    [
        ("book/page.md", PAGE.replace("Prose", "Other prose"), {"left out": 2}),
        ("book/page.md", PAGE.replace("print(1)", "print(2)"), {"passed": 1, "left out": 1}),
        ("data.txt", "x", {"passed": 2}),
        ("book/third.md", "x", {"left out": 2}),
        ("tests/part/test_a.py", MARKED + "    # changed", {"passed": 2}),
        ("tests/conftest.py", CONFTEST + "# changed", {"passed": 2}),
    ],
)
def test_a_marker_says_what_each_test_depends_on(repository, run, changed, text, again):
    write(repository, "tests/part/test_a.py", MARKED)
    write(repository, "book/other.md", PAGE)
    assert run() == {"passed": 2}
    write(repository, changed, text)
    assert run() == again


def test_where_a_marker_does_not_work_the_test_depends_on_everything(repository, run):
    write(repository, "tests/part/test_a.py", MARKED.replace("def of(name)", "def of(nothing)"))
    assert run() == {"passed": 2}
    assert run() == {"left out": 2}
    write(repository, "elsewhere.md", "Changed.")
    assert run() == {"passed": 2}


def test_a_folder_without_a_rule_is_always_run(repository, run):
    write(repository, "tests/other/test_a.py", ONE)
    assert run() == run() == {"passed": 1}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("def test(): assert False", {"failed": 1}),
        ("import pytest\ndef test(): pytest.skip('no browser')", {"skipped": 1}),
        ("import pytest\n@pytest.mark.xfail\ndef test(): assert False", {"xfailed": 1}),
        ("import pytest\n@pytest.mark.xfail\ndef test(): pass", {"xpassed": 1}),
        ("import pytest\n@pytest.fixture\ndef f(): yield 1 / 0\ndef test(f): pass", {"errors": 1}),
        (
            "import pytest\n@pytest.fixture\ndef f():\n    yield\n    1 / 0\ndef test(f): pass",
            {"passed": 1, "errors": 1},
        ),
    ],
)
def test_what_did_not_pass_is_run_again(repository, run, text, outcome):
    write(repository, "tests/part/test_a.py", text)
    assert run() == run() == outcome


def test_what_fails_after_it_passed_on_the_same_inputs_is_run_again(repository, run, monkeypatch):
    """It depends on something that nobody said."""
    write(repository, "tests/part/test_a.py", "import os\ndef test(): assert 'OH' not in os.environ")
    run()
    monkeypatch.setenv("OH", "1")
    assert run("--all", "tests") == {"failed": 1}
    assert run() == {"failed": 1}


def test_inputs_that_change_while_tests_run_are_not_known_to_be_well(repository, run):
    text = "from pathlib import Path\ndef test(): Path('book/page.md').write_text('{}')"
    write(repository, "tests/part/test_a.py", text.format("during the run"))
    assert run() == {"passed": 1}
    assert run() == {"passed": 1}  # on the new text
    assert run() == {"left out": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [("CI", "true"), ("SOFTCUDA_DEVICE", "a100"), ("CUDA_VISIBLE_DEVICES", "0"), ("SABOTAGE", "nan"), ("LANG", "tlh"),
     ("PYTHONPATH", "/somewhere")],
)  # fmt: skip
def test_other_settings_run_everything(repository, run, monkeypatch, name, text):
    write(repository, "tests/part/test_a.py", ONE)
    run()
    monkeypatch.setenv(name, text)
    assert run() == {"passed": 1}


def test_a_machine_with_a_gpu_runs_everything(repository, run, monkeypatch):
    write(repository, "tests/part/test_a.py", ONE)
    run()
    monkeypatch.setattr(unchanged, "GPUS", (str(write(repository, "book/nvidia0", "")),))
    (repository / "book" / "nvidia0").write_text("")
    assert run() == run() == {"passed": 1}


@pytest.mark.parametrize("arguments", [["-k", "one"], ["tests/part/test_a.py::test_one"]])
def test_tests_that_somebody_names_are_run(repository, run, arguments):
    write(repository, "tests/part/test_a.py", ONE)
    run()
    assert run(*arguments) == {"passed": 1}


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"tests/part/test_a.py::test_one": 3}'])
def test_notes_that_cannot_be_read_run_everything(repository, run, text):
    write(repository, "tests/part/test_a.py", ONE)
    run()
    write(repository, ".cache/tests-passed.json", text)
    assert run() == {"passed": 1}


def test_an_interrupted_run_keeps_what_passed(repository, run, pytester):
    write(repository, "tests/part/test_a.py", ONE)
    write(repository, "tests/part/test_b.py", "def test(): raise KeyboardInterrupt")
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "tests", no_reraise_ctrlc=True)
    kept = json.loads((repository / ".cache" / "tests-passed.json").read_text())
    assert list(kept) == ["tests/part/test_a.py::test_one"]


# -- code of a page, and files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "code"),
    [
        ("Prose.\n", ""),
        (PAGE, "```python\nprint(1)\n```"),
        ("---\ncounters: x\n---\n\nProse.\n", "---\ncounters: x\n---"),
        ("A\n\n    ```python\n    x\n    ```\nB\n", "    ```python\n    x\n    ```"),
        ("````\n```\nx\n````\nB\n", "````\n```\nx\n````"),
        ("Text.\n{{ lines:v0 }}\nMore.\n", "{{ lines:v0 }}"),
        ("```python\nnever closed\n\nProse.\n", "```python\nnever closed\n\nProse.\n"),
    ],
)
def test_the_code_of_a_page(page, code):
    assert code_of(page) == code


def test_a_pattern_leaves_out(tmp_path):
    write(tmp_path, "a/b/x.txt", "")
    write(tmp_path, "a/c/y.txt", "")
    before = Files(tmp_path).of([".", "!a/b"])
    write(tmp_path, "a/b/x.txt", "changed")
    assert Files(tmp_path).of([".", "!a/b"]) == before != Files(tmp_path).of(["."])
    write(tmp_path, "a/c/y.txt", "changed")
    assert Files(tmp_path).of([".", "!a/b"]) != before


# -- what a test uses --------------------------------------------------------------------------------------------------

TEST = """
    import json
    from package import first, second
    from package.third import helper as called
    import beside

    def by_fixture(): return first
    def test_one(by_fixture): pass
    def test_two(): called()
    def test_three(): second.run()
    def test_four(): from package import first
    def test_five(): return beside
    def test_six(shared): pass
"""


@pytest.fixture
def uses(tmp_path: Path) -> Callable[[str], list[str]]:
    """The names of the modules that one of the tests above uses."""
    files = {
        "package/__init__.py": "",
        "package/first.py": "from . import fourth",
        "package/second.py": "CHILD = Path(__file__).with_name('child.py')",
        "package/third.py": "def helper():\n    import package.fourth",
        "package/fourth.py": "import json",
        "package/child.py": "",
        "package/unused.py": "",
        "tests/beside.py": "START = ['-m', 'package.fourth']",
        "tests/conftest.py": "import package.unused\nfrom package import fourth\ndef shared(): return fourth",
        "tests/test_a.py": TEST,
    }
    for name, text in files.items():
        write(tmp_path, name, text)

    def get(function: str) -> list[str]:
        found = Uses(tmp_path).of(tmp_path / "tests" / "test_a.py", function)
        return sorted(Path(name).stem for name in found if not name.endswith(("__init__.py", "test_a.py")))

    return get


@pytest.mark.parametrize(
    ("function", "modules"),
    [
        ("test_one", ["first", "fourth"]),
        ("test_two", ["fourth", "third"]),
        ("test_three", ["child", "second"]),
        ("test_four", ["first", "fourth"]),
        ("test_five", ["beside", "fourth"]),
        ("test_six", ["fourth"]),
    ],
)
def test_a_test_uses_what_it_reaches(uses, function, modules):
    assert uses(function) == modules


def test_a_function_that_is_not_there_is_not_guessed(uses):
    with pytest.raises(LookupError):
        uses("test_nothing")
