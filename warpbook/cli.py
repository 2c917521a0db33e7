"""`python -m warpbook serve | site | record | new | check | …`. Bad input is one line and status 1."""

from __future__ import annotations

import argparse
import errno
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpbook import reads
from warpbook.book import LANGUAGES, PRIMARY, SOFTCUDA, Book, BookError, explain, here


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=".venv/bin/warpbook", description="Build, serve, record and check the book.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve both languages, and again on every edit; runs no kernel")
    serve.add_argument("--host", default="localhost", help="name or address to listen at (default: localhost)")
    serve.add_argument("--port", type=int, default=8000, help="default: 8000; 0: any that is free")
    site = commands.add_parser("site", help="build the site, strictly")
    site.add_argument("--output", type=folder, help="where: a new folder, or a site built before (default: site/)")
    offline = commands.add_parser("offline", help="the built site as an archive that is read without a server")
    offline.add_argument("site", nargs="?", type=folder, help="where it is (default: site/)")
    printed = commands.add_parser("pdf", help="the built site as a PDF in each language, printed by Chromium")
    printed.add_argument("site", nargs="?", type=folder, help="where it is (default: site/)")
    printed.add_argument("--browser", metavar="PATH", help="a Chromium (default: the one that is installed)")
    audited = commands.add_parser("audit", help="weigh and judge every page of the site in a browser")
    audited.add_argument("--site", type=folder, help="one that is built already (default: build it into site/)")
    audited.add_argument("--only", metavar="START", default="", help="pages whose address starts so")
    audited.add_argument("--quick", action="store_true", help="without Lighthouse, whose points depend on the machine")
    audited.add_argument("--update", action="store_true", help="keep what is found as the new baseline, audit.json")
    record = commands.add_parser("record", help="run pages and programs on this machine's device and keep what it said")
    record.add_argument("--only", metavar="ARTICLE", action="append", default=[], help="this article; may be repeated")
    record.add_argument("--update", action="store_true", help="run again what is fresh, too")
    record.add_argument(
        "--shard", metavar="i/n", type=shard, default=(1, 1), help="the i-th of n shares of the articles"
    )
    merge = commands.add_parser("merge", help="take newer parts of other record folders into records/")
    merge.add_argument("folders", nargs="+", type=folder, help="holding <device>/<article>.json, as records/ does")
    started = commands.add_parser("new", help="start an article: pages, program, kernel, claims, all in order")
    started.add_argument("page", metavar="TRACK/ARTICLE", help="such as foundations/hello")
    started.add_argument("--title", help="in English (default: the article's name, as a draft)")
    started.add_argument("--title-zh", metavar="TITLE", help="in Chinese")
    shown = commands.add_parser("sass", help="a kernel's source lines beside the SASS that the compiler makes of them")
    shown.add_argument("file", metavar="snippets/ARTICLE/FILE.cu")
    shown.add_argument("--kernel", required=True, metavar="NAME")
    shown.add_argument("--arch", default="sm_90", metavar="sm_90", help="default: sm_90")
    shown.add_argument(
        "-D", dest="options", metavar="NAME=VALUE", action="append", default=[], help="a macro, or maxrregcount=32"
    )
    shown.add_argument(
        "--count", metavar="WHAT", action="append", default=[], help="print only this: FFMA, registers, …"
    )
    checked = commands.add_parser("check", help="pages, records and claims, without running anything")
    checked.add_argument("--style", action="store_true", help="list words that stumble, too; they are no problems")
    follow = commands.add_parser("followed", help="note that a Chinese page follows what its English twin says now")
    follow.add_argument("pages", nargs="+", metavar="docs/zh/PAGE.md[#anchor]")
    linked = commands.add_parser("links", help="internal links of the built site; with --external, every other one too")
    linked.add_argument("site", nargs="?", type=folder, help="where it is (default: site/)")
    linked.add_argument("--external", action="store_true", help="ask other hosts for what the pages refer to")
    held = commands.add_parser("claims", help="every claim: its prediction, its goal, its gate")
    held.add_argument("--device", action="append", default=[], help="of these devices' records (default: all)")
    held.add_argument("--release", action="store_true", help="fail while anything has not been measured on a GPU")
    tried = commands.add_parser("try", help="put an exercise's stub into my/; without a name, list the exercises")
    tried.add_argument("name", nargs="?", metavar="ARTICLE/NAME")
    tried.add_argument("--lang", choices=LANGUAGES, help="default: the locale's language")
    judged = commands.add_parser("judge", help="say whether an answer is right and within budget, and if not, why")
    judged.add_argument("name", metavar="ARTICLE/NAME")
    judged.add_argument("--file", metavar="PATH", type=file, help="the answer (default: my/ARTICLE/NAME.cu, or .py)")
    judged.add_argument("--json", action="store_true", help="print the verdict as JSON, on one line")
    judged.add_argument("--lang", choices=LANGUAGES, help="default: the locale's language")
    judged.add_argument("--seed", type=seed, metavar="N", help="repeat the inputs of the verdict that has this seed")
    judged.add_argument("--watch", action="store_true", help="judge again at each save")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    with ended_by_signals():
        try:
            status = carry_out(here(), parse(arguments))
            sys.stdout.flush()
            return status
        except BookError as error:
            print(error, file=sys.stderr)
        except KeyboardInterrupt:
            print("stopped; what was finished is kept", file=sys.stderr)
            return 130
        except BrokenPipeError:  # `| head`
            drop_output()
        except OSError as error:
            drop_output()
            # Whatever else is written is written by name.
            print(explain(error, "standard output" if error.errno in WRITING else ""), file=sys.stderr)
    return 1


