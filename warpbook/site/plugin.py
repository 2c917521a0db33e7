"""MkDocs hooks: files, navigation, the search index, addresses in every language, what Material's templates lack.

What a page means is none of their business: warpbook.pipeline reads it.
"""

from __future__ import annotations

import html
import logging
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage
from mkdocs.utils import get_relative_url

from warpbook import tools
from warpbook.blocks import ends
from warpbook.book import LANGUAGES, Book, BookError, write_text
from warpbook.exports import exports, plain
from warpbook.pipeline import typography
from warpbook.pipeline.parsed import CURRENT, Context
from warpbook.records.values import Values
from warpbook.site import developers, feed, labs, minify, policy, prune, search, sitemap, style, workbench
from warpbook.source import allowed_html, describe, navigation
from warpbook.source.pages import Page

log = logging.getLogger("mkdocs.warpbook")


class State:
    """What one build of one language knows."""

    def __init__(self, config: MkDocsConfig) -> None:
        self.book = Book(Path(config.config_file_path).absolute().parent)
        self.language = str(config.theme["language"])
        self.values = Values(self.book)
        self.plain: dict[Path, tuple[str, str]] = {}  # each page as Markdown, without folds and with them
        self.documents: dict[str, list[dict[str, Any]]] = {}  # what is searched, by the page's source


state: State


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    global state
    state = State(config)
    labs.use_templates()
    return config


@event_priority(50)  # before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The style sheet, the feed, KaTeX's fonts, the records that numbers link to, a lab page a program."""
    for problem in navigation.problems(state.book, state.language):
        log.warning(problem)
    if state.language == LANGUAGES[0] and config.plugins["material/search"].config.enabled:  # once for a whole site
        for problem in allowed_html.source_problems(state.book):
            log.warning(problem)
    parts = (f"{style.FOLDER}/", f"{search.FOLDER}/", f"{workbench.FOLDER.removeprefix('theme/')}/")
    for file in [file for file in files if file.src_uri.startswith(parts) or style.is_theirs(file.src_uri)]:
        files.remove(file)
    prune.trim(files, config.plugins["material/search"].config.lang)
    materials = next(name for file in files if search.MATERIALS.search(name := file.src_uri))
    files.append(File.generated(config, search.WORKER, content=search.worker(state.book, Path(materials).name)))
    files.append(File.generated(config, style.ADDRESS, content=style.sheet(state.book)))
    files.append(File.generated(config, feed.NAME, content=feed.feed(state.book, state.language, home(config))))
    katex = tools.modules(state.book) / "katex" / "dist"
    for path in sorted((katex / "fonts").glob("*.woff2")):
        files.append(File.generated(config, f"{style.FONTS}/{path.name}", abs_src_path=str(path)))
    for path in sorted([*state.book.records.glob("*/*.json"), *state.book.records.glob("*/sass/*.json")]):
        files.append(File.generated(config, state.book.relative(path), abs_src_path=str(path)))
    developers.add(files, state.book, state.language, config)
    for article in state.book.articles():
        for path in state.book.programs(article):
            address = ends.address(state.book, path)
            files.append(File(address, str(state.book.root), config.site_dir, config.use_directory_urls))
    return files


def on_pre_page(page: MkDocsPage, config: MkDocsConfig, files: Files) -> MkDocsPage:
    """mkdocs-jupyter, which came before, has put its own `render` into a lab page."""
    name = page.file.src_uri
    if name.startswith(labs.PREFIX):
        make = page.render

        def made() -> str:
            make(config, files)
            return page.content or ""

        def render(config: MkDocsConfig, files: Files) -> None:
            page.content = labs.kept(state.book, name, made)

        page.render = render  # type: ignore[method-assign]
    return page


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Previous and next lead from article to article: a track's own page is left out, and leads to its first."""
    articles = [page for page in nav.pages if not page.is_index or page.is_homepage]
    for one, other in pairwise(articles):
        one.next_page, other.previous_page = other, one
    developers.arrange(nav, state.book, state.language)
    return nav


