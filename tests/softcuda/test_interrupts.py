"""Ctrl-C: launches end within a second, and programs end as their own handling of SIGINT says."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import native
import pytest

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

spin = SourceModule('''
__global__ void spin(volatile int *a)
{
    while (a[0] == 0)
        a[1] = a[1] + 1;
}''').get_function("spin")
a = cuda.to_device(np.zeros(2, np.int32))
wait = pycuda.autoinit.context.synchronize

def start(blocks=4):
    spin(a, block=(32, 1, 1), grid=(blocks, 1))
    print("launched", flush=True)
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start("source", "softcuda", "run") starts the program and waits until it has launched its kernel."""
    programs = []

    def one(source: str, *through: str, **environment: str) -> subprocess.Popen[str]:
        (tmp_path / "program.py").write_text(HEAD + source)
        command = [sys.executable, *(["-m"] * bool(through)), *through, "program.py"]
        settings = native.clean_environment() | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "TMPDIR": str(tmp_path)}
        running = subprocess.Popen(
            command, cwd=tmp_path, env=settings | environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        programs.append(running)
        assert running.stdout is not None and running.stderr is not None
        while "launched" not in (line := running.stdout.readline()):
            assert line, running.stderr.read()
        return running

    yield one
    for running in programs:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


PROMPTLY = 15  # seconds: the programs would go on for a minute or for ever; a busy machine needs a few


def interrupt(running: subprocess.Popen[str], seconds: float = 0.3) -> tuple[str, str, float]:
    """What the program still prints after a SIGINT, and how long it takes to end."""
    if seconds:
        until_it_waits(running.pid, seconds)
    before = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=native.patience(60))
    return out, err, time.monotonic() - before


def until_it_waits(process: int, seconds: float) -> None:
    """A program begins to wait for its kernel after its last word: then its main thread sleeps, or runs the kernel."""
    while inner := Path(f"/proc/{process}/task/{process}/children").read_text().split():
        process = int(inner[0])  # of `softcuda run` and its like
    begin, slept = used(process), 0
    while slept < 4 and used(process) - begin < 0.5:  # seconds of a processor, with which it has long begun
        time.sleep(seconds / 4)
        slept = slept + 1 if stat(process)[0] == "S" else 0


def stat(process: int) -> list[str]:
    """The state of its main thread, and all that /proc says behind it."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def used(process: int) -> float:
    """Seconds of a processor."""
    return sum(map(int, stat(process)[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("through", [(), ("softcuda", "run")], ids=["python", "run"])
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("waiting", ["wait()", "cuda.memcpy_dtoh(np.empty(2, np.int32), a)", "a.free()"])
def test_ctrl_c_ends_a_kernel_that_never_ends(start: Start, through, threads, waiting):
    running = start(f"start()\n{waiting}\nprint('went on')\n", *through, SOFTCUDA_THREADS=threads)
    out, err, seconds = interrupt(running)
    assert running.returncode == -signal.SIGINT, err
    assert "went on" not in out
    assert "softcuda: interrupted: kernel spin, block (" in err and err.rstrip().endswith("KeyboardInterrupt")
    assert seconds < native.patience(PROMPTLY)


def test_ctrl_c_ends_a_launch_within_a_second(start: Start):
    """The best of three: where other work has the processors, a second passes without any of this."""
    assert min(interrupt(start("start()\nwait()\n"))[2] for _ in range(3)) < native.patience(1)


def test_ctrl_c_while_the_program_does_something_else(start: Start):
    """No wait at the end for what was launched."""
    running = start("start()\ntime.sleep(60)\n")
    _, err, seconds = interrupt(running)
    assert running.returncode == -signal.SIGINT and "KeyboardInterrupt" in err
    assert seconds < native.patience(PROMPTLY)


def test_ctrl_c_at_the_end_of_a_program_that_does_not_wait(start: Start):
    running = start("start()\n", "softcuda", "run")
    _, err, seconds = interrupt(running)
    assert running.returncode == -signal.SIGINT and "KeyboardInterrupt" in err
    assert seconds < native.patience(PROMPTLY)


def test_the_context_remains_usable(start: Start):
    """As in a notebook: the launch that was waited for and those behind it are gone, what comes later runs."""
    running = start("""
start()
for _ in range(2000):  # more than the queue holds
    try:
        spin(a, block=(32, 1, 1), grid=(1, 1))
    except KeyboardInterrupt:
        break
else:
    wait()
b = cuda.to_device(np.array([1, 7], np.int32))
spin(b, block=(32, 1, 1), grid=(1, 1))
wait()
print(cuda.from_device(b, 2, np.int32), flush=True)
""")
    out, err, _ = interrupt(running)
    assert (running.returncode, out) == (0, "[1 7]\n"), err


def test_what_comes_after_the_interrupted_call_does_not_run(start: Start):
    running = start("""
try:
    start()
    cuda.memcpy_dtoh(np.empty(2, np.int32), a)
    print("took a partial result")
except KeyboardInterrupt:
    print("raised")
""")
    assert interrupt(running)[0] == "raised\n"


def test_a_handler_that_raises_nothing_lets_the_kernel_go_on(start: Start):
    """It runs while the kernel does; so it may end the kernel by itself."""
    running = start("""
