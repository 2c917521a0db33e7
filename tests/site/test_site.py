"""The site builds strictly: what it is made of, what is found in it, and what can be taken away."""

from __future__ import annotations

import gzip
import html
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from addresses import url

from warpbook.blocks import ends
from warpbook.book import Book, here
from warpbook.check import audit, links, search_rank
from warpbook.exercises import exercises
from warpbook.exports import downloads, offline, pdf
from warpbook.pipeline import typography
from warpbook.site import policy, search
from warpbook.source import comments, describe, tracks

PLACES = {"en": "", "zh": "zh/"}


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


def test_every_page_has_a_policy_and_nothing_runs_but_the_themes_scripts(book: Book, site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text("utf-8")
        hashes = len(set(policy.inline(text)))
        assert text.partition("Content-Security-Policy")[2].partition(">")[0].count("'sha256-") == hashes > 0, file
        assert not policy.refused(text, book.root / "theme"), file


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


DEVELOPERS = [url(path, here().docs) for path in here().developers()]


def test_the_contributors_pages_are_in_english_only_and_exported_nowhere(site: Path) -> None:
    for page in DEVELOPERS:
        text = (site / page / "index.html").read_text("utf-8")
        assert '<link rel="alternate " hreflang="zh"' not in text
        assert 'class="wb-time' not in text and 'class="wb-programs"' not in text and 'class="wb-cite"' not in text
        assert not (site / "zh" / page).exists()
    assert not list((site / "developers").rglob("*.md")) + list((site / "developers").rglob("*.ipynb"))
    assert "developers/" not in (site / "llms.txt").read_text("utf-8")
    for name in ("", "models/attention/"):  # links.internal says that they lead somewhere
        text = (site / "zh" / name / "index.html").read_text("utf-8")
        [link] = re.findall(r'<a href="([^"]*)" class="md-nav__link">\s*<span[^>]*>\s*开发者文档（英文）', text)
        assert (site / "zh" / name / link).resolve() == (site / "developers").resolve()


def squeezed(text: str) -> str:
    return "".join(text.split())


def text_of(file: Path) -> str:
    """What a file of the site says, without blanks: of a page its text, of a notebook its cells."""
    text = file.read_text("utf-8", errors="replace")
    if file.suffix == ".html":
        text = html.unescape(re.sub(r"<[^>]+>", "", text))
    elif file.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return squeezed(text.replace("\\n", "\n"))


def test_a_solution_is_only_where_it_is_folded(book: Book, site: Path) -> None:
    kinds = (".html", ".md", ".txt", ".json", ".ipynb", ".js", ".xml")
    texts = {file: text_of(file) for file in site.rglob("*") if file.suffix in kinds}
    for one in exercises.all(book):
        begin, end = (exercises.marked(mark, one.suffix) for mark in (exercises.BEGIN, exercises.END))
        answer = squeezed(one.solution.partition(begin)[2].partition(end)[0])
        stem = url(book.page_of(one.article, "en") or Path(), book.docs / "en").removesuffix("/")
        shown = {}  # what is folded on each page, whose comments are in its language
        for language, place in PLACES.items():
            page = site / place / stem / "index.html"
            text = comments.of_exercise(book, one.solution, one.language == "python", one.folder.parent, language)
            shown[page] = squeezed(text.partition(begin)[2].partition(end)[0])
        books = [site / place / f"{stem}.ipynb" for place in PLACES.values()]
        for said in {answer, *shown.values()}:
            pages = [page for page, its in shown.items() if its == said]
            assert {file for file, text in texts.items() if said in text} == {
                *pages,
                *(books if said == answer else []),
            }
        for page, said in shown.items():
            [fold] = re.findall(
                rf'data-exercise="?{one.name}\b.*?<details class="success wb-solution">(.*?)</details>',
                page.read_text("utf-8"),
                re.DOTALL,
            )
            assert said in squeezed(html.unescape(re.sub(r"<[^>]+>", "", fold))) and texts[page].count(said) == 1
        for notebook in books:
            cells = json.loads(notebook.read_text("utf-8"))["cells"]
            at = [i for i, cell in enumerate(cells) if f"%%judge {one.name}\n" in cell["source"]]
            assert [answer in squeezed("".join(cells[i]["source"])) for i in at] == [False, True]
            assert cells[at[1]]["metadata"]["jupyter"]["source_hidden"]


def test_exercises_are_ticked(served: str, look: Callable[..., None]) -> None:
    look("exercises.mjs", served)


def test_the_map_shows_what_can_be_read_next(served: str, look: Callable[..., None]) -> None:
    look("map.mjs", served)


def queries(book: Book, language: str) -> dict[str, str]:
    wanted = search_rank.queries(book, language)
    assert len(wanted) >= 80
    return wanted


@pytest.mark.parametrize("language", PLACES)
def test_a_query_finds_its_page_among_the_first_three(book: Book, language: str, site: Path) -> None:
    """The site's own worker and index are asked, without a browser."""
    wanted = queries(book, language)
    wrong = search_rank.missed(search_rank.ask(site / PLACES[language], wanted), wanted, language)
    assert not wrong, "\n".join(wrong)


def test_each_language_is_searched_over_itself_and_at_little_weight(site: Path) -> None:
    for language, place in PLACES.items():
        assert (site / place / search.CONFIG).stat().st_size < 1000  # what each page fetches
        text = (site / place / search.DOCUMENTS).read_text("utf-8")
        documents = json.loads(text)
        pages = {document["location"].partition("#")[0] for document in documents}
        assert len(gzip.compress(text.encode())) < 7_000 * len(pages)  # what is fetched when the box is entered
        titles = [document["title"] for document in documents]
        chinese = sum(bool(search.HAN.search(title)) for title in titles)
        assert chinese == 0 if language == "en" else chinese > 0.9 * len(titles)


def test_search_engines_find_both_languages_of_every_page(site: Path) -> None:
    known = {file.parent.relative_to(site).as_posix() for file in site.rglob("index.html")}
    listed: set[str] = set()
    base = re.findall(r"<loc>([^<]*)", (site / "sitemap.xml").read_text("utf-8"))[0]
    for place in PLACES.values():
        for entry in re.findall(r"<url>.*?</url>", (site / place / "sitemap.xml").read_text("utf-8"), re.DOTALL):
            found = re.findall(r'(?:<loc>|href=")([^"<]*)', entry)
            pages = [address.removeprefix(base).strip("/") or "." for address in found]
            here, english, *chinese, other = pages
            assert here in (english, *chinese) and other == english
            alone = english.split("/")[0] == "developers"  # the contributors' pages are in English only
            assert chinese == ([] if alone else [f"zh/{english}".removesuffix("/.")]) and known >= set(pages)
            head = (site / here / "index.html").read_text("utf-8")
            assert f'<link rel="canonical" href="{found[0]}">' in head and "noindex" not in head
            assert re.findall(r'<link rel="alternate " hreflang="[\w-]+" href="([^"]*)">', head) == found[1:]
            listed.add(here)
    assert listed == known
    assert (site / "robots.txt").read_text("utf-8").count("Sitemap: ") == 2


def test_every_page_is_described_in_a_line_of_its_own_that_a_search_shows_whole(site: Path) -> None:
    told: dict[str, Path] = {}
    for file in site.rglob("index.html"):
        head = file.read_text("utf-8").split("</head>", 1)[0]
        [said] = re.findall(r'<meta name="description" content="([^"]*)">', head)
        assert f'<meta property="og:description" content="{said}">' in head and said not in told, (file, told.get(said))
        told[said] = file
        language = "zh" if file.relative_to(site).parts[0] == "zh" else "en"
        wide = describe.columns(html.unescape(said))
        assert describe.LEAST[language] <= wide <= describe.MOST, f"{file}: {wide} columns: {said}"
        assert said.endswith((".", "?", "。", "？")) and not re.search(r"[`{}]|\*\*|\]\(", said), f"{file}: {said}"


def test_a_wrong_address_is_told_in_the_readers_language(site: Path) -> None:
    for place, lang, said in (("", "en", "There is no page"), ("", "en", "没有这一页"), ("zh", "zh", "没有这一页")):
        page = (site / place / "404.html").read_text("utf-8")
        assert f'<html lang="{lang}"' in page and said in page and "noindex" in page


def test_a_heading_has_the_same_id_in_both_languages(site: Path) -> None:
    """So a link to a section, and the switcher, hold in either."""
    for file in site.rglob("index.html"):
        other = site / "zh" / file.relative_to(site)
        if other.exists():
            english, chinese = (re.findall(r'<h[1-4][^>]* id="([^"]*)"', f.read_text("utf-8")) for f in (file, other))
            assert english[1:] == chinese[1:], file


def test_every_page_is_valid_html(site: Path, validate: Callable[[Path], None]) -> None:
    validate(site)


def article(file: Path) -> str:
    return file.read_text("utf-8").split("<article", 1)[1].split(">", 1)[1].split("</article>", 1)[0]


def test_every_page_is_set_as_its_readers_are_used_to(site: Path) -> None:
    wrong = []
    for file in site.rglob("index.html"):
        language = "zh" if file.relative_to(site).parts[0] == "zh" else "en"
        wrong += [f"/{file.parent.relative_to(site)}: {what}" for what in typography.faults(article(file), language)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("language", PLACES)
def test_what_is_typed_into_the_search_box_shows_its_page_among_the_first_three(
    book: Book, language: str, served: str, look: Callable[..., None]
) -> None:
    look("find.mjs", served + PLACES[language], queries(book, language))


def test_home_in_one_screen(served: str, look: Callable[..., None]) -> None:
    look("home.mjs", served)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_next_leads_through_every_article_each_with_its_sources(book: Book, site: Path, language: str) -> None:
    page = root = site if language == "en" else site / language
    page = root / "start"  # home leads there
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


def test_the_archive_is_read_without_a_server(unpacked: Path, look: Callable[..., None]) -> None:
    look("offline.mjs", f"{unpacked.as_uri()}/")


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
    (site / ends.ARCHIVE).write_bytes(bytes(1_250_000))
    downloads.show(site)
    assert '<a href="../warpbook.zip" download>中英文离线版（zip，1.2\u00a0MB）</a>' in home.read_text("utf-8")
    (site / ends.ARCHIVE).unlink()
    downloads.show(site)
    assert "warpbook.zip" not in home.read_text("utf-8")


def test_a_page_is_printed_with_an_outline_tags_links_and_fonts(book: Book, site: Path, browser: str) -> None:
    file, pages = pdf.write(book, site, "zh", browser, only=["errata", "softcuda", "profile-your-kernel"])
    made = file.read_bytes()
    file.unlink()
    assert 15 < pages < 60 and made.startswith(b"%PDF")
    for wanted in (b"/Outlines", b"/StructTreeRoot", b"/MarkInfo", b"/Lang (zh-Hans)", b"/FontFile2", b"/ToUnicode"):
        assert wanted in made, wanted
    links = re.findall(rb"/Type /Annot\s*/Subtype /Link.{0,300}?endobj", made, re.DOTALL)
    assert any(b"/Dest /profile-your-kernel" in link for link in links)  # from page to page within the PDF
    assert any(b"/URI (https://warpbook.example/zh/" in link for link in links)  # what only the site has


def test_notes_and_tips_stay_on_the_screen(served: str, look: Callable[..., None]) -> None:
    look("tips.mjs", served, ["optimisation/reduction/", "zh/optimisation/reduction/"])


def test_the_cheat_sheet_is_printed_on_two_sheets_of_paper(served: str, look: Callable[..., None]) -> None:
    look("printed.mjs", served, {f"{place}cheat-sheet/": 2 for place in PLACES.values()})
