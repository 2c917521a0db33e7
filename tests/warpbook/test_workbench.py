"""The workbench of `make serve` and attacks on it: who may ask, what may be asked, and what a job cannot do."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from warpbook.book import Book, here, write_text
from warpbook.exercises import progress
from warpbook.site import preview, workbench
from warpbook.site.preview import Preview, Server
from warpbook.site.workbench import PREFIX, Job, Workbench

NAME = "memory-access/eight-per-thread"
SOURCES = here().root / "exercises" / NAME
SOLUTION = (SOURCES / "solution.cu").read_text("utf-8")
ENDLESS = SOLUTION.replace("// your code", "while (n > 0 && y) y[0] = a;")
KERNEL = 'extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 7; }\n'
PROGRAM = """import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as cuda
import warpbench as wb

fill = wb.module("book/fill.cu").get_function("fill")
x = np.zeros(32, np.int32)
fill(cuda.InOut(x), block=(32, 1, 1))
print("x[3] is", x[3])
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A book with one exercise and one program."""
    book = Book(tmp_path_factory.mktemp("book"))
    shutil.copytree(SOURCES, book.root / "exercises" / NAME)
    real = here()
    shutil.copytree(real.snippets / "warpjudge", book.snippets / "warpjudge")
    shutil.copy(real.snippets / "warpbench.py", book.snippets)
    (book.root / "node_modules").symlink_to(real.root / "node_modules")
    for name in ("theme", "warpbook"):
        (book.root / name).symlink_to(real.root / name)
    for language in ("en", "zh"):
        write_text(book.docs / language / "memory-access.md", "# Memory { #memory }\n\n## Stride { #stride }\n")
    write_text(book.snippets / "book" / "fill.cu", KERNEL)
    write_text(book.snippets / "book" / "fill.py", PROGRAM)
    return book


class Reader:
    """A page of the site, or what claims to be one. Its headers can be changed; an empty one is left out."""

    def __init__(self, server: Server) -> None:
        self.server, self.port = server, server.server_port
        self.host = f"localhost:{self.port}"
        self.headers = {"Host": self.host}
        status, headers, told = self.exchange("GET", "session")
        assert status == 200 and "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
        self.ready = told["ready"]
        self.headers |= {
            "Origin": f"http://{self.host}",
            "Content-Type": "application/json",
            "Cookie": headers["Set-Cookie"].partition(";")[0],
            workbench.KEY: told["key"],
        }

    def exchange(
        self, method: str, name: str, body: bytes = b"", **changed: str
    ) -> tuple[int, http.client.HTTPMessage, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name: value for name, value in {**self.headers, **changed}.items() if value}
        connection.request(method, PREFIX + name, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        kind = answer.headers["Content-Type"]
        return answer.status, answer.headers, json.loads(text) if "json" in kind else text.decode()

    def ask(self, name: str, changed: dict[str, str] | None = None, **job: Any) -> tuple[int, Any]:
        job = {"page": "page-one", "exercise": NAME} | job
        status, _, told = self.exchange("POST", name, json.dumps(job).encode(), **(changed or {}))
        return status, told


@pytest.fixture
def server(tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(preview, "PageBuilder", lambda *_: None)
    monkeypatch.setattr(preview.Edition, "build", lambda edition: None)
    server = Server("127.0.0.1", 0, Preview(book, tmp_path / "served", "http://localhost/"))
    server.start_workbench(book, tmp_path)
    server.serve_thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    server.serve_thread.start()
    yield server
    server.shutdown()
    if server.workbench:
        server.workbench.close()
    shutil.rmtree(book.root / "my", ignore_errors=True)


@pytest.fixture
def reader(server: Server) -> Reader:
    return Reader(server)


# -- who may ask -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),  # another server of this machine
        ({"Origin": "null"}, 403),  # a sandboxed frame
        ({"Origin": ""}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 421),  # its name resolves to 127.0.0.1
        ({"Host": "localhost"}, 421),  # without the port
        ({workbench.KEY: ""}, 403),
        ({workbench.KEY: "x" * 32}, 403),
        ({"Cookie": ""}, 403),
        ({"Cookie": "warpbook-0=abc; other=é"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
    ids=str,
)
def test_only_pages_of_this_server_are_served(reader: Reader, book: Book, changed: dict[str, str], status: int) -> None:
    got, told = reader.ask("save", changed, source="// theirs", seen="")
    assert got == status and set(told) == {"error"}
    assert not (book.root / "my").exists()


def test_a_form_of_another_site_is_refused(reader: Reader) -> None:
    """A browser sends a form without asking, but with its own Origin and type, and without the cookie and the key."""
    form = {"Origin": "https://evil.example", "Content-Type": "text/plain", "Cookie": "", workbench.KEY: ""}
    status, _, _ = reader.exchange("POST", "judge", b'{"page": "page-one", "x": "="}', **form)
    assert status == 403


def test_the_key_is_not_for_other_sites(reader: Reader) -> None:
    for changed in ({"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        status, _, told = reader.exchange("GET", "session", **changed)
        assert status in (403, 421) and "key" not in told
    _, headers, _ = reader.exchange("GET", "session")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_the_key_is_not_for_other_users_of_the_machine(server: Server, reader: Reader) -> None:
    ask = "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
    ask += f"c.request('GET', '{PREFIX}session'); print(c.getresponse().read().decode())"
    command = ["/usr/bin/python3", "-I", "-c", ask, str(server.server_port)]
    for user, key in ((0, True), (65534, False)):
        done = subprocess.run(command, user=user, capture_output=True, text=True, check=True, cwd="/", env={})
        assert (reader.headers[workbench.KEY] in done.stdout) == key, done.stdout
    # One that has closed its connection is nobody's.
    assert workbench.owner_of("127.0.0.1", "1", str(server.server_port)) == -1
    assert workbench.owner_of("not an address", "1", "2") is None


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_user_of_a_connection_is_known(family: int) -> None:
    with socket.socket(family) as server:
        try:
            server.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        server.listen()
        with socket.create_connection(server.getsockname()[:2]) as client:
            address, port, *_ = client.getsockname()
            assert workbench.owner_of(address, str(port), str(server.getsockname()[1])) == os.getuid()


def test_no_preflight_is_answered(reader: Reader) -> None:
    status, headers, _ = reader.exchange("OPTIONS", "judge", **{"Content-Length": "0"})
    assert status == 405 and "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_it_exists_on_loopback_only(host: str, tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "PageBuilder", lambda *_: None)
    monkeypatch.setattr(preview.Edition, "build", lambda edition: None)
    server = Server(host, 0, Preview(book, tmp_path / "served", "http://localhost/"))
    server.start_workbench(book, tmp_path)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    page = b'<body><div data-exercise="x"></div></body>'
    try:
        for method, name in (("GET", "session"), ("GET", "workbench.js"), ("POST", "judge")):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            connection.request(method, PREFIX + name, headers={"Content-Length": "0"})
            assert (connection.getresponse().status == 404) == (host == "0.0.0.0")
        assert (b"workbench.js" in server._inject_js_into_html(page, 0)) == (host != "0.0.0.0")
    finally:
        server.shutdown()
        server.server_close()


# -- what may be asked -------------------------------------------------------------------------------------------------


def test_a_hundred_megabytes_are_refused_unread(server: Server, reader: Reader) -> None:
    """The answer comes although not a byte of the body was sent."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        headers = "".join(f"{name}: {value}\r\n" for name, value in reader.headers.items())
        connection.sendall(f"POST {PREFIX}judge HTTP/1.1\r\n{headers}Content-Length: {100 << 20}\r\n\r\n".encode())
        assert b" 413 " in connection.recv(64)


