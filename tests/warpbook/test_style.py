"""Words that stumble are flagged for the writer, and fail nothing."""

from __future__ import annotations

import pytest

from warpbook import cli
from warpbook.book import BookError
from warpbook.check import style
from warpbook.source.pages import Page


@pytest.fixture
def known():
    return style.rules()


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("en", "softcuda skips it aloud.", ["aloud"]),
        ("en", "A block of 256 threads a block.", ["threads a block"]),
        ("en", "An error is told by the next call.", ["is told"]),
        ("en", "Relieving it is\nfor nothing.", ["for nothing"]),  # over a line's end
        ("en", "Most branches part a warp.", ["part a warp"]),
        ("en", "Nothing here. A device allows 1024 threads per block.", []),
        ("en", '`aloud`, "aloud" and [so](aloud.md)', []),
        ("en", "It reaches 3 TFLOP/s, not 4 Tflop/s.", ["Tflop/s"]),
        ("zh", "线程束里的每个通道；图像有三个通道。", ["线程束里的每个通道"]),
        ("zh", "执行次序没有人承诺。", ["没有人承诺"]),
        ("zh", "反汇编机器\n码。", ["机器码"]),
        ("zh", "屏障和内存栅栏，分块，显存，SASS。", []),
    ],
)
def test_what_stumbles_is_flagged(small, write, known, language, text, found):
    page = Page(small, write(f"docs/{language}/x.md", f"# X\n\n{text}\n"))
    assert [flag.found for flag in style.flags(page, known[language])] == found


def test_a_flag_says_where_and_what_to_write(small, write, known):
    page = Page(small, write("docs/en/x.md", "# X\n\nOne.\n\nWe mend it.\n"))
    assert [str(flag) for flag in style.flags(page, known["en"])] == ["docs/en/x.md:5: mend → fix"]


def test_flags_are_advice(small, write, monkeypatch, capsys):
    write("docs/en/x.md", "# X\n\nWe mend it.\n")
    monkeypatch.setattr(cli, "here", lambda: small)
    monkeypatch.setattr("warpbook.check.checks.problems", lambda *_: [])
    monkeypatch.setattr("warpbook.check.checks.waiting", lambda *_: [])
    assert cli.main(["check", "--style"]) == 0
    said = capsys.readouterr().out
    assert "docs/en/x.md:3: mend → fix\n" in said and "1 style flags in 1 pages" in said
    assert cli.main(["check"]) == 0
    assert "mend" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[en]]\navoid = "x"\n', "a \\[\\[en\\]\\] has avoid and write, not avoid"),
        ('[[fr]]\navoid = "x"\nwrite = "y"\n', "\\[\\[fr\\]\\] is no language; there are: en, zh"),
        ('[[en]]\navoid = "("\nwrite = "y"\n', 'avoid = "\\(": '),
        ("[[en", "style.toml: "),
    ],
)
def test_a_mistake_in_the_rules_is_reported(write, text, said):
    with pytest.raises(BookError, match=said):
        style.rules(write("style.toml", text))
