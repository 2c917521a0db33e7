"""The server of `make serve`: what it answers, and that it keeps to its folder. Pages here are made by no process."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import current_process
from pathlib import Path
from urllib.parse import quote

import pytest

from warpbook.book import Book, BookError
from warpbook.site import preview
from warpbook.site.preview import Preview, Server

SECRET = "not for readers"
Ask = Callable[..., tuple[int, str]]


class PageBuilder:
    """Makes `page/index.html`; and while `wrong` says so, nothing, as when mkdocs.yml has a mistake."""

    wrong = ""

    def __init__(self, book: Book, language: str, root: Path, url: str) -> None:
        self.root, self.lock = root, threading.Lock()

    def make(self, address: str, report: Callable[[str], None]) -> tuple[bool | None, str]:
        if self.wrong:
            return True, self.wrong
        if address != "page/index.html":
            return False, ""
        (self.root / "page").mkdir(parents=True, exist_ok=True)
        (self.root / address).write_text("<p>made</p>")
        return True, ""

    def stop(self) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, small: Book, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of an edition in tmp_path/served."""
    monkeypatch.setattr(preview, "PageBuilder", PageBuilder)
    monkeypatch.setattr(preview.Edition, "build", lambda edition: edition.settled.set())
    (tmp_path / "secret.html").write_text(SECRET)
    server = Server("127.0.0.1", 0, Preview(small, tmp_path / "served", "http://localhost/"))
    server.serve_thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    server.serve_thread.start()
    yield server
    server.shutdown()