@pytest.mark.parametrize("length", ["", "-1", "x", "9" * 30])
def test_a_body_of_no_length_is_refused(server: Server, reader: Reader, length: str) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        headers = "".join(f"{name}: {value}\r\n" for name, value in reader.headers.items())
        connection.sendall(f"POST {PREFIX}judge HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n".encode())
        assert b" 411 " in connection.recv(64)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff", b"[" * 90000, b'"x"', b"null"], ids=lambda body: repr(body[:8])
)
def test_what_is_no_json_object_is_refused(reader: Reader, body: bytes) -> None:
    assert reader.exchange("POST", "judge", body)[0] == 400


@pytest.mark.parametrize(
    ("name", "job", "status"),
    [
        ("save", {"exercise": "../../etc/passwd"}, 404),
        ("save", {"exercise": f"{NAME}/../../../x"}, 404),
        ("save", {"exercise": "/etc/passwd"}, 404),
        ("save", {"exercise": f"{NAME}\0"}, 404),
        ("save", {"exercise": "\ud800"}, 404),
        ("source", {"program": "\udc80/x", "file": "\udc80"}, 404),
        ("save", {"exercise": ["a"]}, 400),
        ("save", {"source": 7}, 400),
        ("save", {"source": "\ud800"}, 400),
        ("save", {"source": "x" * (65 << 10)}, 413),
        ("judge", {"page": "../x", "source": ""}, 400),
        ("judge", {"page": "", "source": ""}, 400),
        ("source", {"program": "book/fill", "file": "snippets/book/../../../etc/passwd"}, 404),
        ("source", {"program": "book/fill", "file": "/etc/passwd"}, 404),
        ("source", {"program": "book/fill", "file": "snippets/warpbench.py"}, 404),
        ("source", {"program": "../snippets/book/fill", "file": "snippets/book/fill.cu"}, 404),
        ("program", {"program": "warpjudge/worker", "file": "snippets/book/fill.cu", "source": ""}, 404),
        ("passwd", {}, 404),
        ("../../../etc/passwd", {}, 404),
    ],
    ids=str,
)
def test_only_names_of_the_book_are_known(
    reader: Reader, book: Book, name: str, job: dict[str, Any], status: int
) -> None:
    assert reader.ask(name, **{"source": "// mine", "seen": ""} | job)[0] == status
    assert not (book.root / "my").exists()


