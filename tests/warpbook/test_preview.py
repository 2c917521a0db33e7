"""The server of `make serve`: what it answers, and that it keeps to its folder. Pages here are made by no process."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warpbook.book import Book
from warpbook.site import preview
from warpbook.site.preview import Preview, Server

SECRET = "not for readers"
Ask = Callable[..., tuple[int, str]]


class Maker:
    """Makes `page/index.html`; and while `wrong` says so, nothing, as when mkdocs.yml has a mistake."""

    wrong = ""

    def __init__(self, book: Book, language: str, root: Path, url: str) -> None:
        self.root, self.lock = root, threading.Lock()

    def make(self, address: str, tell: Callable[[str], None]) -> tuple[bool | None, str]:
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
def ask(tmp_path: Path, small: Book, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """ask(path): status and text of what the server of an edition in tmp_path/served answers."""
    monkeypatch.setattr(preview, "Maker", Maker)
    monkeypatch.setattr(preview.Edition, "build", lambda edition: edition.settled.set())
    (tmp_path / "secret.html").write_text(SECRET)
    server = Server(Preview(small, tmp_path / "served", "http://localhost/"), "127.0.0.1", 0)
    server.server_bind()
    server.server_activate()
    server.serve_thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    server.serve_thread.start()

    def ask(path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    yield ask
    server.shutdown()


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
    monkeypatch.setattr(Maker, "wrong", wrong)
    before = everything(tmp_path)
    status, text = ask(path)
    assert status in (400, 404) and SECRET not in text
    assert everything(tmp_path) == before


def test_an_absolute_path_is_one_of_the_site(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(tmp_path)
    for start in ("/", "//", "/zh/", "/%2f", "/zh/%2f"):
        status, text = ask(f"{start}{str(tmp_path).lstrip('/')}/secret.html")
        assert status == 404 and SECRET not in text
    monkeypatch.setattr(Maker, "wrong", "mkdocs.yml: a mistake")
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
    monkeypatch.setattr(Maker, "wrong", "mkdocs.yml: a <mistake>")
    before = everything(tmp_path)
    for path in ("/page/", "/zh/page/", "/no/page/of/the/book.html"):
        status, text = ask(path)
        assert status == 200 and "mkdocs.yml: a &lt;mistake&gt;" in text and "livereload(" in text
    assert everything(tmp_path) == before
    monkeypatch.setattr(Maker, "wrong", "")
    assert ask("/page/")[0] == 200
