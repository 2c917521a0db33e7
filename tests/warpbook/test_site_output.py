"""Where commands may write a site: nothing that is no built site is deleted or written into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpbook import cli
from warpbook.book import Book, BookError
from warpbook.site import builder

Write = Callable[[str, str], Path]
HOME = (
    '<meta name="generator" content="mkdocs-1.6.1, mkdocs-material-9.8.1">\n<title>Warpbook</title>\n'
    '<link rel="stylesheet" href="assets/site.css">'
)
MAP = "<url><loc>https://book.example/</loc></url><url><loc>https://book.example/theory/automata/</loc></url>"


@pytest.fixture
def repository(tmp_path: Path, write: Write) -> Book:
    write("repository/docs/en/index.md", "# Home\n")
    return Book(tmp_path / "repository")


@pytest.fixture
def built(tmp_path: Path, write: Write) -> Path:
    """What a built site has, of this and of earlier versions."""
    for name in ("index.html", "zh/index.html"):
        write(f"site/{name}", HOME)
    write("site/sitemap.xml", MAP)
    for name in ("404.html", "assets/site.css", "theory/automata/index.html", "index.md", "warpbook.zip"):
        write(f"site/{name}", "")
    return tmp_path / "site"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_new_folder_an_empty_one_and_a_built_site_may_be_replaced(repository, built, tmp_path):
    (tmp_path / "empty").mkdir()
    for output in (tmp_path / "new", tmp_path / "empty", built, repository.root / "site"):
        builder.check_replaceable(repository, output)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("notes", "is not empty, and holds no site built by Warpbook"),
        ("notes/kept.txt", "a file"),
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("nowhere/site", "there is no folder"),
        ("repository", "is or contains the repository"),
        (".", "is or contains the repository"),
        ("repository/docs", "among the book's sources"),
        ("repository/docs/zh", "among the book's sources"),
        ("repository/nothing/../docs", "among the book's sources"),
        ("/", "is or contains the repository"),
        ("other-site", "holds no site built by Warpbook"),
    ],
)
def test_what_is_no_site_is_refused_and_stays(repository, built, tmp_path, write, output, why):
    write("notes/kept.txt", "three years of work\n")
    write("other-site/index.html", HOME.replace("Warpbook", "My notes"))
    write("other-site/zh/index.html", "")
    write("other-site/sitemap.xml", MAP)
    (tmp_path / "link").symlink_to(built)
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    before = everything(tmp_path)
    with pytest.raises(BookError, match=why) as error:
        builder.build(repository, tmp_path / output)
    assert "\n" not in str(error.value)
    assert everything(tmp_path) == before


def test_the_home_folder_is_refused_even_if_it_is_empty(repository, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(BookError, match="your home folder"):
        builder.check_replaceable(repository, tmp_path / "home")


@pytest.mark.parametrize("name", ["photos/one.jpg", ".git/HEAD", "CNAME"])
def test_what_somebody_put_into_a_built_site_is_not_deleted(repository, built, write, name):
    write(f"site/{name}", "")
    with pytest.raises(BookError, match=f"{name.split('/')[0]}: is no part of the site"):
        builder.check_replaceable(repository, built)


def test_a_site_that_cannot_be_put_in_place_leaves_the_old_one(built, tmp_path):
    before = everything(built)
    with pytest.raises(OSError, match="No such file"):
        builder.replace(built, tmp_path / "never made", tmp_path / "old")
    assert everything(built) == before


@pytest.mark.parametrize(
    "arguments",
    [["site", "--output", ""], ["offline", ""], ["pdf", ""], ["audit", "--site", ""], ["links", ""], ["merge", ""]],
    ids=lambda arguments: arguments[0],
)
def test_an_empty_name_is_no_folder(arguments, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 1
    said = capsys.readouterr().err
    assert "no folder is given" in said and said.count("\n") == 1
    assert not everything(tmp_path)


@pytest.mark.parametrize("command", [["offline"], ["pdf"], ["audit", "--site"], ["links"]], ids=lambda c: c[0])
def test_a_folder_that_is_no_built_site_is_not_written_into(command, capsys, tmp_path, write):
    """An index.html is not enough: `offline` and `pdf` write their files into the folder and edit its home pages."""
    write("mine/index.html", "<title>My page</title>")
    write("mine/warpbook.zip", "mine")
    before = everything(tmp_path)
    assert cli.main([*command, str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().err
    assert "no site built by Warpbook there" in said and said.count("\n") == 1
    assert everything(tmp_path) == before
