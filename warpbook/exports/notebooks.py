"""Each program and each article as a notebook that runs anywhere: in Colab, or in an empty folder of a laptop.

Its first cell finds a GPU or softcuda and installs NumPy and PyCUDA. The second writes the helper and the modules that
the code imports. Both are folded; their code is in first_cells/. All files go to snippets/ beside the notebook, as they
lie in the book, and Python looks for modules where it does for a page. A kernel is a cell of its own, in front of the
first that needs it.

An exercise is its task, a cell with the stub that the judge reads when it is run, three empty cells, and the solution,
folded. The judge (snippets/warpjudge/) and each exercise's judge.py travel with the other files.
"""

from __future__ import annotations

import ast
import base64
import bz2
import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from warpbook import reads
from warpbook.blocks import ends
from warpbook.book import BOOKS, Book
from warpbook.exercises import box, commands, exercises
from warpbook.exports import plain
from warpbook.run.child import given_names, names_asked
from warpbook.run.hashes import needed
from warpbook.source import comments
from warpbook.source.pages import Page

CODE = Path(__file__).with_name("first_cells")
OR_SKIP = (CODE / "or_skip.py").read_text("utf-8")
JUDGE = "warpjudge"  # the package under snippets/
EMPTY = 3  # cells between a stub and its solution
MAY_SKIP = re.compile(r"\bwb\.(?:needs\(|SKIPPED\b)")
SKIPS_AT_ONCE = re.compile(r"^wb\.needs\(", re.MULTILINE)  # a module, when it is imported
LONG_KERNEL = 60  # lines; a longer one is folded
HIDDEN = {"cellView": "form", "jupyter": {"source_hidden": True}}  # in Colab, and in JupyterLab
HIDDEN_ANSWER = {**HIDDEN, "collapsed": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}
FIRST = {
    "en": "Run its cells from top to bottom. The first two are folded: one finds a GPU, or softcuda (a CUDA device "
    "made of software), and installs NumPy and PyCUDA if they are missing; the other writes the files that the code "
    "imports to `snippets/`. Kernels have cells of their own: change one, then run it and the cells below it again.",
    "zh": "请从上到下依次运行。前两个单元格已折叠：第一个查找 GPU 或 softcuda（用软件实现的 CUDA 设备），"
    "缺少 NumPy 或 PyCUDA 时自动安装；第二个把代码要导入的文件写到 `snippets/`。"
    "每个核函数文件单独占一个单元格，修改之后，重新运行它和下面的单元格即可。",
}
WORDS: dict[str, dict[str, Any]] = {
    "en": {
        "page": f"This is [a page of {{book}}]({{url}}) as a notebook. {FIRST['en']}\n\n"
        "Numbers in the text are from {device}. The output below a cell is recorded and names its device, until you "
        "run the cell. A cell that needs a newer GPU says so and is skipped.",
        "program": f"This is [a program of {{book}}]({{url}}) as a notebook. {FIRST['en']}",
        "setup": "Set-up: find a GPU or softcuda, install NumPy and PyCUDA",
        "helpers": "Helpers: write {count} to {folders}",
        "files": ("1 file", "{} files", ", "),
        "folders": " and ",
        "packed": "PACKED holds {names}: JSON from path to text, compressed with bz2. Its SHA-256 is {hash}.",
        "no_device": "There is no GPU here, and softcuda is not installed.\n"
        "On Colab, choose Runtime > Change runtime type > T4 GPU. Elsewhere, install softcuda: {install} "
        "(what it is: {url}).",
        "not_ready": "This needs a C++ compiler, and a GPU with the CUDA toolkit (nvcc) or softcuda: {install}",
        "exercise": "Write your kernel between the two comments of the next cell and run the cell: the verdict appears "
        "below it. The judge uses softcuda, with or without a GPU. {minutes} minutes, difficulty {difficulty} of 3.",
        "solution": "A solution to this exercise is in the next cell, which is folded.",
        "no_judge": "The judge needs softcuda, also where there is a GPU, and softcuda is not installed.\n"
        "Install it: {install} (what it is: {url}).",
        "clone": "pip install ./softcuda in a clone of the book's repository",
    },
    "zh": {
        "page": f"这是《{{book}}》中[这一页]({{url}})的 Notebook 版，{FIRST['zh']}\n\n"
        "正文中的数字测自 {device}。单元格下方已有的输出是事先录好的，并注明了设备；运行之后，就换成你自己的结果。"
        "需要更新的 GPU 的单元格会说明原因并跳过。",
        "program": f"这是《{{book}}》[一个程序]({{url}})的 Notebook 版，{FIRST['zh']}",
        "setup": "准备环境：查找 GPU 或 softcuda，安装 NumPy 和 PyCUDA",
        "helpers": "辅助文件：把 {count}写到 {folders}",
        "files": ("1 个文件", "{} 个文件", "、"),
        "folders": " 和 ",
        "packed": "PACKED 内含 {names}：从路径到文本的 JSON，用 bz2 压缩，SHA-256 为 {hash}。",
        "no_device": "这里没有 GPU，也没有安装 softcuda。\n"
        "在 Colab 中，请选择“代码执行程序 > 更改运行时类型 > T4 GPU”；在其他环境中，请安装 softcuda："
        "{install}（简介见 {url}）。",
        "not_ready": "运行程序需要 C++ 编译器，以及带 CUDA 工具包（nvcc）的 NVIDIA GPU 或 softcuda：{install}",
        "exercise": "在下一个单元格的两行注释之间写出你的核函数，运行这个单元格，判题结果就显示在它下面。"
        "判题在 softcuda 上进行，有没有 GPU 都一样。约 {minutes} 分钟，难度 {difficulty}/3。",
        "solution": "下一个单元格是这道练习的参考答案，已折叠。",
        "no_judge": "判题需要 softcuda（有 GPU 时也一样），而这里没有安装。\n"
        "请安装 softcuda：{install}（简介见 {url}）。",
        "clone": "在本书代码仓库的副本中执行 pip install ./softcuda",
    },
}


