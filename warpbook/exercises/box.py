"""`{{ exercise:reduction/shuffle-sum }}`: an exercise in its article, as Markdown. It is whole without any script.

Under `make serve` a script puts an editor into it (theme/workbench/workbench.js).
"""

from __future__ import annotations

import os

from warpbook.book import Book
from warpbook.exercises import exercises, progress
from warpbook.exercises.commands import COMMAND
from warpbook.source import comments
from warpbook.source.pages import Page

DIRECTIVE = "exercise:"
SOLUTION = "wb-solution"  # the class of the fold that has it
WORDS = {
    "en": {
        "about": "{minutes} minutes · difficulty {difficulty} of 3 · [the section that it belongs to]({link})",
        "terminal": "Get the stub and judge your answer, in a terminal:",
        "triton": "Get the stub and judge your answer, in a terminal; once before, `make setup-torch` installs Triton:",
        "hint": "Hint {}",
        "solution": "Solution",
    },
    "zh": {
        "about": "{minutes} 分钟 · 难度 {difficulty}/3 · [相关章节]({link})",
        "terminal": "在终端中取得模板、判题：",
        "triton": "在终端中取得模板、判题（第一次之前，先用 `make setup-torch` 安装 Triton）：",
        "hint": "提示 {}",
        "solution": "参考答案",
    },
}


def markdown(book: Book, name: str, language: str, page: Page) -> str:
    """Task, stub, commands, hints and solution of exercise `name`; BookError if there is none."""
    one, words = exercises.find(book, name), WORDS[language]
    about = words["about"].format(
        minutes=one.minutes, difficulty=one.difficulty, link=link(book, one.section, language, page)
    )
    answer = book.relative(progress.answer_path(book, one))
    stub, solution = (
        comments.of_exercise(book, text, one.language == "python", one.folder.parent, language).rstrip()
        for text in (one.stub, one.solution)
    )
    parts = [
        f'<div class="wb-exercise" data-exercise="{one.name}" markdown>',
        f"### {one.title[language]} {{ #try-{one.short} }}",
        "<div data-search-exclude markdown>",  # a search finds the title; the rest would compete with articles
        f"{about}\n{{ .wb-exercise__about }}",
        one.question[language],
        f'```{one.language} title="{answer}"\n{stub}\n```',
        f"{words['triton' if one.language == 'python' else 'terminal']}\n{{ .wb-exercise__terminal }}",
        f"```console\n$ {COMMAND} try {one.name}\n$ {COMMAND} judge {one.name} --watch\n```",
        *(folded("question", words["hint"].format(i), hint) for i, hint in enumerate(one.hints[language], 1)),
        folded(f"success {SOLUTION}", words["solution"], f"```{one.language}\n{solution}\n```"),
        "</div>",
        "</div>",
    ]
    return "\n\n".join(parts)


def link(book: Book, section: str, language: str, page: Page) -> str:
    article, _, anchor = section.partition("#")
    target = book.page_of(article, language)
    if target is None or target == page.path:
        return f"#{anchor}"
    return f"{os.path.relpath(target, page.path.parent)}#{anchor}"


def folded(kind: str, title: str, text: str) -> str:
    return f'??? {kind} "{title}"\n' + "\n".join(f"    {line}".rstrip() for line in text.splitlines())