WRITING = (errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC)


def drop_output() -> None:
    """Let go of what is left for standard output, if that cannot be written: it would fail again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as an error does: its temporary folders and its processes go with it."""

    def end(number: int, _: object) -> None:
        for one in kinds:
            signal.signal(one, signal.SIG_IGN)  # a second one must not interrupt the tidying
        sys.exit(128 + number)

    ours = threading.current_thread() is threading.main_thread()
    kinds = [one for one in (signal.SIGTERM, signal.SIGHUP) if ours and signal.getsignal(one) is signal.SIG_DFL]
    for one in kinds:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in kinds:
            signal.signal(one, signal.SIG_DFL)


def carry_out(book: Book, options: argparse.Namespace) -> int:
    if options.command == "serve":
        from warpbook.site import preview

        preview.serve(book, options.host, options.port)
    elif options.command == "site":
        from warpbook.site import builder

        start = time.monotonic()
        output = builder.build(book, options.output or book.root / "site")
        pages = sum(1 for _ in output.rglob("index.html"))
        print(f"built {book.relative(output)}/: {pages} pages in {time.monotonic() - start:.1f} s")
        from warpbook.check.checks import waiting
        from warpbook.check.kept import Kept

        print("".join(f"{line}\n" for line in waiting(book, [PRIMARY], Kept(book))), end="")
    elif options.command == "offline":
        return offline_site(book, options.site or book.root / "site")
    elif options.command == "pdf":
        return pdf(book, options.site or book.root / "site", options.browser)
    elif options.command == "audit":
        return audit(book, options)
    elif options.command == "record":
        from warpbook.records.recorder import record as run

        return 1 if run(book, options.only, options.update, shard=options.shard) else 0
    elif options.command == "merge":
        from warpbook.records.recorder import merge as take_in

        print("\n".join(take_in(book, options.folders)))
    elif options.command == "new":
        new(book, options.page, options.title, options.title_zh)
    elif options.command == "followed":
        from warpbook.source import translation

        for target in options.pages:
            marked = [section.anchor for section in translation.mark(book, target)]
            print(f"{target}: {', '.join(marked) or 'nothing had changed'}")
    elif options.command == "links":
        return links(book, options.site or book.root / "site", options.external)
    elif options.command == "sass":
        sass(book, options)
    elif options.command in ("try", "judge"):
        return exercise(book, options)
    elif options.command == "claims":
        return claims(book, options.device, options.release)
    else:
        return check(book, options.style)
    return 0


def exercise(book: Book, options: argparse.Namespace) -> int:
    """0: right, or put into my/; 1: not right; 2: called wrongly."""
    from warpbook.exercises import commands

    language = commands.language_of(options.lang)
    try:
        if options.command == "try":
            return commands.try_one(book, options.name, language)
        return commands.judge_one(book, options.name, options.file, options.json, language, options.watch, options.seed)
    except BookError as error:
        print(error, file=sys.stderr)
        return 2


