"""Folders of exercises and what is wrong with them; the reader's answers, progress, `try` and `judge`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from background import background

from warpbook.book import Book, BookError, here
from warpbook.cli import main
from warpbook.exercises import commands, exercises, progress

NAME = "memory-access/eight-per-thread"
SOLUTION = here().root / "exercises" / NAME / "solution.cu"


@pytest.fixture
def lent(small: Book) -> Book:
    """A small book with one exercise."""
    shutil.copytree(SOLUTION.parent, small.root / "exercises" / NAME)
    return small


def change(book: Book, file: str, old: str, new: str) -> None:
    path = book.root / "exercises" / NAME / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_an_exercise_is_read_in_both_languages(lent: Book) -> None:
    [one] = exercises.all(lent)
    assert (one.name, one.minutes, one.difficulty, one.section) == (NAME, 10, 1, "memory-access#stride")
    assert one.title == {"en": "Eight elements per thread", "zh": "每个线程处理八个元素"}
    assert {language: len(hints) for language, hints in one.hints.items()} == {"en": 3, "zh": 3}
    assert "## " not in one.question["en"] and exercises.BEGIN in one.stub


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("task.en.md", "---\n", "", "task.en.md: begin with front matter between two lines ---: difficulty, minutes"),
        ("task.en.md", "minutes: 10", "minutes: ten", "task.en.md: minutes: ten is not a whole number from 1 to 240"),
        ("task.en.md", "difficulty: 1", "difficulty: 4", "task.en.md: difficulty: 4 is not 1, 2 or 3"),
        ("task.en.md", "minutes: 10", "minutes: true", "minutes: True is not a whole number from 1 to 240"),
        ("task.en.md", "difficulty: 1", "difficulty: 1.0", "task.en.md: difficulty: 1.0 is not 1, 2 or 3"),
        (
            "task.en.md",
            "title: Eight elements",
            "title: |\n  Eight\n\n  #",
            "task.en.md: title: give a text on one line",
        ),
        ("task.en.md", "title: Eight", "title: <b>Eight", "title: give a text on one line"),
        ("task.en.md", "title: Eight elements per thread", "title:", "title: give a text on one line"),
        ("task.zh.md", "minutes: 10", "minutes: 12", "task.zh.md: minutes is 12, in English 10; make them equal"),
        ("task.en.md", "#stride", "", "task.en.md: section: write it as article#anchor, such as memory-access#stride"),
        ("task.en.md", "3. In step", "In step", "end with `## Hints` and a numbered list of three; there are 2"),
        ("task.zh.md", "## 提示", "## Hints", "end with `## 提示` and a numbered list of three; there are 0"),
        ("task.en.md", "title: ", "titel: ", "task.en.md: the front matter must have exactly difficulty, minutes"),
        ("stub.cu", "float a,", "float b,", 'stub.cu:2: "__global__ void scale(const float* x, float* y, float b'),
        ("stub.cu", "    // your code\n", "", "stub.cu: mark what the reader writes with the lines `// your code`"),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(lent: Book, file: str, old: str, new: str, said: str) -> None:
    change(lent, file, old, new)
    with pytest.raises(BookError) as error:
        exercises.all(lent)
    assert str(error.value).startswith(f"exercises/{NAME}/") and said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["task.en.md", "stub.cu", "mistakes/chunks.cu"])
def test_a_file_of_another_encoding_is_named(lent: Book, file: str) -> None:
    (lent.root / "exercises" / NAME / file).write_bytes(b"\xff\xfea\0")
    with pytest.raises(BookError, match=f"{file}: it is not UTF-8; save it as UTF-8"):
        exercises.all(lent)[0].mistakes()


def test_a_missing_file_is_named(lent: Book) -> None:
    (lent.root / "exercises" / NAME / "stub.cu").unlink()
    with pytest.raises(BookError, match=r"stub\.cu: the file is missing; every exercise has one"):
        exercises.all(lent)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__global__ void f() {}\n", "begin with a comment such as `// wrong: race`"),
        ("// wrong: race\n__global__ void f() {}\n", "mark the line to be named with `// <-- here`"),
        ("// wrong: race, no line\nf();  // <-- here\n", "mark the line to be named with `// <-- here`"),
    ],
)
def test_a_mistake_says_what_it_must_get(lent: Book, text: str, said: str) -> None:
    (lent.root / "exercises" / NAME / "mistakes" / "new.cu").write_text(text, "utf-8")
    [one] = exercises.all(lent)
    with pytest.raises(BookError) as error:
        one.mistakes()
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["eight-per-thread", "memory-access/eight-per-thred", "eigth-per-thread"])
def test_a_name_that_is_nearly_one_is_put_right(lent: Book, name: str) -> None:
    with pytest.raises(BookError, match=f"{name}: there is no such exercise; did you mean {NAME}\\?"):
        exercises.find(lent, name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "/", "memory-access", "..", "no-such-thing-at-all"])
def test_a_name_never_leads_out_of_the_folder(lent: Book, name: str) -> None:
    with pytest.raises(BookError, match="there is no such exercise"):
        exercises.find(lent, name)


def test_try_puts_the_stub_and_never_over_an_answer(lent: Book, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.try_one(lent, NAME, "en") == 0
    answer = lent.root / "my" / f"{NAME}.cu"
    assert answer.read_text("utf-8") == exercises.find(lent, NAME).stub
    assert f"my/{NAME}.cu: here is the stub" in capsys.readouterr().out
    answer.write_text("mine", "utf-8")
    assert commands.try_one(lent, NAME, "zh") == 0
    assert answer.read_text("utf-8") == "mine"
    assert "你的答案已在那里，没有改动" in capsys.readouterr().out


def test_the_list_says_what_is_done(lent: Book, capsys: pytest.CaptureFixture[str]) -> None:
    commands.try_one(lent, None, "en")
    assert f"{NAME}  -" in capsys.readouterr().out
    progress.note(lent, NAME, "right")
    progress.note(lent, NAME, "wrong")
    commands.try_one(lent, None, "en")
    assert f"{NAME}  done" in capsys.readouterr().out, "once right, it stays done"
    assert progress.read(lent)[NAME]["tries"] == 2


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, "\udcff"], ids=lambda text: text[:5])
def test_progress_that_cannot_be_read_is_put_aside(lent: Book, text: str) -> None:
    mine = lent.root / "my"
    mine.mkdir()
    (mine / ".progress.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    progress.note(lent, NAME, "wrong")
    assert progress.read(lent) == {NAME: {"tries": 1, "done": ""}}
    assert (mine / progress.BROKEN).read_bytes() == text.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "entry", ['{"tries": "x"}', '{"tries": [1]}', '{"tries": 1e999}', '{"done": NaN}', "7", "null"]
)
def test_an_entry_of_progress_that_cannot_be_read_is_begun_anew(lent: Book, entry: str) -> None:
    (lent.root / "my").mkdir()
    other = '"other/one": {"tries": 2, "done": "2026-11-01"}, "\\ud800": {"tries": 1}, "../x": {}'
    (lent.root / "my" / ".progress.json").write_text(f'{{"{NAME}": {entry}, {other}}}', "utf-8")
    progress.note(lent, NAME, "wrong")
    assert progress.read(lent) == {NAME: {"tries": 1, "done": ""}, "other/one": {"tries": 2, "done": "2026-11-01"}}


def test_judgements_that_end_together_are_all_counted(lent: Book) -> None:
    threads = [threading.Thread(target=progress.note, args=(lent, NAME, "wrong")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress.read(lent)[NAME]["tries"] == 8


@pytest.mark.parametrize(
    ("settings", "language"),
    [({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"), ({"LANG": "de_DE"}, "en")],
)
def test_the_language_is_the_locales(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], language: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert commands.language_of(None) == language
    assert commands.language_of("zh") == "zh"


def test_judge_exits_with_0_for_right_1_for_wrong_and_2_for_a_wrong_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", NAME, "--file", str(SOLUTION), "--json", "--lang", "en"]) == 0
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (verdict["exercise"], verdict["verdict"]) == (NAME, "right")
    assert main(["judge", NAME, "--file", str(SOLUTION.with_name("stub.cu")), "--lang", "zh"]) == 1
    assert capsys.readouterr().out.startswith("错误") and "\x1b" not in capsys.readouterr().out
    assert main(["judge", "eight"]) == 2
    assert main(["judge", NAME, "--file", str(tmp_path / "none.cu")]) == 2
    assert "there is no answer to judge; name a file that exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--seed", "-1", "give the whole number"),
        ("--seed", "1e3", "give the whole number"),
        ("--seed", "9" * 5000, "give the whole number"),
        ("--file", "", "no file is given"),
    ],
)
def test_an_option_that_cannot_be_read_is_a_wrong_call(
    capsys: pytest.CaptureFixture[str], option: str, given: str, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["judge", NAME, f"{option}={given}"])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_watch_judges_again_at_each_save(tmp_path: Path) -> None:
    answer = tmp_path / "answer.cu"
    shutil.copy(SOLUTION.with_name("stub.cu"), answer)
    command = [sys.executable, "-m", "warpbook", "judge", NAME, "--file", str(answer), "--json", "--watch"]
    with background(command, stdout=subprocess.PIPE, text=True, cwd=here().root, env=os.environ) as watching:
        assert watching.stdout
        assert json.loads(watching.stdout.readline())["verdict"] == "wrong"
        shutil.copy(SOLUTION, answer)
        assert json.loads(watching.stdout.readline())["verdict"] == "right"