# -- the two kinds of notebook -----------------------------------------------------------------------------------------


def notebook(book: Book, program: Path, language: str, home: str) -> str:
    """The program's .ipynb as text: the files that it needs, then the program itself, cut at its definitions.

    `home`: where the book is published in this language.
    """
    name = program.relative_to(book.snippets).as_posix()
    own = book.relative(program)
    code = reads.text(program)
    files, kernels = needed_files(book, [code], program.parent.name, own)
    if "__file__" in code or f'"{program.name}"' in code:  # it runs itself in other processes
        files[own] = code
    skips = bool(MAY_SKIP.search(code))
    then = [OR_SKIP] * skips + [f'__file__ = "{own}"\nsys.argv = [__file__]']
    url = f"{home}{ends.address(book, program).removesuffix('.py')}/"
    about = WORDS[language]["program"].format(book=BOOKS[language], url=url)
    cells = [
        cell("markdown", f"# {plain.literally(name)}\n\n{about}"),
        setup(language, home),
        helpers(files, kernels, program.parent.name, language, "\n\n".join(then)),
        *(kernel(path, text) for path, text in kernels.items()),
        *(cell("code", part) for part in (with_skips(parts(code)) if skips else parts(code))),
    ]
    return as_text(cells)


def of_page(page: Page, text: str, language: str, home: str, device: str) -> str:
    """The article's .ipynb, with each Python block a cell; empty if it has none.

    `text`: its Markdown with folds (`plain.markdown`). `home`: where the book is published in this language.
    """
    if not page.python:
        return ""
    files, kernels = needed_files(page.book, [block.code for block in page.python], page.article, page.name)
    path = page.path.relative_to(page.book.docs / language).as_posix()
    url = published(path, home)
    title, _, rest = text.partition("\n") if text.startswith("# ") else (f"# {page.title}", "", text)
    about = WORDS[language]["page"].format(book=BOOKS[language], url=url, device=plain.literally(device))
    body: list[dict[str, Any]] = []
    written: set[str] = set()
    may_skip = False
    withheld: set[str] = set()  # names that cells would have given, had they not been skipped
    judged: list[str] = []  # exercises
    linked = partial(with_links, path=path, home=home)
    for one in plain.cells(linked(with_notes(rest))):
        if one.kind == "exercise":
            judged.append(one.source)
            body += exercise_cells(page.book, one.source, language, linked)
            continue
        if one.kind == "markdown":
            body += [cell("markdown", part) for part in sections(with_definitions(one.source))]
            continue
        modules, wanted, _ = needed(page.book, [one.source], page.article, page.name)
        body += [kernel(path, comments.in_file(page.book, path, language)) for path in wanted if path not in written]
        written |= set(wanted)
        in_module = any(SKIPS_AT_ONCE.search(code) for code in modules.values())
        skips = bool(MAY_SKIP.search(one.source)) or in_module or bool(withheld & names_asked(one.source))
        withheld |= given_after_skip(one.source, in_module) if skips else set()
        may_skip = may_skip or skips
        made = cell("code", or_skip(one.source) if skips else one.source, outputs(one.output, one.caption))
        body.append({**made, "metadata": HIDDEN_ANSWER} if one.folded else made)
    files |= judge_files(page.book, judged)
    then = [*[OR_SKIP] * may_skip, *[judge_magic(page.book, language, home)] * bool(judged)]
    return as_text(
        [
            cell("markdown", f"{title}\n\n{about}"),
            setup(language, home),
            helpers(files, kernels, page.article, language, "\n\n".join(then)),
            *body,
        ]
    )


