"""What `make audit` holds a page to, and how it weighs one."""

from __future__ import annotations

import gzip
import urllib.request

import pytest

from warpbook.book import BookError
from warpbook.check import audit
from warpbook.check.audit import Seen, Weight

PAGE = (
    '<link rel="icon" href="../logo.svg"><link rel="stylesheet" href="../site.css"><script src="../a.js"></script>'
    '<script type="text/plain" data-src="../later.js"></script>'
)


@pytest.fixture
def site(write, tmp_path):
    write("site/index.html", "<p>home</p>")
    write("site/x/index.html", PAGE)
    write("site/zh/x/index.html", PAGE)
    for name in ("logo.svg", "site.css", "zh/site.css", "later.js"):
        write(f"site/{name}", name * 100)
    write("site/a.js", 'import { b } from "./b.js";\nb();')
    write("site/b.js", "export const b = 1;")
    return tmp_path / "site"


def test_pages_are_those_of_both_languages(site):
    assert audit.pages(site) == ["", "x/", "zh/x/"]


def test_a_page_weighs_what_it_fetches_at_once(site):
    files = [site / name for name in ("x/index.html", "logo.svg", "site.css", "a.js", "b.js")]
    assert audit.weigh(site, "x/") == Weight(sum(len(gzip.compress(f.read_bytes(), 9)) for f in files), 5)


def test_the_site_is_served_compressed(site):
    with audit.served(site) as address:
        answer = urllib.request.urlopen(f"{address}x/")
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.read()).decode() == PAGE


def test_what_misses_a_target_is_told():
    assert audit.missed(Weight(150_000, 9)) == []
    assert audit.missed(Weight(150_100, 9)) == ["weighs 150.1 KB, and 150 is the most"]
    moved = Seen(100, 1, 0.1, 500, 1, ("axe (dark): color-contrast: 1: <a>",))
    assert audit.missed(moved) == [
        "moves by 0.100 as it loads or is read, and 0.02 is the most", "axe (dark): color-contrast: 1: <a>"
    ]  # fmt: skip
    points = {"performance": 97, "accessibility": 100, "best-practices": 100, "seo": 100}
    assert audit.short(points) == ["performance: 97 points, and 98 is the least"]


def test_what_got_worse_is_told_beyond_a_tolerance():
    before = {"bytes": 100_000, "requests": 6, "shift": 0.0, "axe": 0}
    assert audit.worse(before | {"bytes": 103_000, "shift": 0.005}, before) == []
    assert audit.worse(before | {"bytes": 103_001, "requests": 7}, before) == [
        "bytes: 103001, and 100000 before", "requests: 7, and 6 before"
    ]  # fmt: skip
    assert audit.worse({"performance": 97}, {"performance": 99}) == []
    assert audit.worse({"performance": 97}, {"performance": 100}) == ["performance: 97 points, and 100 before"]
    assert audit.worse(before, {}) == []  # a new page


def test_a_baseline_that_cannot_be_read_is_told(small, write):
    assert audit.baseline(small)["pages"] == {}
    write("audit.json", "{")
    with pytest.raises(BookError, match=r"audit.json: cannot be read; write it anew"):
        audit.baseline(small)
