"""Tooling of the book, in rooms, each of which imports only rooms above it:

source → run → records → blocks → pipeline → exports → site → check → cli.

`source`, `run` and `records` need only the standard library, Markdown, pymdown-extensions and pytest-codeblocks, so
that `python -m warpbook record` works on a bare GPU machine; nothing but `site` and `check` knows MkDocs.
"""
