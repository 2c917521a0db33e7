"""The book as a PDF: which pages it has, in which order, and what begins it."""

from __future__ import annotations

import pytest

from warpbook.book import Book, BookError
from warpbook.exports import pdf


def test_pages_come_in_reading_order_by_part(book: Book) -> None:
    english, chinese = (pdf.contents(book, language) for language in ("en", "zh"))
    names = [page["name"] for page in english]
    assert names == [page["name"] for page in chinese]
    assert names[:2] == ["start", "foundations/gpu-how-it-works"] and {"glossary", "errata", "devices"} <= set(names)
    assert not {"index", "foundations/index", "ledger", "changes"} & set(names)
    assert [page["part"] for page in chinese][:3] == ["", "基础", ""]
    assert next(page for page in english if page["name"] == "models/attention")["part"] == "Models"
    assert not next(page for page in english if page["name"] == "glossary")["sections"]


def test_it_begins_with_what_it_is_and_where_it_was_measured(book: Book, write, tmp_path) -> None:
    write("zh/index.html", '<link rel="canonical" href="https://site.test/zh/"><link rel="stylesheet" href="../a.css">')
    made = pdf.document(book, tmp_path / "zh", "zh")
    assert '<html lang="zh-Hans" dir="ltr">' in made and "线程束手册" in made
    assert "NVIDIA H200" in made and "softcuda" in made and 'href="https://site.test/zh/"' in made
    assert f'href="{(tmp_path / "a.css").as_uri()}"' in made


def test_what_is_missing_is_said(book: Book, write, tmp_path, monkeypatch) -> None:
    with pytest.raises(BookError, match="no site built by Warpbook there; build it with `make site`"):
        pdf.write(book, tmp_path, "en")
    for name in ("index.html", "zh/index.html"):
        write(name, '<meta name="generator" content="mkdocs-1, mkdocs-material-9"><title>Warpbook</title>')
    write("sitemap.xml", "")
    monkeypatch.setattr(pdf.tools, "chromium", lambda: None)
    with pytest.raises(BookError, match=r"no Chromium here; install it .* or name one with --browser"):
        pdf.write(book, tmp_path, "en")
    with pytest.raises(BookError, match=r"warpbook-en\.pdf: /nowhere/chromium does not print: .*"):
        pdf.write(book, tmp_path, "en", "/nowhere/chromium")
