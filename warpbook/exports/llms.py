"""llms.txt: a list of every page as Markdown, for language models and text browsers."""

from __future__ import annotations

from warpbook.book import Book
from warpbook.exercises import exercises
from warpbook.exports import plain
from warpbook.source.pages import Page

HEADS = {
    "en": """# Warpbook

> CUDA and deep learning. Every code block was run, on an NVIDIA H200 and on softcuda, a CUDA device made of software;
> every measured number has its record, and a test holds the pages to it.

Each page in Markdown, with the outputs of its blocks and the numbers of its charts. The site itself: {url}

## Pages
""",
    "zh": """# 线程束手册

> CUDA 与深度学习。每段代码都运行过：在 NVIDIA H200 上，也在 softcuda（用软件实现的 CUDA 设备）上；
> 每个实测数字都附测量记录，由测试核对。

以下是各页的 Markdown 版本，带代码块的输出和图表的数据。网站本身：{url}

## 页面
""",
}
TASKS = {
    "en": """
## Exercises

Kernels to write, judged without a GPU by `.venv/bin/warpbook judge NAME` in a clone of the book. Each task is at
the end of its page.

""",
    "zh": """
## 练习

动手写核函数。在本书代码仓库的副本中用 `.venv/bin/warpbook judge 题名` 判题，不需要 GPU。题目在各页末尾。

""",
}


def index(book: Book, language: str, url: str) -> str:
    """llms.txt of one language (https://llmstxt.org): pages in reading order, each with what it is about; exercises."""
    lines = [HEADS[language].format(url=url)]
    for path in book.in_reading_order(language):
        page = Page(book, path)
        name = path.relative_to(book.docs / language).as_posix()
        about = page.text("description")
        lines.append(f"- [{page.title}]({url}{name}){': ' + about if about else ''}")
    return "\n".join(lines) + "\n" + tasks(book, language, url)


def tasks(book: Book, language: str, url: str) -> str:
    """The exercises with the first paragraph of each question, and no solution."""
    lines = []
    for one in exercises.all(book):
        path = book.page_of(one.article, language)
        if path:
            place = f"{url}{path.relative_to(book.docs / language).as_posix()}"
            asked = " ".join(plain.joined(one.question[language].split("\n\n")[0]).split())
            lines.append(f"- [{plain.literally(one.title[language])}]({place}) (`{one.name}`): {asked}")
    return TASKS[language] + "\n".join(lines) + "\n" if lines else ""