def root_of(page: MkDocsPage) -> str:
    """From a page to its language's root: `../../`."""
    return get_relative_url(".", page.url or ".").removesuffix("/") + "/"


def on_page_markdown(markdown: str, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
    page.meta["search"] = {"exclude": True}  # from Material's index; on_page_content makes ours
    CURRENT.set(None)
    if page.file.src_uri.startswith(labs.PREFIX):
        page.meta["title"] = page.file.src_uri.removeprefix(labs.PREFIX)
        page.meta["hide"] = ["toc"]  # it has no headings; the code is as wide as the page
        page.meta["description"] = html.escape(describe.lab(state.book, page.file.src_uri, state.language))
        return markdown
    if developers.is_one(page.file.src_uri):
        page.meta["description"] = html.escape(str(page.meta.get("description", "")))
        return markdown
    source = Page(state.book, Path(str(page.file.abs_src_path)))
    try:
        source.blocks  # noqa: B018  # says what is wrong with a snippet or a fence, and where
    except BookError as error:
        log.warning(str(error))
        return f"!!! failure\n    {html.escape(str(error))}\n"
    CURRENT.set(Context(source, state.language, state.values, root_of(page), page.canonical_url or ""))
    return markdown or "\n"  # what is read is the file, by the extension


def on_page_content(content: str, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
    name = page.file.src_uri
    if name.startswith(labs.PREFIX):
        problems: list[str] = []
        made = labs.lab(state.book, name, content, state.language, root_of(page), problems)
        for problem in problems:
            log.warning(problem)
        return typography.tidy(made, state.language)
    if developers.is_one(name):
        content = typography.tidy(content, state.language)
        if config.plugins["material/search"].config.enabled:
            stem = name.removesuffix(".md")
            state.documents[name] = search.documents(state.book, state.language, stem, page.url or "", content)
        return content
    context = CURRENT.get()
    if not context:
        return content
    for problem in context.parsed.problems:
        log.warning(problem)
    text = plain.markdown(context.parsed)
    state.plain[context.page.path] = text, plain.markdown(context.parsed, folds=True)
    page.meta["description"] = html.escape(describe.page(context.page, state.language, text))
    if config.plugins["material/search"].config.enabled:
        stem = name.removesuffix(".md")
        found = search.documents(state.book, state.language, stem, page.url or "", context.parsed.searched)
        state.documents[name] = found
    return content + foot(context)


def foot(context: Context) -> str:
    """What stands below an article. It depends on other articles, and `warpbook check` reads a page by itself: so it is
    no part of the page as that reads it."""
    try:
        made = ends.foot(context.page, context.language, context.root)
    except BookError as error:
        log.warning(str(error))
        return ""
    return typography.tidy(made, context.language)


def on_page_context(context: Any, page: MkDocsPage, config: MkDocsConfig, nav: Any) -> Any:
    """Where the same page is in each language, for the switcher and for hreflang."""
    prefixes = {alternate["lang"]: alternate["path"] for alternate in config.extra["alternate"]}
    root = "../" * prefixes[state.language].count("/")  # from this language's root to the site's
    here = get_relative_url(".", page.url or ".").rstrip("/") + "/"
    context["languages"] = [
        {"lang": one["lang"], "name": one["name"], "url": here + root + one["path"] + twin(one["lang"], page)}
        for one in config.extra["alternate"]
    ]
    context["alternates"] = alternates(config, page)
    return context


def on_template_context(context: Any, template_name: str, config: MkDocsConfig) -> Any:
    if template_name == "sitemap.xml":
        changed = sitemap.changes(state.book.root)
        context["entries"] = [
            {
                "address": file.page.canonical_url,
                "modified": changed.get(state.book.relative(Path(str(file.abs_src_path)))),
                "languages": alternates(config, file.page),
            }
            for file in context["pages"]
            if file.page
        ]
    return context


def alternates(config: MkDocsConfig, page: MkDocsPage) -> list[dict[str, str]]:
    found = {one["lang"]: absolute(config, one["path"]) + twin(one["lang"], page) for one in config.extra["alternate"]}
    source = Path(page.file.src_uri)
    languages = [one for one in config.extra["alternate"] if is_in(one["lang"], source)]
    return sitemap.alternates(languages or config.extra["alternate"], found)


def twin(language: str, page: MkDocsPage) -> str:
    """The page's address in another language, from that language's root: its home where it has no such page."""
    return (page.url or "") if is_in(language, Path(page.file.src_uri)) else ""


def is_in(language: str, source: Path) -> bool:
    if developers.is_one(source.as_posix()):
        return language == developers.LANGUAGE
    return source.parts[0] == labs.PREFIX.strip("/") or (state.book.docs / language / source).exists()


def absolute(config: MkDocsConfig, path: str) -> str:
    """The address of the language whose pages lie under `path`."""
    site = (config.site_url or "").removesuffix("/")
    return f"{site if state.language == 'en' else site.removesuffix(f'/{state.language}')}/{path}"


def named(output: str) -> str:
    """Lists of tracks in the navigation, with a name each: Material's label for one with a page of its own is empty."""
    title = r'([^>]*>\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>)\s*([^<]+?)\s*<'
    return re.sub(rf'aria-labelledby="__nav_\d+_label"{title}', r'aria-label="\2"\1\2<', output)


def on_post_page(output: str, page: MkDocsPage, config: MkDocsConfig) -> str:
    """Mend what Material's templates write and no block of theirs lets us change.

    The head links each language's home page, where ours name this page (see theme/main.html); neither the search dialog
    nor a track's list of pages has a name; the search worker stands behind ours; and some attributes are no HTML.
    """
    called = {"en": "Search", "zh": "搜索"}[state.language]
    output = output.replace(
        'data-md-component="search" role="dialog"', f'data-md-component="search" role="dialog" aria-label="{called}"'
    )
    output = named(re.sub(r'<link rel="alternate" href="[^"]*" hreflang="[^"]*">\s*', "", output))
    output = minify.page(valid(search.place(output)))
    theme = state.book.root / "theme"
    if found := policy.refused(output, theme):
        name = page.file.src_uri
        source = Path(str(page.file.abs_src_path))
        lines = allowed_html.prose_of(Page(state.book, source)) if source.suffix == ".md" else []
        for problem in allowed_html.located(found, lines, allowed_html.sources(state.book, state.language)):
            log.warning(f"{name}: {problem}" if problem in {one.says for one in found} else problem)
    return (
        output if config.extra.get("serving") else policy.with_policy(output, theme)
    )  # live reload is an inline script


def valid(output: str) -> str:
    """HTML as the standard has it: a checkbox is completed by nothing, but the form that it belongs to may say so."""
    output = re.sub(r'(type="checkbox" id="__\w+") autocomplete="off"', r'\1 form="__toggles"', output)
    output = output.replace("<input", '<form id="__toggles" autocomplete="off"></form><input', 1)
    return output.replace(' tabindex=""', "")


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """404.html is no page."""
    output = valid(search.place(output))
    if config.extra.get("serving") or not template_name.endswith(".html"):
        return output
    return policy.with_policy(output, state.book.root / "theme")


@event_priority(-50)  # after Material has written its index
def on_post_build(config: MkDocsConfig) -> None:
    exports.write(state.book, state.language, state.plain, Path(config.site_dir), home(config))
    if state.language == "en":
        write_text(Path(config.site_dir, "robots.txt"), sitemap.robots(home(config), config.extra["alternate"]))
    search.write(Path(config.site_dir), [one for found in state.documents.values() for one in found])


def home(config: MkDocsConfig) -> str:
    return (config.site_url or "/").rstrip("/") + "/"