def address(lab: str) -> str:
    """Where the notebook of a lab page is: snippets/reduction/ladder.py → notebooks/reduction/ladder.ipynb."""
    return f"notebooks/{Path(lab).relative_to('snippets').with_suffix('.ipynb').as_posix()}"


# -- files that the code needs -----------------------------------------------------------------------------------------


def needed_files(book: Book, codes: list[str], article: str, where: str) -> tuple[dict[str, str], dict[str, str]]:
    """(the helper, modules and data, kernels) of a notebook of these codes: path from the book's root to text."""
    modules, kernels, data = needed(book, codes, article, where)
    files = dict(sorted((modules | data).items()))
    helper = book.snippets / "warpbench.py"
    if reads.exists(helper):
        files = {book.relative(helper): reads.text(helper), **files}
    return files, kernels


def judge_files(book: Book, names: list[str]) -> dict[str, str]:
    """What the judge of these exercises needs: path from the book's root to text. No solution is among it."""
    if not names:
        return {}
    package = [path for path in (book.snippets / JUDGE).iterdir() if path.suffix in (".py", ".toml")]
    declared = [exercises.find(book, name).folder / "judge.py" for name in names]
    return {book.relative(path): reads.text(path) for path in sorted([*package, *declared])}


def softcuda_source() -> str:
    """What pip installs; empty where nobody knows the book's repository."""
    return f"softcuda @ git+https://github.com/{ends.repository()}#subdirectory=softcuda" if ends.repository() else ""


def how_to_install(language: str) -> str:
    return f"pip install '{softcuda_source()}'" if softcuda_source() else str(WORDS[language]["clone"])


def setup(language: str, home: str) -> dict[str, Any]:
    """The cell that finds a device and installs what is missing, or says in two lines what to do."""
    words, source, install = WORDS[language], softcuda_source(), how_to_install(language)
    constants = {
        "SOFTCUDA": source,
        "NO_DEVICE": words["no_device"].format(install=install, url=f"{home}softcuda/"),
        "NOT_READY": words["not_ready"].format(install=install),
    }
    return cell("code", filled("setup.py", words["setup"], constants), folded=True)


def helpers(
    files: dict[str, str], kernels: dict[str, str], article: str, language: str, then: str = ""
) -> dict[str, Any]:
    """The cell that writes `files`, makes the folders of `kernels`, has Python find both, and runs `then`."""
    words = WORDS[language]
    packed = bz2.compress(json.dumps(files, ensure_ascii=False).encode())
    folders = sorted({Path(path).parent.as_posix() for path in (*files, *kernels)})
    constants = {
        "FOLDERS": list(dict.fromkeys([f"snippets/{article}", "snippets", *folders])),
        "PACKED": base64.b64encode(packed).decode(),
    }
    one, many, comma = words["files"]
    count = one if len(files) == 1 else many.format(len(files))
    names = comma.join(dict.fromkeys(shown(path) for path in files))
    tops = sorted({f"{path.split('/')[0]}/" for path in files} or {"snippets/"})
    about = words["packed"].format(names=names, hash=hashlib.sha256(packed).hexdigest())
    title = words["helpers"].format(count=count, folders=words["folders"].join(tops))
    code = filled("unpack.py", title, constants).replace("ABOUT", about, 1)
    return cell("code", f"{code}\n\n{then}" if then else code, folded=True)


def shown(path: str) -> str:
    """A file's name in the list of what is packed; the judge is one."""
    if path.startswith(f"snippets/{JUDGE}/"):
        return f"{JUDGE}/"
    return path if path.startswith(f"{exercises.FOLDER}/") else Path(path).name


