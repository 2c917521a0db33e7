"""Tooling of the book: pages, runs, records, values, charts, and the site's plugin.

`pages`, `run`, `records` and `counters` need only the standard library, Markdown, pymdown-extensions and
pytest-codeblocks, so that `python -m warpbook record` works on a bare GPU machine; nothing but `site` and
`plugin` knows MkDocs.
"""