@pytest.fixture
def ask(server: Server) -> Ask:
    """ask(path): status and text of the server's answer, and its headers if asked for."""

    def ask(path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        status, _, text = exchange(server, path, method, **headers)
        return status, text

    return ask


def exchange(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """A request, just as it is: nothing makes the path shorter or quotes it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        if value:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    with connection.getresponse() as answer:
        return answer.status, answer.headers, answer.read().decode()


def everything(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}


# From tmp_path/served/1/pages, and from whole beside it.
OUTSIDE = [
    "/..%2f..%2f..%2fsecret.html",
    "/../../../secret.html",
    "/zh/..%2f..%2f..%2f..%2fsecret.html",
    "/%2e%2e/%2e%2e/%2e%2e/secret.html",
    "/..%5c..%5c..%5csecret.html",
    "/page/..%2f..%2f..%2f..%2fsecret.html",
    "/..%2f..%2f..%2fnew/page.html",
]


@pytest.mark.parametrize("wrong", ["", "mkdocs.yml: a mistake"], ids=["right", "mistake"])
@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_the_served_folder_is_read_or_written(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, wrong: str
) -> None:
    monkeypatch.setattr(PageBuilder, "wrong", wrong)
    before = everything(tmp_path)
    status, text = ask(path)
    assert status in (400, 404) and SECRET not in text
    assert everything(tmp_path) == before


def test_an_absolute_path_is_one_of_the_site(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(tmp_path)
    for start in ("/", "//", "/zh/", "/%2f", "/zh/%2f"):
        status, text = ask(f"{start}{str(tmp_path).lstrip('/')}/secret.html")
        assert status == 404 and SECRET not in text
    monkeypatch.setattr(PageBuilder, "wrong", "mkdocs.yml: a mistake")
    for start in ("/", "//", "/zh/", "/%2f", "/zh/%2f"):
        ask(f"{start}{str(tmp_path).lstrip('/')}/new.html")
    assert everything(tmp_path) == before


def test_a_link_that_leads_outside_is_not_followed(ask: Ask, tmp_path: Path) -> None:
    assert ask("/page/")[0] == 200
    for folder in ("pages", "whole"):
        (tmp_path / "served" / "1" / folder).mkdir(exist_ok=True)
        (tmp_path / "served" / "1" / folder / "linked.html").symlink_to(tmp_path / "secret.html")
    status, text = ask("/linked.html")
    assert status == 404 and SECRET not in text


def test_a_mistake_is_shown_and_written_nowhere(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageBuilder, "wrong", "mkdocs.yml: a <mistake>")
    before = everything(tmp_path)
    for path in ("/page/", "/zh/page/", "/no/page/of/the/book.html"):
        status, text = ask(path)
        assert status == 500 and "mkdocs.yml: a &lt;mistake&gt;" in text and "livereload(" in text
    assert everything(tmp_path) == before
    monkeypatch.setattr(PageBuilder, "wrong", "")
    assert ask("/page/")[0] == 200


def test_no_path_leads_to_another_machine(server: Server, tmp_path: Path) -> None:
    page = tmp_path / "served" / "1" / "whole" / "evil.example" / "index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    for path in ("/evil.example", "//evil.example", "/%2fevil.example", "/%2f%2fevil.example", "/zh/%2fevil.example"):
        status, headers, _ = exchange(server, path)
        assert (status, headers["Location"]) in ((302, "/evil.example/"), (404, None))


# -- requests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/%00", "/page/%00", "/page%0a/", "/%ff", "/%c3", "/%ed%a0%80/", "/livereload/%00", "page/", "*", "/a%5cb"]
)
def test_a_path_that_names_no_file_is_a_bad_request(ask: Ask, path: str) -> None:
    assert ask(path)[0] == 400


@pytest.mark.parametrize(
    "path",
    ["/nowhere/", "/nowhere.html", f"/{'long' * 500}", f"/{'deep/' * 2000}", quote("/页面/"), "/livereload/x/y",
     "/livereload/-1/0", f"/livereload/{'9' * 5000}/0", "/livereload/"],
)  # fmt: skip
def test_a_file_that_is_not_there_is_not_found(ask: Ask, path: str, capfd: pytest.CaptureFixture[str]) -> None:
    ask("/page/")
    assert ask(path)[0] == 404
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8000"])
def test_names_of_this_machine_are_served(ask: Ask, host: str) -> None:
    assert ask("/page/", Host=host)[0] == 200


@pytest.mark.parametrize("path", ["/page/", "/livereload/0/0"])
@pytest.mark.parametrize(
    "host", ["attacker.example", "attacker.example:8000", "localhost.attacker.example", "192.0.2.1", "127.0.0.1.nip.io"]
)
def test_a_name_that_leads_here_by_dns_is_refused(ask: Ask, host: str, path: str) -> None:
    status, text = ask(path, Host=host)
    assert status == 421 and "made" not in text and "--host" in text


def test_a_request_without_a_name_is_refused(ask: Ask) -> None:
    assert ask("/page/", Host="")[0] == 400


def test_the_host_that_is_given_is_served(server: Server) -> None:
    """All addresses of the machine: then any address may be asked for, but no other name."""
    other = Server("127.0.0.2", 0)
    other.server_close()
    assert "127.0.0.2" in other.names and other.url == f"http://127.0.0.2:{other.server_port}/"
    server.server_name = "0.0.0.0"
    assert exchange(server, "/page/", Host="192.0.2.1:8000")[0] == 200
    assert exchange(server, "/page/", Host="[2001:db8::1]:8000")[0] == 200
    assert exchange(server, "/page/", Host="attacker.example")[0] == 421


@pytest.mark.parametrize("path", ["/page/", "/nowhere/", "/page", "/%00"])
def test_head_has_the_headers_and_no_body(server: Server, path: str) -> None:
    with_body, without = exchange(server, path), raw(server, f"HEAD {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")
    head, _, body = without.partition(b"\r\n\r\n")
    assert head.split()[1] == str(with_body[0]).encode() and body == b""
    assert f"Content-Length: {with_body[1]['Content-Length']}".encode() in head


def test_head_does_not_wait_for_an_edit(server: Server) -> None:
    answer = raw(server, "HEAD /livereload/99999999999999/0 HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert b" 200 OK" in answer and answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("file", "loaded_again"),
    [("theme/__pycache__/code.pyc", False), ("theme/.spare.swp", False), ("theme/new.css", True)],
)
def test_a_page_is_loaded_again_only_after_an_edit(server: Server, small: Book, file: str, loaded_again: bool) -> None:
    """Python's caches and an editor's spare copies are no edits: whoever types into a page would lose the text."""
    shown, looked = server._visible_epoch, threading.Event()
    loop = threading.Thread(target=server._build_loop, daemon=True)
    edited = server.edited
    server.builder = lambda: (edited(), looked.set())
    loop.start()
    (small.root / file).parent.mkdir(parents=True, exist_ok=True)
    (small.root / file).write_text("new")
    with server._rebuild_cond:  # as MkDocs does when its observer has seen the file
        server._want_rebuild = True
        server._rebuild_cond.notify_all()
    assert looked.wait(30)
    server.shutdown()
    loop.join(30)
    assert (server._visible_epoch > shown) == loaded_again
    assert server._visible_epoch == server._wanted_epoch


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
@pytest.mark.parametrize("path", ["/page/", "/livereload/0/0"])
def test_other_methods_are_refused(server: Server, method: str, path: str) -> None:
    status, headers, _ = exchange(server, path, method)
    assert status == 405 and headers["Allow"] == "GET, HEAD"


def test_what_is_sent_with_a_refused_method_does_not_cost_the_answer(server: Server) -> None:
    body = "x" * 500_000
    answer = raw(server, f"POST /page/ HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    assert b" 405 " in answer


def raw(server: Server, request: str) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(request.encode())
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        return answer


def test_three_hundred_requests_at_once_are_answered(server: Server) -> None:
    """All connect before the first says anything, and a third of them wait for an edit, as browsers do."""
    waiting = f"/livereload/{server._visible_epoch}/0"
    paths = ["/page/", "/nowhere/", waiting] * 100
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.server_port), timeout=20)) for _ in paths
        ]
        for path, connection in zip(paths, connections, strict=True):
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())

        def statuses(path: str) -> set[bytes]:
            asked = [connection for one, connection in zip(paths, connections, strict=True) if one == path]
            return {connection.makefile("rb").readline().split()[1] for connection in asked}

        assert statuses("/page/") == {b"200"} and statuses("/nowhere/") == {b"404"}
        with server._epoch_cond:
            server._visible_epoch = server._wanted_epoch = server._visible_epoch + 1
            server._epoch_cond.notify_all()
        assert statuses(waiting) == {b"200"}


def test_a_browser_that_says_nothing_is_let_go_quietly(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preview, "SILENCE", 0.05)
    assert raw(server, "GET") == b""
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["docs/en/a.md", "snippets/a/b.cu", "exercises/a/b/task.en.md", "records/x/a.json"])
def test_what_pages_are_made_of_is_watched(server: Server, small: Book, tmp_path: Path, name: str) -> None:
    assert server.preview
    before = server.preview.edition
    server.edited()
    assert server.preview.edition is before
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    server.edited()
    assert server.preview.edition is not before


# -- where it listens --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("localhost", 70000, "--port 70000: "),
        ("localhost", -1, "--port -1: "),
        ("no-such-host.invalid", 0, "choose another with --host"),
        (f"{'long' * 20}.example", 0, "choose another with --host"),
        ("192.0.2.1", 0, "choose another with --host"),
        ("", 8000, "--host: "),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(host: str, port: int, said: str) -> None:
    with pytest.raises(BookError, match=re.escape(said)) as raised:
        Server(host, port)
    assert "\n" not in str(raised.value)


def test_a_port_in_use_is_one_line(server: Server) -> None:
    with pytest.raises(BookError, match=f"127.0.0.1:{server.server_port}: .*choose another with --port"):
        Server("127.0.0.1", server.server_port)


def test_any_free_port_is_found(server: Server) -> None:
    assert server.server_port > 0 and server.url == f"http://127.0.0.1:{server.server_port}/"


def test_an_ipv6_address_is_served(small: Book) -> None:
    try:
        server = Server("::1", 0)
    except BookError:
        pytest.skip("this machine has no IPv6")
    server.server_close()
    assert server.url == f"http://[::1]:{server.server_port}/" and "[::1]" in server.names


def test_make_passes_the_port_on(book: Book) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "serve", "ARGS=--port 8001"]
    done = subprocess.run(command, cwd=book.root, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1].endswith("warpbook serve --port 8001")


# -- temporary folders -------------------------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setitem(current_process()._config, "tempdir", None)
    return folder


def test_a_folder_goes_with_its_process(temporary: Path) -> None:
    with preview.temporary_folder() as folder:
        (folder / "1").mkdir()
        assert list(temporary.iterdir()) == [folder]
    assert list(temporary.iterdir()) == []


def test_only_folders_of_processes_that_are_gone_are_removed(temporary: Path, tmp_path: Path) -> None:
    stale, new, other = (temporary / name for name in (f"{preview.PREFIX}stale", f"{preview.PREFIX}new", "other"))
    for folder in (stale, new, other, tmp_path / "linked"):
        folder.mkdir()
        (folder / "page.html").touch()
    (stale / preview.OWNER).touch()
    (tmp_path / "linked" / preview.OWNER).touch()
    link = temporary / f"{preview.PREFIX}link"
    link.symlink_to(tmp_path / "linked")
    with preview.temporary_folder() as live:  # `new` has no owner yet
        preview.remove_stale_folders()
        assert set(temporary.iterdir()) == {live, new, other, link} and (tmp_path / "linked" / "page.html").exists()
    os.utime(new, (0, 0))
    preview.remove_stale_folders()
    assert set(temporary.iterdir()) == {other, link}
