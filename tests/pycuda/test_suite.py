"""PyCUDA's own test suite passes on softcuda as it does on an NVIDIA H200.

There, with the same packages: everything passed that was not skipped for one of REASONS or expected to fail.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from xml.etree import ElementTree

import pytest

TESTS, EXPECTED_FAILURES = 319, 5
# Why tests skip themselves, on hardware too, and how many do.
REASONS = {
    "texture references were removed in CUDA 12": 11,
    "surface references were removed in CUDA 12": 2,
    "https://github.com/inducer/pycuda/issues/163": 2,
}
TOO_BIG = r"Need at least \d+\.\d GB memory"  # three of 4.5 GB, one of 9, one of 17


@pytest.mark.timeout(900)
def test_every_test_that_passes_on_an_h200_passes(sources, environment, tmp_path):
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "--quiet", "-n", "2", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run(
        [*command, "test"], cwd=sources, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert report.is_file(), done.stdout + done.stderr

    outcomes, skipped, failed = Counter(), Counter(), []
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}.{case.get('name')}")
        elif (skip := case.find("skipped")) is None:
            outcomes["passed"] += 1
        elif skip.get("type") == "pytest.xfail":
            outcomes["expected failure"] += 1
        else:
            skipped[skip.get("message")] += 1
    assert not failed, f"{failed}\n{done.stdout[-6000:]}"
    too_big = sum(skipped.pop(reason) for reason in list(skipped) if re.fullmatch(TOO_BIG, reason))
    assert skipped == REASONS
    assert too_big <= 5
    passed = TESTS - EXPECTED_FAILURES - skipped.total() - too_big
    assert outcomes == {"passed": passed, "expected failure": EXPECTED_FAILURES}
    print(f"PyCUDA's own tests: {passed} passed, {skipped.total()} skipped, {too_big} too big for this device")
