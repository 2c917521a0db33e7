"""`warpbook try` and `warpbook judge`."""

from __future__ import annotations

import json
import locale
import os
import sys
import time
from pathlib import Path
from typing import Any

from warpbook.book import Book, BookError, explain
from warpbook.exercises import exercises, progress
from warpbook.exercises.exercises import Exercise

COLOURS = {
    "right": "32",
    "wrong": "31",
    "compile": "31",
    "endless": "31",
    "slow": "33",
    "failed": "35",
    "stopped": "35",
}
WORDS = {
    "en": {"right": "right", "wrong": "wrong", "slow": "slow", "compile": "error", "endless": "endless",
           "failed": "failed", "stopped": "stopped", "done": "done", "open": "-", "minutes": "min"},
    "zh": {"right": "正确", "wrong": "错误", "slow": "太慢", "compile": "编译错误", "endless": "不结束",
           "failed": "失败", "stopped": "已停止", "done": "已完成", "open": "-", "minutes": "分钟"},
}  # fmt: skip
SENTENCES = {
    "en": {
        "judge": "judge it with: {command} judge {name} --watch",
        "begin": "begin one with: {command} try NAME",
        "put": "{path}: here is the stub; write your answer there",
        "kept": "{path}: your answer is there already, and was not touched",
        "watching": "watching {path}; judged again at each save, Ctrl-C ends it",
    },
    "zh": {
        "judge": "判题：{command} judge {name} --watch",
        "begin": "开始一道题：{command} try 题名",
        "put": "{path}：模板已放好，请在这里写答案",
        "kept": "{path}：你的答案已在那里，没有改动",
        "watching": "正在监视 {path}，每次保存后重新判题；按 Ctrl-C 结束",
    },
}
COMMAND = ".venv/bin/warpbook"
CACHE = ".cache/exercises"
LOOK_SECONDS = 0.1


def language_of(wanted: str | None) -> str:
    """--lang, else the locale's."""
    if wanted:
        return wanted
    name = next((value for key in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(key))), "")
    return "zh" if (name or locale.getlocale()[0] or "").startswith("zh") else "en"


def try_one(book: Book, name: str | None, language: str) -> int:
    from warpjudge.words import sentence

    words, sentences = WORDS[language], SENTENCES[language]
    if not name:
        known = progress.read(book)
        found = exercises.all(book)
        width = max((len(one.name) for one in found), default=0)
        for one in found:
            done = words["done"] if known.get(one.name, {}).get("done") else words["open"]
            stars = "*" * one.difficulty
            print(f"{one.name:{width}}  {done:4}  {stars:3}  {one.minutes:3} {words['minutes']}  {one.title[language]}")
        print(sentences["begin"].format(command=COMMAND))
        return 0
    exercise = exercises.find(book, name)
    new = progress.put_stub(book, exercise)
    path = book.relative(progress.answer_path(book, exercise))
    print(f"{exercise.title[language]}\n\n{exercise.question[language]}\n")
    print(sentences["put" if new else "kept"].format(path=path))
    print(sentences["judge"].format(command=COMMAND, name=exercise.name))
    if exercise.lacks():
        print(sentence("no-triton", {}, language))
    return 0


def judge_one(
    book: Book, name: str, file: Path | None, as_json: bool, language: str, watch: bool, seed: int | None
) -> int:
    """0: right and within budget, 1: not."""
    from warpjudge import Judge, words

    exercise = exercises.find(book, name)
    if exercise.lacks():
        raise BookError(f"{exercise.name}: {words.sentence('no-triton', {}, language)}")
    path = file or progress.answer_path(book, exercise)
    if not path.is_file():
        shown = book.relative(path)
        hint = f"begin with `{COMMAND} try {exercise.name}`" if file is None else "name a file that exists"
        raise BookError(f"{shown}: there is no answer to judge; {hint}")
    with Judge(keep_warm=watch, cache=book.root / CACHE) as judge:

        def once(source: str) -> dict[str, Any]:
            verdict = judge(
                exercise.folder, source, name=exercise.name, language=language, seed=seed, section=exercise.section
            )
            if file is None and verdict["verdict"] not in ("failed", "stopped"):
                progress.note(book, exercise.name, verdict["verdict"])
            print(json.dumps(verdict, ensure_ascii=False) if as_json else text_of(verdict, exercise, language))
            sys.stdout.flush()
            return verdict

        source = read_answer(path)
        verdict = once(source)
        if not watch:
            return 0 if verdict["verdict"] == "right" else 1
        if not as_json:
            print(SENTENCES[language]["watching"].format(path=book.relative(path)), file=sys.stderr)
        while True:
            time.sleep(LOOK_SECONDS)
            try:
                now = read_answer(path)
            except BookError:
                continue  # an editor is replacing it
            if now != source:
                source = now
                once(source)


def read_answer(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode("utf-8")
    except UnicodeDecodeError:
        raise BookError(f"{path}: it is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise BookError(explain(error, path)) from None


def text_of(verdict: dict[str, Any], exercise: Exercise, language: str) -> str:
    """A verdict as lines: kind, sentence, section; what the kernel printed follows."""
    words = WORDS[language]
    lines = []
    for one in verdict["messages"]:
        section = f"   §{one['section']}" if one["section"] and one["kind"] != "right" else ""
        lines.append(f"{paint(words[one['kind']], COLOURS[one['kind']])}  {one['text']}{section}")
    if verdict["printed"]:
        lines += ["---", verdict["printed"].rstrip("\n")]
    return "\n".join(lines)


def paint(word: str, colour: str) -> str:
    padded = f"{word:7}"
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
        return f"\x1b[{colour}m{padded}\x1b[0m"
    return padded
