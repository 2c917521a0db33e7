"""What is searched: a page's HTML cut into documents, and the words that readers may type for them."""

from __future__ import annotations

import errno
import marshal

import pytest

from warpbook.book import BookError
from warpbook.exports import offline
from warpbook.site import search

PAGE = """<h1 id="p">Banks</h1><p>A <a href="#">warp</a> asks.<sup id="fnref:1"><a>1</a></sup></p>
<h2 id="conflicts">Conflicts<a class="headerlink" href="#c">#</a></h2>
<p>Of <span class="arithmatex">\\(2^2 \\times n\\)</span> words,
<span class="arithmatex">\\(\\frac{1}{2}\\)</span> &lt; all.</p>
<div class="language-python highlight"><pre><code>cudaMalloc(n); __shfl_sync(x)</code></pre></div>
<div class="wb-output"><pre>4.8 TB/s</pre></div><figure><svg><text>7</text></svg></figure>
<table><tr><td>a<br>b</td></tr></table>"""

TERMS = """
[[group]]
en = "Memory"
zh = "存储"

[[group.term]]
en = "bank conflict"
zh = "存储体冲突"
page = "x"
search = ["shared memory conflict", "共享内存冲突"]
avoid = ["库冲突", "bank(?! )clash"]
says = { en = "Words of one bank.", zh = "同一存储体的字。" }
"""


@pytest.fixture
def filled(small, write):
    write("docs/glossary.toml", TERMS)
    write("docs/search.toml", '["x"]\nalso = ["slow", "慢"]\nboost = 0.5\n')
    write("docs/en/x.md", "# X\n")
    search.use(small)
    return small


def test_prose_is_searched_and_numbers_and_code_are_not():
    first, second = search.sections(PAGE)
    assert (first["id"], first["title"], first["text"]) == ("", "Banks", "<p>A warp asks.</p>")
    assert (second["id"], second["title"]) == ("conflicts", "Conflicts")
    assert second["text"] == "<p>Of 2² × n words, … &lt; all.</p> a b"
    assert second["names"] == ["cudaMalloc", "__shfl_sync"]


def test_a_page_is_found_by_what_its_terms_are_called_elsewhere(filled):
    first = search.documents(filled, "en", "x", "x/", PAGE)[0]
    assert first == {
        "location": "x/",
        "title": "Banks",
        "text": "<p>A warp asks.</p>",
        "terms": "slow bank conflict shared memory conflict",
        "boost": 0.5,
    }


def test_a_list_of_changes_can_be_left_out(filled, write):
    write("docs/search.toml", '["x"]\nsearched = false\n')
    assert search.documents(filled, "en", "x", "x/", PAGE) == []


def test_chinese_readers_type_either_language(filled):
    terms = search.documents(filled, "zh", "x", "x/", PAGE)[0]["terms"].replace("\u200b", "")
    assert terms == "slow 慢 bank conflict 存储体冲突 shared memory conflict 共享内存冲突 库冲突"


def test_a_term_is_one_word_and_its_parts_are_found_too(filled):
    cut = search.segment("避开存储体冲突，用 swizzle→填充")
    assert cut.split("\u200b") == ["避开", "存储体冲突，用 swizzle→", "填充"]
    assert "冲突" in search.inner("避开存储体冲突。")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('["y"]\nboost = 1\n', "there is no page y"),
        ('["x"]\nwords = []\n', "x: known are also, boost and searched"),
        ("[x\n", "docs/search.toml: "),
    ],
)
def test_a_mistake_is_told_in_one_line(filled, write, text, told):
    write("docs/search.toml", text)
    with pytest.raises(BookError, match=told):
        search.pages(filled)


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A temporary folder in which somebody has put a dictionary of one word where Jieba would keep its own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(search.tempfile, "tempdir", str(folder))
    (folder / "jieba.cache").write_bytes(marshal.dumps(({"内": 0, "内存": 0, "内存访": 9}, 9)))
    return folder


def cut(book):
    search.words.cache_clear()
    search.use(book)
    return search.segment("内存访问")


def test_chinese_is_cut_by_no_dictionary_from_the_temporary_folder(planted, small):
    assert cut(small) == "内存\u200b访问"
    assert [path.name for path in planted.iterdir()] == ["jieba.cache"]
    [kept] = (small.root / ".cache").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    before = kept.stat()
    assert cut(small) == "内存\u200b访问"
    assert kept.stat().st_mtime_ns == before.st_mtime_ns  # read, not made again


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_where_nothing_can_be_written_no_dictionary_is_kept(planted, small, monkeypatch, capfd, number):
    def refuse(*_, **__):
        raise OSError(number, "cannot be written")

    monkeypatch.setattr(search.tempfile, "TemporaryDirectory", refuse)
    monkeypatch.setattr(search.tempfile, "mkstemp", refuse)
    assert cut(small) == "内存\u200b访问"
    assert [path.name for path in planted.iterdir()] == ["jieba.cache"]
    assert not list((small.root / ".cache").iterdir()) and "Traceback" not in capfd.readouterr().err


def test_words_are_divided_by_one_byte_in_the_file(tmp_path):
    found = [{"location": "x/", "title": "内存\u200b访问", "text": "<p>a</p>"}]
    search.write(tmp_path, found)
    assert "内存\x7f访问" in (tmp_path / search.DOCUMENTS).read_text("utf-8")
    assert offline.stored_documents(tmp_path / search.DOCUMENTS) == found


def test_lists_of_sources_are_not_searched(filled):
    page = '<h1 id="x">X</h1><h2 id="sources">Sources</h2><p>A paper.</p><h2 id="more">More</h2><p>Text.</p>'
    assert [one["title"] for one in search.documents(filled, "en", "x", "x/", page)] == ["X", "More"]
