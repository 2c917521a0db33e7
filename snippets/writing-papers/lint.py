"""The prose lint over this book: how many flags each rule raises in the articles of both languages.

It needs the book's repository, since it reads every page: `warpbook check --style` shows each flag with its line.
"""

import re
import sys
from collections import Counter

import warpbench as wb

BOOK = wb.ROOT.parent
sys.path.insert(0, str(BOOK))

from warpbook.book import LANGUAGES, Book  # noqa: E402
from warpbook.check import style  # noqa: E402
from warpbook.source import terms  # noqa: E402
from warpbook.source.pages import Page  # noqa: E402

MOST = 6
WORD = {"en": re.compile(r"[A-Za-z][\w'’-]*"), "zh": re.compile(r"[\u4e00-\u9fff]")}


# --8<-- [start:count]
def count(book: Book, language: str) -> tuple[Counter[str], int, int]:
    """The flags of each rule, by what it advises; how many pages were read, and how many words or Han characters."""
    flags, words, pages = Counter[str](), 0, 0
    rules = style.rules()[language]
    for path in book.pages(language):
        page = Page(book, path)
        flags.update(flag.write for flag in style.flags(page, rules))
        words += sum(len(WORD[language].findall(line)) for _, line in terms.prose(page))
        pages += 1
    return flags, pages, words


# --8<-- [end:count]


def main() -> None:
    book = Book(BOOK)
    for language in LANGUAGES:
        flags, pages, words = count(book, language)
        rules = len(style.rules()[language])
        for name, number in (("flags", flags.total()), ("pages", pages), ("words", words), ("rules", rules)):
            wb.value(f"{language}.{name}", number, "count")
        print(f"\n{language}:\n{'flags':>6}  {'%':>6}  advice")
        ranked = flags.most_common(MOST)
        for advice, number in ranked + [("–", 0)] * (MOST - len(ranked)):
            print(f"{number:6}  {100 * number / max(1, flags.total()):6.0f}  {advice}")


if __name__ == "__main__":
    wb.measure_cpu()
    main()