def new(book: Book, page: str, title: str | None, title_zh: str | None) -> None:
    from warpbook.new import article

    asked = article.read(page, title, title_zh)
    article.check(book, asked)
    print("running the new article on softcuda …", flush=True)
    for path in article.create(book, asked):
        print(f"wrote {path}")
    print(
        f"look at it:     make serve, then http://localhost:8000/{asked.track}/{asked.name}/\n"
        f"after a change: make record ONLY={asked.name}, then .venv/bin/warpbook check\n"
        "its numbers wait for a GPU; you may commit it without them"
    )


def sass(book: Book, options: argparse.Namespace) -> None:
    from warpbook.blocks import sass_view
    from warpbook.records import sass

    file = options.file.removeprefix("./").removeprefix("snippets/")
    one = sass.Wanted(file, options.kernel, sass.options_of([*options.options, f"arch={options.arch}"]))
    if not options.count:
        print(sass_view.text(book, one))
        return
    entry = sass.disassemble(book, one)
    for what in options.count:
        print(f"{what} {sass.count(entry, what)}")


def offline_site(book: Book, site: Path) -> int:
    from warpbook.blocks import ends
    from warpbook.exports import downloads, offline

    archive = offline.pack(site)
    downloads.show(site)
    print(f"{book.relative(archive)}: {ends.size(archive)}")
    return 0


def pdf(book: Book, site: Path, browser: str | None) -> int:
    from warpbook.blocks import ends
    from warpbook.exports import downloads, pdf

    for language in LANGUAGES:
        start = time.monotonic()
        file, pages = pdf.write(book, site, language, browser)
        print(
            f"{book.relative(file)}: {pages} pages, {ends.size(file)}, {time.monotonic() - start:.0f} s",
            flush=True,
        )
    downloads.show(site)
    return 0


def audit(book: Book, options: argparse.Namespace) -> int:
    from warpbook.check import audit
    from warpbook.exports import downloads
    from warpbook.site import builder

    place = options.site or builder.build(book, book.root / "site")
    downloads.check_built(place)
    wrong = audit.audit(book, place, options.only, options.quick, options.update)
    summary = f"{len(wrong)} figures miss a target or are worse than before" if wrong else "all targets are met"
    print("\n".join([*wrong, summary]))
    return 1 if wrong else 0


def folder(text: str) -> Path:
    if not text:
        raise BookError('"": no folder is given; name one, or leave the argument out')
    return Path(text)


def file(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError('"": no file is given; name one, or leave the argument out')
    return Path(text)


def seed(text: str) -> int:
    if not re.fullmatch("[0-9]{1,40}", text):
        raise argparse.ArgumentTypeError(f'"{text}": give the whole number that a verdict has as its seed')
    return int(text)


def shard(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    return int(i), int(n)


@reads.settled()
def claims(book: Book, devices: list[str], release: bool) -> int:
    from warpbook.records import claims, records

    known = records.devices(book)
    for device in devices:
        if device not in known:
            raise BookError(f'no records of "{device}"; there are: {", ".join(known)}')
    found = claims.everything(book, devices or known)
    print(claims.table(found))
    missing = claims.unreleased(book) if release else []
    print("".join(f"{line}\n" for line in missing), end="")
    return 1 if missing or any(one.falls_short for one in found) else 0


def links(book: Book, site: Path, outside: bool) -> int:
    from warpbook.check import links
    from warpbook.exports import downloads

    downloads.check_built(site)
    found = links.pages(site)
    wrong = links.internal(site, found) + (links.broken(found) if outside else [])
    print("\n".join([*wrong, f"{len(found)} pages, {len(wrong)} broken links"]))
    return 1 if wrong else 0


@reads.settled()
def check(book: Book, with_style: bool) -> int:
    from warpbook.check import style
    from warpbook.check.checks import problems, waiting
    from warpbook.check.kept import Kept
    from warpbook.exercises import selftests
    from warpbook.source import comments

    kept = Kept(book)
    found = problems(book, [SOFTCUDA, PRIMARY], kept)
    left = kept.find("left to do", lambda: comments.left(book) + selftests.left(book))
    for line in [*found, *waiting(book, [PRIMARY], kept), *left]:
        print(line)
    kept.write()
    if with_style:
        print("\n".join(style.report(book)))
    print(f"{len(found)} problems" if found else "pages, records and claims are in order")
    return 1 if found else 0
