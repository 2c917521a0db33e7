"""The site builds strictly, and a real browser finds nothing wrong with it in either language, light or dark."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from warpbook import audit, downloads, links, offline, pdf, policy, tracks
from warpbook.book import Book, BookError, here
from warpbook.site import build


@pytest.fixture(scope="session")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build(book, tmp_path_factory.mktemp("site") / "site")
    except BookError as error:
        pytest.fail(str(error), pytrace=False)


def url(path: Path, docs: Path) -> str:
    name = path.relative_to(docs).with_suffix("").as_posix()
    return "" if name == "index" else f"{name.removesuffix('/index')}/"


def test_both_languages_have_the_same_pages(book: Book) -> None:
    english, chinese = ([p.relative_to(book.docs / x).as_posix() for p in book.pages(x)] for x in ("en", "zh"))
    assert english == chinese


def test_every_page_is_built(book: Book, site: Path) -> None:
    for language, place in (("en", ""), ("zh", "zh/")):
        for page in book.pages(language):
            assert (site / place / url(page, book.docs / language) / "index.html").exists()


def test_no_page_needs_another_host(site: Path) -> None:
    """What a browser would fetch by itself: scripts, styles, images, fonts."""
    for file in site.rglob("*.css"):
        assert "url(http" not in file.read_text("utf-8")
        assert "@import" not in file.read_text("utf-8")


def test_every_page_has_a_policy_and_no_handler_in_an_element(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text("utf-8")
        assert "Content-Security-Policy" in text, file
        assert not policy.HANDLER.search(re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)), file


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    wrong = links.internal(site, links.pages(site))
    assert not wrong, "\n".join(wrong)


def test_no_page_weighs_more_than_it_may(book: Book, site: Path) -> None:
    """Nor more than it did. `make audit` measures what needs a browser's time: layout shift, axe, Lighthouse."""
    before = audit.baseline(book)["pages"]
    wrong = []
    for page in audit.pages(site):
        weight = audit.weigh(site, page)
        wrong += [f"/{page}: {what}" for what in audit.missed(weight)]
        wrong += [f"/{page}: {what}" for what in audit.worse(asdict(weight), before.get(page, {}))]
    assert not wrong, "\n".join([*wrong, "if it is worth it: make audit ARGS=--update"])


def addresses() -> list[str]:
    """Every page, and of each article the lab page of one program."""
    book = here()
    labs = [f"snippets/{p.parent.name}/{p.stem}/" for article in book.articles() for p in book.programs(article)[:1]]
    return [url(page, book.docs / "en") for page in book.pages("en")] + labs


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", addresses(), ids=lambda page: page or "home")
def test_a_browser_finds_nothing_wrong(
    page: str, site: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    look("browse.mjs", serve(site), json.dumps({"en": page, "zh": f"zh/{page}"}))


@pytest.mark.timeout(120)
def test_each_language_is_searched(site: Path, serve: Callable[[Path], str], look: Callable[..., None]) -> None:
    look("browse.mjs", serve(site))


@pytest.mark.timeout(120)
def test_home_in_one_screen(site: Path, serve: Callable[[Path], str], look: Callable[..., None]) -> None:
    look("home.mjs", serve(site))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_next_leads_through_every_article_each_with_its_sources(book: Book, site: Path, language: str) -> None:
    page = root = site if language == "en" else site / language
    for entry in tracks.articles(book, language).values():
        text = (page / "index.html").read_text("utf-8")
        link = re.search(r'<a href="([^"]*)" class="md-footer__link md-footer__link--next"', text)
        assert link, page
        page = (page / link[1]).resolve()
        assert page == (root / entry.page.path.relative_to(book.docs / language).with_suffix("")).resolve()
        shown = (page / "index.html").read_text("utf-8")
        for part in ('class="wb-time wb-time--page"', 'id="sources"', '<li id="fn:', 'class="wb-cite"'):
            assert part in shown, f"{page} has no {part}"


def test_a_lab_page_leads_back_to_its_article(site: Path) -> None:
    for place in ("", "zh/"):
        lab = (site / place / "snippets/reduction/ladder/index.html").read_text("utf-8")
        assert '<a href="../../../optimisation/reduction/">' in lab


@pytest.fixture(scope="session")
def unpacked(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive for offline reading, in a folder with a blank and a Han character in its name."""
    archive = offline.pack(site)
    folder = tmp_path_factory.mktemp("taken") / "my 书"
    zipfile.ZipFile(archive).extractall(folder)
    archive.unlink()  # the other tests' site is as it was
    return folder / offline.FOLDER


@pytest.mark.timeout(180)
def test_the_archive_is_read_without_a_server(unpacked: Path, look: Callable[..., None]) -> None:
    look("offline.mjs", str(unpacked))


def test_every_link_of_the_archive_names_a_file(unpacked: Path) -> None:
    named = {}
    for page in unpacked.rglob("*.html"):
        for link in set(re.findall(r'\s(?:href|src)="([^"#][^"]*)"', page.read_text("utf-8"))):
            if not urlsplit(link).scheme:
                named[page.parent / unquote(urlsplit(link).path)] = f"{page}: {link}"
    wrong = [said for file, said in named.items() if not file.is_file()]
    assert named and not wrong, "\n".join(wrong)


def test_home_leads_to_what_can_be_taken_away(site: Path) -> None:
    home = site / "zh" / "index.html"
    assert not downloads.LIST.search(home.read_text("utf-8"))[0].count("warpbook")  # type: ignore[index]
    (site / downloads.ARCHIVE).write_bytes(bytes(1_250_000))
    downloads.show(site)
    assert '<a href="../warpbook.zip" download>中英文离线版（zip，1.2\u00a0MB）</a>' in home.read_text("utf-8")
    (site / downloads.ARCHIVE).unlink()
    downloads.show(site)
    assert "warpbook.zip" not in home.read_text("utf-8")


@pytest.mark.timeout(180)
def test_a_page_is_printed_with_an_outline_tags_links_and_fonts(book: Book, site: Path, browser: str) -> None:
    file, pages = pdf.write(book, site, "zh", browser, only=["softcuda", "profile-your-kernel"])
    made = file.read_bytes()
    file.unlink()
    assert 5 < pages < 40 and made.startswith(b"%PDF")
    for wanted in (b"/Outlines", b"/StructTreeRoot", b"/MarkInfo", b"/Lang (zh-Hans)", b"/FontFile2", b"/ToUnicode"):
        assert wanted in made, wanted
    links = re.findall(rb"/Type /Annot\s*/Subtype /Link.{0,300}?endobj", made, re.DOTALL)
    assert any(b"/Dest /profile-your-kernel" in link for link in links)  # from page to page within the PDF
    assert any(b"/URI (https://warpbook.example/zh/" in link for link in links)  # what only the site has