flag = cuda.pagelocked_zeros(2, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
a = np.intp(flag.base.get_device_pointer())
def handler(number, frame):
    os.write(1, b"handled\\n")
    flag[0] = 1
signal.signal(signal.SIGINT, handler)
start(1)
wait()
print("went on")
""")
    out, err, _ = interrupt(running)
    assert (running.returncode, out) == (0, "handled\nwent on\n"), err
    assert "interrupted" not in err


def test_a_handler_of_its_own_may_raise(start: Start):
    running = start("""
class Stop(Exception):
    pass
def handler(number, frame):
    raise Stop
signal.signal(signal.SIGINT, handler)
try:
    start()
    wait()
except Stop:
    print("stopped", len(threading.enumerate()))
""")
    out, err, _ = interrupt(running)
    assert (running.returncode, out) == (0, "stopped 1\n"), err


def test_a_program_that_ignores_it_is_left_alone(start: Start):
    running = start("signal.signal(signal.SIGINT, signal.SIG_IGN)\nstart()\nwait()\n")
    running.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_systems_own_handling_kills(start: Start, number):
    running = start("signal.signal(signal.SIGINT, signal.SIG_DFL)\nstart()\nwait()\n")
    running.send_signal(number)
    _, err = running.communicate(timeout=native.patience(60))
    assert running.returncode == -number and "Traceback" not in err


def test_another_thread_gets_an_error_and_no_partial_result(start: Start):
    running = start("""
def work():
    context.push()
    try:
        cuda.memcpy_dtoh(np.empty(2, np.int32), a)
        print("took a partial result")
    except cuda.Error as error:
        print(error, flush=True)
    context.pop()
context = pycuda.autoinit.context
start()
thread = threading.Thread(target=work)
thread.start()
try:
    wait()
except KeyboardInterrupt:
    thread.join()
""")
    out, err, _ = interrupt(running)
    assert out == "cuMemcpyDtoH failed: the launch timed out and was terminated\n", err


# --- the commands -----------------------------------------------------------------------------------------------------

COMMANDS = [
    ["profile", "--json", "out.json"],
    ["check", "--json", "out.json"],
    ["trace", "--kernel", "spin", "-o", "out.json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_reports_what_it_has(start: Start, tmp_path: Path, command):
    """Sent to the command alone, as `kill -INT` does; the terminal sends it to the program, too."""
    running = start("start()\nwait()\n", "softcuda", *command)
    _, err, _ = interrupt(running)
    assert running.returncode == -signal.SIGINT, err
    assert "softcuda: the program did not end by itself (SIGINT): " in err
    report = json.loads((tmp_path / "out.json").read_text())
    if command[0] == "profile":
        assert report[0]["partial"] is True and report[0]["metrics"]["softcuda__warp_instructions.sum"] > 0
    elif command[0] == "check":
        assert report["partial"] is True and "timeout" not in str(report)
    else:
        assert report["complete"] is False and "interrupted" in report["message"]
    assert list(tmp_path.glob("softcuda-*")) == []


def test_a_table_says_that_it_is_partial(start: Start):
    running = start("start()\nwait()\n", "softcuda", "profile")
    out, _, _ = interrupt(running)
    assert "spin  (launch 1 of 1; grid 4x1x1, block 32x1x1; partial: it did not run to its end)" in out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_terminals_ctrl_c_reaches_the_program_once(start: Start, command):
    """Both get it: a program that counts them counts one."""
    source = """
def handler(number, frame):
    os.write(1, b"handled\\n")  # print would raise if the signal came within the program's own
signal.signal(signal.SIGINT, handler)
start()
wait()
"""
    running = start(source, "softcuda", *command)
    [child] = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGINT)
    assert running.stdout is not None and running.stdout.readline() == "handled\n"
    assert running.poll() is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_that_is_killed_takes_its_program_along(start: Start, tmp_path: Path, command, number):
    running = start("start()\nwait()\n", "softcuda", *command)
    [child] = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.send_signal(number)
    running.wait(native.patience(60))
    assert running.returncode == -number
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child}").exists() and "State:\tZ" not in Path(f"/proc/{child}/status").read_text():
        assert time.monotonic() < deadline, "the program outlives its command"
        time.sleep(0.02)
    if number == signal.SIGTERM:
        assert list(tmp_path.glob("softcuda-*")) == []


def test_the_terminals_ctrl_c(tmp_path: Path):
    """The command and its program in one terminal: one KeyboardInterrupt, and the report."""
    (tmp_path / "program.py").write_text(HEAD + "start()\nwait()\n")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        settings = native.clean_environment() | {"SOFTCUDA_QUIET": "1", "TMPDIR": str(tmp_path)}
        os.execve(sys.executable, [sys.executable, "-m", "softcuda", "check", "program.py"], settings)
    text = b""
    while b"launched" not in text:
        text += os.read(terminal, 4096)
    until_it_waits(child, 0.3)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the terminal is gone when its last process is
        while more := os.read(terminal, 4096):
            text += more
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, text
    assert text.count(b"KeyboardInterrupt") == 1 and b"softcuda check: " in text
    assert list(tmp_path.glob("softcuda-*")) == []


def test_a_second_ctrl_c_kills(start: Start):
    """Where something runs that no interrupt ends: here a host function."""
    running = start("""
import ctypes
driver, sleep = ctypes.CDLL(None), ctypes.CDLL(None).sleep
driver.cuLaunchHostFunc(None, sleep, ctypes.c_void_p(60))
print("launched", flush=True)
wait()
""")
    until_it_waits(running.pid, 0.3)
    running.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(1)
    _, err, seconds = interrupt(running, 0)
    assert running.returncode == -signal.SIGINT and seconds < native.patience(PROMPTLY), err


def test_ctrl_c_ends_a_wait_for_a_value_in_memory(start: Start):
    running = start("""
import ctypes
wait_value = ctypes.CDLL(None).cuStreamWaitValue32_v2
print(wait_value(None, ctypes.c_uint64(int(a)), 5, 0), "launched", flush=True)
wait()
""")
    _, err, seconds = interrupt(running)
    assert running.returncode == -signal.SIGINT and seconds < native.patience(PROMPTLY), err
