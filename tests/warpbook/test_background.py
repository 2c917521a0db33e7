"""What tests start beside themselves does not depend on who started the tests, and does not outlive them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from background import background

PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
print(child.pid, flush=True)
time.sleep(100)
"""


@pytest.fixture
def ignored() -> Iterator[None]:
    """Run a test as `nohup` and a script's background would."""
    kept = [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)]
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), kept, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("ignored")
def test_signals_act_as_in_a_terminal() -> None:
    told = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    with background([sys.executable, "-c", told], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.read() == "True\n"
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_a_failing_test_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("background.stop.__defaults__", (0.1,))
    children = []

    def test() -> None:
        with background([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as process:
            children.append(psutil.Process(int(process.stdout.readline())))
            raise AssertionError("as planned")

    with pytest.raises(AssertionError, match="as planned"):
        test()
    assert psutil.wait_procs(children, timeout=100)[1] == []