def filled(name: str, title: str, constants: dict[str, Any]) -> str:
    """The code of first_cells/`name` with this title and these constants."""
    code = reads.text(CODE / name).replace("TITLE", title, 1)
    for constant, value in constants.items():
        line = f"{constant} = {json.dumps(value, ensure_ascii=False)}"
        code = re.sub(rf"^{constant}\b.*$", lambda _, line=line: line, code, count=1, flags=re.MULTILINE)  # type: ignore[misc]
    return re.sub(r"\n{3,}", "\n\n", code).strip("\n")  # shorter where a reader's program folds nothing


# -- Markdown as Jupyter and Colab read it -----------------------------------------------------------------------------

VERBATIM = (  # a listing, or code in a line
    r"(?P<verbatim>^(?:> )* *(?P<fence>`{3,}|~{3,}).*?^(?:> )* *(?P=fence) *$"
    r"|(?P<ticks>(?<!`)`+(?!`))(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`))"
)
LINK = re.compile(VERBATIM + r"|(?<!\\)\]\((?P<target>[^()\s]+)\)", re.DOTALL | re.MULTILINE)
NOTE = re.compile(VERBATIM + r"|^\[\^[^\]\s]+\]: |(?P<notes>(?:(?<!\\)\[\^[^\]\s]+\])+)", re.DOTALL | re.MULTILINE)
NOTE_TEXT = re.compile(r"^\[\^([^\]\s]+)\]: +", re.MULTILINE)
DEFINITION = re.compile(r"^(\S.*)\n:   ", re.MULTILINE)


def published(path: str, home: str) -> str:
    """The address of a page or a program's page: foundations/memory-access.md → https://…/foundations/memory-access/."""
    stem, dot, ending = path.rpartition(".")
    if f"{dot}{ending}" not in (".md", ".py"):
        return f"{home}{path}"
    return home + re.sub(r"(^|/)index/$", r"\1", f"{stem}/")


def with_links(text: str, path: str, home: str) -> str:
    """The text of the page at `path` with absolute links, since a notebook lies anywhere."""

    def replaced(match: re.Match[str]) -> str:
        target = match["target"]
        if not target or re.match(r"[a-z]+:|#source-\d+$", target):
            return match[0]
        file, sharp, anchor = target.partition("#")
        other = urljoin(f"https://x/{path}", file).removeprefix("https://x/") if file else path
        return f"]({published(other, home)}{sharp}{anchor})"

    return LINK.sub(replaced, text)


def with_notes(text: str) -> str:
    """The text with its footnotes as a numbered list, in the order in which they stand, and numbers for references."""
    numbers = {name: i for i, name in enumerate(NOTE_TEXT.findall(text), 1)}

    def replaced(match: re.Match[str]) -> str:
        names = re.findall(r"\[\^([^\]]+)\]", match["notes"] or "")
        if not names or not set(names) <= set(numbers):
            return match[0]
        return f"<sup>{', '.join(f'[{numbers[name]}](#source-{numbers[name]})' for name in names)}</sup>"

    text = NOTE.sub(replaced, text)
    return NOTE_TEXT.sub(lambda match: f'{numbers[match[1]]}. <a id="source-{numbers[match[1]]}"></a>', text)


def with_definitions(text: str) -> str:
    """A list of definitions as a list that Jupyter knows."""
    return DEFINITION.sub(r"- \1<br>", text)


def sections(text: str) -> list[str]:
    """The text cut in front of its headings: Jupyter and Colab fold a section whose heading begins a cell."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if found := re.match(r"(?:> )* *(`{3,}|~{3,})", line):
            fence = ("" if fence == found[1] else fence) if fence else found[1]
        if not out or (not fence and re.match(r"#{2,4} ", line)):
            out.append("")
        out[-1] += f"{line}\n"
    return [part for part in out if part.strip()]


# -- cells -------------------------------------------------------------------------------------------------------------


def as_text(cells: list[dict[str, Any]]) -> str:
    about = {
        "accelerator": "GPU",  # Colab then starts with one
        "colab": {"gpuType": "T4", "provenance": [], "toc_visible": True},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    kept = {"cells": with_ids(cells), "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def with_ids(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells with an id each, which stays while the cell does, whatever changes around it."""
    seen: dict[str, int] = {}
    out = []
    for one in cells:
        key = hashlib.sha256(f"{one['cell_type']}\n{''.join(one['source'])}".encode()).hexdigest()[:12]
        seen[key] = seen.get(key, 0) + 1
        out.append({"id": key if seen[key] == 1 else f"{key}-{seen[key]}", **one})
    return out


