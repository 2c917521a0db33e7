"""The numbers on the page that says what softcuda is: each is what the tests themselves count."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from warpbook.book import LANGUAGES

ROOT = Path(__file__).parents[2]


def module(path: str):
    file = ROOT / path
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location(f"numbers_{file.stem}", file)
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = loaded
        spec.loader.exec_module(loaded)
        return loaded
    finally:
        sys.path.remove(str(file.parent))


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    conformance, suite = module("tests/softcuda/conformance/test_conformance.py"), module("tests/pycuda/test_suite.py")
    forms = conformance.all_forms()
    refused = sum(1 for form in forms if form.name.startswith(tuple(conformance.REFUSED)))
    skipped = sum(suite.REASONS.values()) + 5  # which want more memory than the 4 GB of that run
    return {
        "forms": len(forms) - refused,
        "refused": refused,
        "passed": suite.TESTS - suite.EXPECTED_FAILURES - skipped,
        "skipped": skipped,
        "expected failures": suite.EXPECTED_FAILURES,
    }


WORDS = {  # around each number, so that it is the right one
    "en": {"forms": "{} forms of PTX", "refused": "{} more forms are refused", "passed": "{} passed",
           "skipped": "{} skipped", "expected failures": "{} expected failures"},
    "zh": {"forms": "{} 种形式的 PTX", "refused": "另有 {} 种形式", "passed": "{} 项通过", "skipped": "{} 项跳过",
           "expected failures": "{} 项是预期中的失败"},
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_the_numbers_of_the_tests(language, numbers):
    text = (ROOT / "docs" / language / "softcuda.md").read_text()
    for what, number in numbers.items():
        assert WORDS[language][what].format(f"{number:,}") in text, f"{what}: {number:,}"


def test_softcudas_readme_has_them_too(numbers):
    assert f"{numbers['forms']:,} forms of instructions" in (ROOT / "softcuda" / "README.md").read_text()