# -- the answer in my/ -------------------------------------------------------------------------------------------------


def test_an_answer_is_kept_and_found_again(reader: Reader, book: Book) -> None:
    _, first = reader.ask("open")
    assert first["source"] == first["stub"] and first["seen"] == ""
    assert reader.ask("save", source="// mine", seen="")[0] == 200
    assert (book.root / "my" / f"{NAME}.cu").read_text("utf-8") == "// mine"
    assert reader.ask("open")[1]["source"] == "// mine"


def test_an_answer_that_was_changed_elsewhere_is_not_written_over(reader: Reader, book: Book) -> None:
    _, told = reader.ask("save", source="// here", seen="")
    write_text(book.root / "my" / f"{NAME}.cu", "// in an editor")
    status, conflict = reader.ask("save", source="// here, later", seen=told["seen"])
    assert (status, conflict["source"]) == (409, "// in an editor")
    assert (book.root / "my" / f"{NAME}.cu").read_text("utf-8") == "// in an editor"
    assert reader.ask("save", source="// here, later", seen=conflict["seen"])[0] == 200


@pytest.mark.parametrize("link", ["file", "folder"])
def test_nothing_is_written_through_a_link(reader: Reader, book: Book, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    answer = book.root / "my" / f"{NAME}.cu"
    if link == "file":
        answer.parent.mkdir(parents=True)
        answer.symlink_to(outside / "x.cu")
    else:
        answer.parent.parent.mkdir(parents=True)
        answer.parent.symlink_to(outside)
    assert reader.ask("save", source="// mine", seen="")[0] == 409
    assert not list(outside.iterdir())


# -- jobs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def judged(reader: Reader) -> Reader:
    if not reader.ready:
        pytest.skip("softcuda or the compiler is not installed; run `make setup`")
    return reader


def test_a_verdict_has_links_and_is_noted(judged: Reader, book: Book) -> None:
    status, verdict = judged.ask("judge", source=(SOURCES / "mistakes" / "chunks.cu").read_text("utf-8"))
    assert (status, verdict["verdict"]) == (200, "slow")
    assert verdict["messages"][0]["link"] == "/memory-access/#stride"
    status, verdict = judged.ask("judge", source=SOLUTION, language="zh")
    assert (status, verdict["verdict"]) == (200, "right")
    assert progress.read(book)[NAME]["done"] and judged.exchange("GET", "session")[2]["done"] == {NAME: True}


def test_a_run_shows_outputs(judged: Reader, book: Book) -> None:
    status, verdict = judged.ask("run", source=SOLUTION)
    assert status == 200 and verdict["outputs"] and not progress.read(book)


def test_an_endless_kernel_is_stopped_at_once(judged: Reader) -> None:
    """The best of three: where other work has the processors, a second passes without any of this."""
    taken = []
    for _ in range(3):
        with running(judged, "judge", source=ENDLESS) as answers:
            start = time.monotonic()
            assert judged.ask("stop")[1] == {"stopped": True}
            taken.append(time.monotonic() - start)
        assert answers[0][1]["verdict"] == "stopped", "it did not end by itself, at its time limit"
    assert min(taken) < 1.5


def test_pages_do_not_disturb_each_other(judged: Reader) -> None:
    """One job at a time for a page; another page's has its own, and Stop ends this page's only."""
    with running(judged, "judge", source=ENDLESS) as answers:
        assert judged.ask("judge", source=SOLUTION)[0] == 409
        assert judged.ask("judge", page="page-two", source=SOLUTION)[1]["verdict"] == "right"
        assert judged.ask("stop", page="page-two")[1] == {"stopped": False}
        assert not answers
        judged.ask("stop")
    assert answers[0][1]["verdict"] == "stopped"


def test_many_at_once_wait_for_each_other(judged: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many work as there are processors; who waits too long is told so, and nothing is left behind."""
    monkeypatch.setattr(workbench, "PATIENCE", 0.3)
    most = workbench.AT_ONCE
    answers: list[tuple[int, Any]] = []
    threads = [
        threading.Thread(target=lambda i=i: answers.append(judged.ask("judge", page=f"many-{i:04}", source=ENDLESS)))
        for i in range(most + 8)
    ]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(answers) == 8)
    assert {status for status, _ in answers} == {503}
    for i in range(most + 8):
        judged.ask("stop", page=f"many-{i:04}")
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers) == [200] * most + [503] * 8
    assert judged.server.workbench and not judged.server.workbench.jobs


PROGRAM_JOB = {"program": "book/fill", "file": "snippets/book/fill.cu"}


def test_a_program_runs_with_the_edited_kernel(judged: Reader, book: Book, tmp_path: Path) -> None:
    assert judged.ask("source", **PROGRAM_JOB)[1] == {"source": KERNEL, "programs": ["book/fill"]}
    status, told = judged.ask("program", **PROGRAM_JOB, source=KERNEL.replace("7", "42"))
    assert (status, told["verdict"], told["printed"]) == (200, "done", "x[3] is 42\n")
    assert (book.snippets / "book" / "fill.cu").read_text("utf-8") == KERNEL
    assert not list(tmp_path.glob("run-*"))


def test_an_error_of_the_compiler_is_at_its_line(judged: Reader) -> None:
    status, told = judged.ask("program", **PROGRAM_JOB, source=f"\n\n{KERNEL.replace('= 7', '= seven')}")
    assert (status, told["verdict"], told["messages"][0]["line"]) == (200, "compile", 3)


@pytest.mark.parametrize(
    "include",
    ['#include "/etc/passwd"', '#include "../../secret.h"', "#include </etc/passwd>", "#include <../../etc/passwd>",
     '#define F "/etc/passwd"\n#include F', "#inc\\\nlude \"/etc/passwd\"", '%:include "/etc/passwd"',
     '#\finclude "/etc/passwd"', '#inc\\ \nlude "/etc/passwd"', '//\r#include "/etc/passwd"',
     """int a = 1'0; const char* t = "a' /*";\n#include "/etc/passwd"\n// */"""],
)  # fmt: skip
@pytest.mark.parametrize("name", ["judge", "program"])
def test_no_file_of_the_machine_is_read(judged: Reader, name: str, include: str) -> None:
    status, told = judged.ask(name, **PROGRAM_JOB, source=f"{include}\n{KERNEL}")
    assert (status, told["verdict"]) == (200, "compile")
    assert "root:" not in json.dumps(told)


def test_host_code_is_never_run(judged: Reader, tmp_path: Path) -> None:
    """A fork bomb, or writing to a file: of what is posted softcuda runs the device code only."""
    mark = tmp_path / "written"
    host = (
        "#include <cstdio>\n#include <unistd.h>\n"
        f'static int bomb() {{ fclose(fopen("{mark}", "w")); for (;;) fork(); }}\nstatic int started = bomb();\n'
    )
    assert judged.ask("program", **PROGRAM_JOB, source=host + KERNEL)[1]["verdict"] == "done"
    assert judged.ask("judge", source=host + SOLUTION)[1]["verdict"] == "right"
    assert not mark.exists()


def test_what_a_kernel_prints_without_end_is_cut(judged: Reader) -> None:
    flood = SOLUTION.replace("// your code", 'for (;;) printf("%080d\\n", n);')
    status, verdict = judged.ask("judge", source=f"#include <cstdio>\n{flood}")
    assert status == 200 and verdict["verdict"] != "right" and len(verdict["printed"]) <= 32 << 10


# -- limits of a program, whatever it does: this Python is worse than what can be posted -------------------------------


def run(book: Book, folder: Path, code: str, job: Job | None = None) -> dict[str, Any]:
    program = book.snippets / "book" / "attack.py"
    write_text(program, code)
    file = "snippets/book/fill.cu"
    try:
        return workbench.run_program(book, folder, program, file, KERNEL, "en", job or Job())
    finally:
        program.unlink()


def test_ten_gigabytes_of_output_are_cut(book: Book, tmp_path: Path) -> None:
    told = run(book, tmp_path, "while True: print('x' * 10000)")
    assert told["verdict"] == "stopped" and len(told["printed"]) <= workbench.BOUNDS["printed"]
    assert told["messages"][0]["text"] == "Stopped: the program had printed 256 KiB."


def test_files_have_a_limit_and_the_folder_goes(book: Book, tmp_path: Path) -> None:
    told = run(book, tmp_path, "open('large', 'wb').write(bytes(100 << 20))")
    assert told["verdict"] == "failed" and not list(tmp_path.glob("run-*"))


def test_memory_has_a_limit(book: Book, tmp_path: Path) -> None:
    told = run(book, tmp_path, "bytearray(1 << 40)")
    assert told["verdict"] == "failed" and "MemoryError" in told["printed"]


def test_home_and_temporary_files_are_in_its_folder(book: Book, tmp_path: Path) -> None:
    code = "import os, tempfile\nprint(os.path.expanduser('~') == os.getcwd(), os.path.relpath(tempfile.gettempdir()))"
    assert run(book, tmp_path, code)["printed"] == "True tmp\n"


def test_time_has_a_limit(book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(workbench.BOUNDS, "seconds", 0.5)
    assert run(book, tmp_path, "while True: pass")["messages"][0]["text"].startswith("Stopped: the program had not end")


def test_stop_ends_all_that_a_program_has_started(book: Book, tmp_path: Path) -> None:
    """Its children, too, also one that has no terminal and no pipe."""
    mark = tmp_path / "child"
    child = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], stdin=-3, stdout=-3, stderr=-3)\n"
        "time.sleep(600)\n"
    )
    job = Job()
    told: list[dict[str, Any]] = []

    def work() -> None:
        told.append(run(book, tmp_path, code, job))
        job.over.set()

    thread = threading.Thread(target=work)
    thread.start()
    wait_for(lambda: mark.exists() and mark.read_text() != "")
    job.stop()
    thread.join()
    assert told[0]["verdict"] == "stopped"
    wait_for(lambda: not Path(f"/proc/{mark.read_text()}").exists())


def test_a_program_ends_with_the_server(book: Book, tmp_path: Path) -> None:
    """Also where the server is killed."""
    mark, program = tmp_path / "program", book.snippets / "book" / "endless.py"
    program.write_text(f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    code = (
        "import sys; from pathlib import Path; from warpbook.book import Book; from warpbook.site import workbench\n"
        f"book = Book(Path({str(book.root)!r}))\n"
        f"workbench.run_program(book, Path({str(tmp_path)!r}), Path({str(program)!r}), 'snippets/book/fill.cu', '', "
        "'en', workbench.Job())"
    )
    paths = os.pathsep.join([str(here().root), str(here().snippets)])
    server = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths})
    try:
        wait_for(lambda: mark.exists() and mark.read_text() != "")
    finally:
        server.kill()
        server.wait()
        program.unlink()
    wait_for(lambda: not Path(f"/proc/{mark.read_text()}").exists())


def test_without_softcuda_it_says_what_to_do(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "is_ready", lambda book: False)
    assert reader.ask("save", source="// mine", seen="")[0] == 200
    status, told = reader.ask("judge", source="// mine", language="zh")
    assert status == 503 and "make setup" in told["error"]


# -- helpers -----------------------------------------------------------------------------------------------------------


def wait_for(happens: Callable[[], bool], seconds: float = 100) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


class running:  # noqa: N801
    """A job that a page has begun; its answer is in the list at the end."""

    def __init__(self, reader: Reader, name: str, **job: Any) -> None:
        self.reader, self.answers = reader, list[tuple[int, Any]]()
        self.thread = threading.Thread(target=lambda: self.answers.append(reader.ask(name, **job)))

    def __enter__(self) -> list[tuple[int, Any]]:
        self.thread.start()
        bench = self.reader.server.workbench
        assert isinstance(bench, Workbench)
        wait_for(lambda: "page-one" in bench.jobs)
        time.sleep(0.3)  # it may be anywhere in its work
        return self.answers

    def __exit__(self, *_: object) -> None:
        self.reader.ask("stop")
        self.thread.join()
