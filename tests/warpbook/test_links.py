"""Links of a built site: what leads nowhere is named with its page."""

from __future__ import annotations

from warpbook.check import links


def test_pages_files_and_anchors(tmp_path, write):
    found = '<h2 id="二">x</h2><a href="../b.json">b</a><a href="#%E4%BA%8C">2</a><a href="../#top">t</a>'
    write("a/index.html", found)
    write("b.json", "{}")
    write("index.html", '<a name="top"></a><a href="a/#三">no</a><a href="c/">no</a><script src="d.js"></script>')
    assert links.internal(tmp_path, links.pages(tmp_path)) == [
        "/index.html: a/#三: that page has no such anchor",
        "/index.html: c/ leads to no page",
        "/index.html: d.js leads to no page",
    ]


def test_other_hosts_are_listed_once(tmp_path, write):
    found = '<a href="https://example.org/x#y">1</a><a href="https://example.org/x">2</a><a href="mailto:a@b">'
    write("index.html", found)
    write("a/index.html", '<a href="https://example.org/z">1</a><link rel="canonical" href="https://mine.example/a/">')
    listed = links.external(links.pages(tmp_path))
    assert listed == {"https://example.org/z": "a/index.html", "https://example.org/x": "index.html"}