def cell(
    kind: str, source: str, printed: list[dict[str, Any]] | None = None, *, folded: bool = False
) -> dict[str, Any]:
    out: dict[str, Any] = {"cell_type": kind, "metadata": HIDDEN if folded else {}}
    out["source"] = source.strip("\n").splitlines(keepends=True)
    return out if kind == "markdown" else {**out, "execution_count": None, "outputs": printed or []}


def exercise_cells(book: Book, name: str, language: str, linked: Callable[[str], str]) -> list[dict[str, Any]]:
    """The task with its hints; the stub, which is judged when the cell is run; empty cells; the solution, folded."""
    one, words = exercises.find(book, name), WORDS[language]
    about = words["exercise"].format(minutes=one.minutes, difficulty=one.difficulty)
    hints = [
        f"<details>\n<summary>{box.WORDS[language]['hint'].format(i)}</summary>\n\n{hint}\n\n</details>"
        for i, hint in enumerate(one.hints[language], 1)
    ]
    task = linked("\n\n".join([f"### {one.title[language]}", plain.joined(one.question[language]), about, *hints]))
    return [
        cell("markdown", task),
        cell("code", f"%%judge {name}\n{one.stub}"),
        *[cell("code", "")] * EMPTY,
        cell("markdown", words["solution"]),
        {**cell("code", f"%%judge {name}\n{one.solution}"), "metadata": HIDDEN_ANSWER},
    ]


def judge_magic(book: Book, language: str, home: str) -> str:
    """The code of `%%judge`, which judges the cell that it begins."""
    places = {path.stem: path.relative_to(book.docs / language).as_posix() for path in book.pages(language)}
    constants = {
        "LANGUAGE": language,
        "NO_JUDGE": WORDS[language]["no_judge"].format(install=how_to_install(language), url=f"{home}softcuda/"),
        "KINDS": {kind: commands.WORDS[language][kind] for kind in commands.COLOURS},
        "PAGES": {name: published(place, home) for name, place in sorted(places.items()) if name != "index"},
    }
    return filled("judge.py", "", constants)


def or_skip(code: str) -> str:
    """A cell that may say that something is missing; the notebook then goes on with the next."""
    return f"%%or_skip\n{code}"


def with_skips(codes: list[str]) -> list[str]:
    """A program's cells; those that may be skipped, or need what such a cell gives, say so."""
    out, withheld = [], set[str]()
    for code in codes:
        skips = bool(SKIPS_AT_ONCE.search(code) or withheld & names_asked(code))
        withheld |= given_after_skip(code) if skips else set()
        out.append(or_skip(code) if skips or code.startswith("if __name__") else code)
    return out


def given_after_skip(code: str, at_once: bool = False) -> set[str]:
    """The names that a cell gives after the place where it may be skipped; at once: all of them."""
    body = ast.parse(code).body
    skips = (i for i, node in enumerate(body) if MAY_SKIP.search(ast.unparse(node)))
    first = 0 if at_once else next(skips, 0)
    return given_names("\n".join(map(ast.unparse, body[first:])))


def kernel(path: str, text: str) -> dict[str, Any]:
    """The cell of a kernel file, without the marks of its sections."""
    text = re.sub(r"^\s*// --8<--.*\n", "", text, flags=re.MULTILINE)
    return cell("code", f"%%writefile {path}\n{text}", folded=text.count("\n") > LONG_KERNEL)


def outputs(printed: str, caption: str) -> list[dict[str, Any]]:
    """What the record has of a cell, below the name of the device."""
    if not printed:
        return []
    data = {"text/markdown": [f"*{caption}*"], "text/plain": [caption]}
    return [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": f"{printed}\n".splitlines(keepends=True)},
    ]


def parts(code: str) -> list[str]:
    """The program in cells: its docstring and imports, then a cell for each definition, and the runs between them."""
    lines = [line for line in code.splitlines() if not re.match(r"\s*# --8<--", line)]
    tree = ast.parse("\n".join(lines))
    out: list[str] = []
    begin, kind = 0, None
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)]) - 1
        while first > begin and lines[first - 1].lstrip().startswith("#"):
            first -= 1  # a comment belongs to what follows
        now = isinstance(node, ast.ClassDef | ast.FunctionDef)
        if kind is not None and (now or kind):
            out.append("\n".join(lines[begin:first]))
            begin = first
        kind = now
    out.append("\n".join(lines[begin:]))
    return [part.strip("\n") for part in out if part.strip()]
