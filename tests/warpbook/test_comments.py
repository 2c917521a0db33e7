"""Comments of listings, which Chinese pages show as comments.toml translates them."""

from __future__ import annotations

import re

import pytest

from warpbook.book import Book, BookError
from warpbook.exercises import box, exercises
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.run.hashes import code_hash, normal_kernel, normal_python
from warpbook.source import comments, terms
from warpbook.source.pages import Page

KERNEL = """\
// --8<-- [start:add]
// One thread adds one element, // and
// the grid covers all of them.
__global__ void add(int* x) {
    x[0] += 1;      // a "string" in it
    char* s = "// in a string";  /* at the end */
    x[1] += '/';  // stays English
}
// --8<-- [end:add]
"""
TABLE = """\
"One thread adds one element, // and the grid covers all of them." = "每个线程加一个元素，网格覆盖全部元素。"
'a "string" in it' = "其中有字符串"
"at the end" = "在末尾"
"""
PROGRAM = '''\
"""Says what it does."""


# --8<-- [start:f]
def f(x):
    """Doubles x.

    Twice as much
    as before.
    """
    return 2 * x  # not "# this"
# --8<-- [end:f]
'''
LEFT = 0  # comments that Chinese pages may show in English


@pytest.fixture
def shown(small, write):
    write("snippets/a/k.cu", KERNEL)
    write("snippets/a/comments.toml", TABLE)
    write("snippets/a/p.py", PROGRAM)
    page = '# A\n\n??? note "n"\n\n    ```cuda\n    --8<-- "snippets/a/k.cu:add"\n    ```\n'
    for language in ("en", "zh"):
        write(f"docs/{language}/a.md", page)
    return small


def listing(book: Book, language: str) -> str:
    parsed = parse(Page(book, book.docs / language / "a.md"), language, Values(book))
    assert not parsed.problems
    return "".join(one.block.code for one in parsed.listings.values())


def test_a_chinese_page_shows_translated_comments_and_the_same_code(shown):
    english, chinese = listing(shown, "en"), listing(shown, "zh")
    assert english == "".join(KERNEL.splitlines(keepends=True)[1:-1])
    assert chinese.splitlines() == [
        "// 每个线程加一个元素，",
        "// 网格覆盖全部元素。",
        "__global__ void add(int* x) {",
        "    x[0] += 1;      // 其中有字符串",
        '    char* s = "// in a string";  /* 在末尾 */',
        "    x[1] += '/';  // stays English",
        "}",
    ]
    assert normal_kernel(english) == normal_kernel(chinese)
    assert Page(shown, shown.docs / "zh/a.md").blocks[0].code == english  # what is run and compared


def test_docstrings_are_translated_by_paragraphs(shown, write):
    write(
        "snippets/a/comments.toml", '"Doubles x." = "加倍。"\n"Twice as much as before." = "是原来的两倍，不多不少。"\n'
    )
    text = comments.in_file(shown, "snippets/a/p.py", "zh")
    assert '    """加倍。\n\n    是原来的两倍，\n    不多不少。\n    """\n' in text
    assert normal_python(text) == normal_python(PROGRAM)
    assert comments.in_file(shown, "snippets/a/p.py", "en") == PROGRAM
    assert comments.of_text(PROGRAM, True)[0].text == 'not "# this"'


def test_a_translation_changes_no_hash(shown):
    codes = ['load("k.cu")\n', PROGRAM]
    before = code_hash(shown, codes, "a", "here")
    (shown.snippets / "a/comments.toml").unlink()
    assert code_hash(shown, codes, "a", "here") == before


def test_a_translation_whose_comment_is_gone_is_named(shown, write):
    assert comments.problems(shown, "a") == []
    write("snippets/a/k.cu", KERNEL.replace("at the end", "at its end"))
    assert comments.problems(shown, "a") == [
        'snippets/a/comments.toml: no program of a has the comment "at the end" any more'
    ]
    write("snippets/a/comments.toml", '"x" = 1\n')
    with pytest.raises(BookError, match=r"comments\.toml"):
        comments.problems(shown, "a")


def test_comments_shown_in_english_are_counted(shown):
    assert comments.left(shown) == ["comments of listings that Chinese pages show in English: 1 (snippets/a/k.cu: 1)"]


def test_translations_use_the_books_terms(shown, write):
    write(
        "docs/glossary.toml",
        '[[group]]\nen = "E"\nzh = "执"\n[[group.term]]\nen = "end"\nzh = "尾"\navoid = ["末尾"]\n'
        'says = { en = "A.", zh = "尾。" }\n',
    )
    assert terms.problems(shown) == ["snippets/a/comments.toml: 末尾: write 尾"]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_translation_is_broken_into_as_many_lines(count):
    text = "每个线程把 `x[i]` 加到自己的和上，然后整个线程块归约；最后由 lane 0 写出结果。"
    lines = comments.broken(text, count)
    assert len(lines) == count and all(lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert not any(line[0] in "，。；：、）”" for line in lines)


def test_the_book_has_no_translation_without_its_comment_and_hardly_a_comment_without(book):
    for article in book.articles():
        assert comments.problems(book, article) == []
    found = {
        (file, text)
        for path in book.pages("zh")
        for file, texts in comments.untranslated(book, Page(book, path)).items()
        for text in texts
    }
    assert len(found) <= LEFT, sorted(found)


def test_the_books_exercises_have_all_their_comments_in_chinese(book):
    assert not comments.untranslated_in_exercises(book)


def test_the_books_listings_are_the_same_code_in_both_languages(book):
    for folder in sorted(path.parent for path in book.snippets.glob(f"*/{comments.FILE}")):
        for path in sorted(folder.iterdir()):
            if path.suffix in comments.SUFFIXES:
                normal = normal_python if path.suffix == ".py" else normal_kernel
                text, name = path.read_text("utf-8"), book.relative(path)
                shown = comments.in_file(book, name, "zh")
                assert normal(shown) == normal(text), name
                assert len(shown.splitlines()) == len(text.splitlines()), name


def test_translations_are_typeset_as_chinese(book):
    for path in sorted([*book.snippets.glob(f"*/{comments.FILE}"), *book.root.glob(f"exercises/*/{comments.FILE}")]):
        for text in comments.table(book, path.parent).values():
            assert not re.search(r"[\u4e00-\u9fff][(),;:!?]|[(,;:!?][\u4e00-\u9fff]", text), f"{path}: {text}"
            assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", text), f"{path}: {text}"


def test_stubs_and_solutions_are_shown_with_translated_comments_and_keep_their_marks(book):
    for one in exercises.all(book):
        python = one.language == "python"
        normal = normal_python if python else normal_kernel
        for text in (one.stub, one.solution):
            shown = comments.of_exercise(book, text, python, one.folder.parent, "zh")
            assert normal(shown) == normal(text) and len(shown.splitlines()) == len(text.splitlines()), one.name
            assert shown.count("your code\n") == text.count("your code\n") == 2, one.name
    one = exercises.find(book, "reduction/shuffle-sum")
    english, chinese = (
        box.markdown(book, one.name, language, Page(book, book.page_of("reduction", language)))
        for language in ("en", "zh")
    )
    assert one.stub.rstrip() in english and one.stub.rstrip() not in chinese
    assert "out[b] 是线程块 b 的 256 个" in chinese
