"""`make serve` ends when it is asked to, and leaves nothing behind: no process, no file. So do builds' processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from background import background

from warpbook.book import Book

Start = Callable[..., "Serving"]


class Serving:
    """`warpbook serve`, and the processes that it has started."""

    def __init__(self, process: subprocess.Popen[str], temporary: Path) -> None:
        self.process, self.temporary = process, temporary
        self.seen: set[psutil.Process] = set()

    def url(self) -> str:
        """Wait until it serves."""
        assert self.process.stdout
        return self.process.stdout.readline().split()[0]

    def children(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.seen.update(children)
        return children

    def has_ended(self, children: list[psutil.Process]) -> bool:
        """Whether it ended well, and nothing of it is left."""
        said = self.process.communicate(timeout=100)[0]
        assert self.process.returncode == 0 and "Traceback" not in said, (self.process.returncode, said)
        return gone(children) and not list(self.temporary.iterdir())

    def clear_away(self) -> None:
        """Kill what a failing test has left."""
        for child in self.seen:
            with suppress(psutil.NoSuchProcess):
                child.kill()


def gone(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=100)[1]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """An empty folder for temporary files; not tmp_path, whose name can be too long for a socket's."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def start(small_site: Book, temporary: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def start() -> Serving:
            process = stack.enter_context(
                background(
                    [sys.executable, "-m", "warpbook", "serve", "--port", "0"],
                    cwd=small_site.root,
                    env={**os.environ, "PYTHONPATH": str(small_site.root), "TMPDIR": str(temporary)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
            serving = Serving(process, temporary)
            stack.callback(serving.clear_away)
            return serving

        yield start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_it_ends_though_its_processes_get_no_processor(start: Start, number: signal.Signals) -> None:
    """A busy machine at its worst: they are stopped, so that none answers."""
    serving = start()
    url = serving.url()
    assert b"Copying" in urlopen(f"{url}copying/", timeout=60).read()
    children = serving.children()
    for child in children:
        if "resource_tracker" not in " ".join(child.cmdline()):  # Python waits for that one
            child.suspend()
    # What the fork server has just forked, the server may not know yet: such a process has to end by itself.
    unborn = [one for one in children if one.ppid() != serving.process.pid and os.getsid(one.pid) != one.pid]
    os.killpg(serving.process.pid, number)  # as a terminal does
    serving.process.wait(100)
    for child in unborn:
        with suppress(psutil.NoSuchProcess):
            child.resume()
    assert serving.has_ended(children)


def test_it_ends_within_a_second(start: Start) -> None:
    """The best of three: where other work has the processors, a second passes without any of this."""
    taken = []
    for _ in range(3):
        serving = start()
        serving.url()
        children, asked = serving.children(), time.monotonic()
        serving.process.terminate()
        serving.process.wait(100)
        taken.append(time.monotonic() - asked)
        assert serving.has_ended(children)
    assert min(taken) < 1


def test_it_ends_before_it_has_begun(start: Start) -> None:
    serving = start()
    while not any("forkserver" in " ".join(child.cmdline()) for child in serving.children()):
        assert serving.process.poll() is None
        time.sleep(0.01)
    children = serving.children()
    os.killpg(serving.process.pid, signal.SIGINT)
    assert serving.has_ended(children)


def test_what_a_killed_server_leaves_is_cleared_away(start: Start) -> None:
    killed = start()
    killed.url()
    children = killed.children()
    assert len(children) > 1
    killed.process.kill()
    assert gone(children)
    assert [path.name.startswith("warpbook-site-") for path in killed.temporary.iterdir()] == [True]
    after = start()
    after.url()
    children = after.children()
    after.process.terminate()
    assert after.has_ended(children)


JOB = """
import subprocess, sys, time
from warpbook.site.builder import Job

def work(report):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    report(child.pid)
    while True:
        try:
            time.sleep(100)
        except SystemExit:
            pass  # busy with something that must not be left half done

if __name__ == "__main__":
    import job
    started = Job(job.work)
    print(started.process.pid, started.pipe.recv()[1], flush=True)
    sys.stdin.readline()
    started.stop()
"""


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_job_ends_with_what_it_has_started(tmp_path: Path, temporary: Path, how: str) -> None:
    """Its own end is asked for, and it would not; or the process that has begun it is killed."""
    (tmp_path / "job.py").write_text(JOB)
    root = str(Path(__file__).parents[2])
    with background(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}", "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        started = [psutil.Process(int(number)) for number in process.stdout.readline().split()]
        if how == "kill":
            process.kill()
        else:
            process.stdin.write("\n")
            process.stdin.flush()
        assert len(started) == 2 and gone(started)
