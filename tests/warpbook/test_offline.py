"""The archive for offline reading: links that name files, one classic script, the same bytes each time."""

from __future__ import annotations

import json
import zipfile

import pytest

from warpbook.blocks import explore
from warpbook.book import BookError
from warpbook.exports import bundle, offline

HOME = """<head><meta name="generator" content="mkdocs-1.6.1, mkdocs-material-9.8.1"><title>Warpbook</title>
<link rel="canonical" href="https://site.test/"><link rel="icon" href="assets/logo.svg"></head>
<a href="track/a/#b">A</a> <a href=".">Home</a>
<script type="module" src="assets/explore/explore.js"></script>
<script type="module" src="assets/explore/explore.js"></script>
<script src="assets/javascripts/bundle.1.min.js"></script>
"""


@pytest.fixture
def site(write, tmp_path):
    write("index.html", HOME)
    write("zh/index.html", HOME.replace('"assets', '"../assets').replace("site.test/", "site.test/zh/"))
    write("404.html", "")
    write("sitemap.xml", "")
    write("llms.txt", "- [A](https://site.test/track/a.md) of [NVIDIA](https://example.org/)\n")
    write("search/search_index.json", json.dumps({"config": {"lang": ["zh"]}, "docs": []}))
    write("search/documents.json", json.dumps([{"location": "track/a/#b"}]))
    for name in ("min/lunr.zh", "min/lunr.fr", "min/lunr.stemmer.support"):
        write(f"assets/javascripts/lunr/{name}.min.js", "")
    write("assets/javascripts/bundle.1.min.js.map", "")
    return tmp_path


def test_the_archive_holds_what_a_reader_needs(site):
    packed = zipfile.ZipFile(offline.pack(site))
    names = [name.removeprefix("warpbook/") for name in packed.namelist()]
    assert names == sorted(names)
    assert [name for name in names if "lunr" in name] == [
        "assets/javascripts/lunr/min/lunr.stemmer.support.min.js",
        "assets/javascripts/lunr/min/lunr.zh.min.js",
    ]
    assert not {"404.html", "assets/javascripts/bundle.1.min.js.map", "search/search_index.json"} & set(names)
    assert {"assets/offline.js", "zh/assets/offline.js", "assets/explore.js"} <= set(names)
    index = packed.read("warpbook/search/search_index.js").decode()
    assert index.startswith("var __index = {") and '"location":"track/a/index.html#b"' in index
    assert packed.read("warpbook/llms.txt").decode() == "- [A](track/a.md) of [NVIDIA](https://example.org/)\n"


def test_a_page_has_links_to_files_and_classic_scripts(site):
    page = zipfile.ZipFile(offline.pack(site)).read("warpbook/index.html").decode()
    assert '<a href="track/a/index.html#b">' in page and '<a href="./index.html">' in page
    assert page.count('<script defer src="assets/explore.js"></script>') == 1 and "module" not in page
    assert '<script src="assets/offline.js"></script><script src="assets/javascripts/bundle.1' in page


def test_the_same_site_gives_the_same_archive(site):
    first = offline.pack(site).read_bytes()
    (site / "index.html").touch()
    assert offline.pack(site).read_bytes() == first


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ("../memory/", "../memory/index.html"),
        ("../memory/#banks", "../memory/index.html#banks"),
        ("..", "../index.html"),
        ("./?h=warp", "./index.html?h=warp"),
        ("#banks", "#banks"),
        ("../memory.md", "../memory.md"),
        ("https://example.org/a/", "https://example.org/a/"),
        ("mailto:a@example.org", "mailto:a@example.org"),
    ],
)
def test_links_to_folders_name_their_page(link, there):
    assert offline.address(link) == there


def test_without_a_site_that_is_said(tmp_path):
    with pytest.raises(BookError, match="no site built by Warpbook there; build it with `make site`"):
        offline.pack(tmp_path)


def test_modules_become_one_script():
    made = bundle.classic(explore.MODULES, "explore.js")
    assert not bundle.IMPORT.search(made) and not bundle.LEFT.search(made)
    assert 'const { LANES, LINE, SECTOR, lines, sectors } = modules["./memory.js"];' in made
    assert made.index('modules["./draw.js"] =') < made.index('modules["./banks.js"] =')
    assert "await imported(`./${figure.dataset.explore}.js`)" in made


def test_a_module_of_another_form_is_told():
    with pytest.raises(BookError, match="this form cannot be bundled: export default 1;"):
        bundle.body("a.js", "export default 1;\n")
    with pytest.raises(BookError, match=r"\./a\.js: there is no module \./b\.js"):
        bundle.in_order({"./a.js": 'import { x } from "./b.js";\n'})
