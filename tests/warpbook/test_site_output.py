"""Where commands may write a site: nothing that is no built site is deleted or written into."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from warpbook import cli
from warpbook.book import Book, BookError
from warpbook.site import builder, next_host

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
        ("repository/my/site", "among the book's sources"),
        ("repository/exercises/new", "among the book's sources"),
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


def test_every_folder_of_the_repository_is_among_the_sources(book):
    """But for those that the set-up, the tests and builds make, and git ignores."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=book.root, capture_output=True, text=True, timeout=60)
    folders = {name.partition("/")[0] for name in listed.stdout.split("\0") if "/" in name}
    assert folders <= {*builder.SOURCES}


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("photos/one.jpg", "photos"),
        (".git/HEAD", ".git"),
        ("CNAME", "CNAME"),
        ("theory/.git/HEAD", "theory/.git"),
        ("theory/thesis.tex", "theory/thesis.tex"),
        ("theory/notes.md", "theory/notes.md"),
        ("theory/automata/mine/index.html", "theory/automata/mine/index.html"),
        ("zh/notes.md", "zh/notes.md"),
        ("assets/.key", "assets/.key"),
    ],
)
def test_what_somebody_put_into_a_built_site_is_not_deleted(repository, built, write, name, named):
    write(f"site/{name}", "")
    with pytest.raises(BookError, match=f"site/{re.escape(named)}: is no part of the site"):
        builder.check_replaceable(repository, built)


def test_a_link_in_a_built_site_is_not_deleted(repository, built, tmp_path):
    (built / "theory" / "link").symlink_to(tmp_path)
    with pytest.raises(BookError, match="site/theory/link: is no part of the site"):
        builder.check_replaceable(repository, built)


def test_a_user_without_a_home_folder_may_build(repository, built, monkeypatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    builder.check_replaceable(repository, built)


@pytest.mark.parametrize("output", ["notes", "notes/kept.txt", "link", "", "."])
def test_zensicals_host_deletes_nothing_either(built, tmp_path, write, monkeypatch, capsys, output):
    """`make site-next`, whose command takes a folder too."""
    write("notes/kept.txt", "three years of work\n")
    (tmp_path / "link").symlink_to(built)
    before = everything(tmp_path)
    monkeypatch.chdir(tmp_path / "notes")
    assert next_host.main([str(tmp_path / output) if output.strip(".") else output]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert everything(tmp_path) == before


def test_a_site_that_zensical_built_may_be_replaced(repository, tmp_path, write):
    home = '<meta name="generator" content="zensical-0.0.73">\n<title>Home - Warpbook</title>'
    write("next/index.html", home)
    for name in ("zh/index.html", "theory/automata/index.html", "search.json", "404.html"):
        write(f"next/{name}", "")
    write("next/sitemap.xml", MAP)
    builder.check_replaceable(repository, tmp_path / "next", next_host.is_built)
    write("next/mine.txt", "")
    with pytest.raises(BookError, match=r"mine\.txt: is no part of the site"):
        builder.check_replaceable(repository, tmp_path / "next", next_host.is_built)


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
