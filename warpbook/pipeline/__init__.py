"""One parse: a page's Markdown as a Python-Markdown extension reads it, for the site and for whoever else wants it.

    sources      preprocessor      snippets and lists made of other files (errata, tracks, …) are put in
    (fences)     superfences       each listing is collected, and drawn where it stands (source/fences.py)
    directives   block processors  {{ chart:… }}, {{ claims }}, … on a line of their own; the sources' heading
    expressions  inline processor  {{ v6.rate }}, {{ quoted: … }}
    trees        tree processors   blanks within quantities, links to the glossary
    article      postprocessor     listings get their names, notes and pairs; what stands above and below the text;
                                   typography; formulas

`extension.Warpbook` registers all of them, and every other extension that a page needs, so that a host's configuration
names one extension, and the host knows nothing. What the extension must know of the page is a `Context`, which the host
sets before it converts the page; without one the extension leaves a text alone. What the parse finds is a `Parsed`: the
page's lines, its listings, what its directives and expressions came to, what is wrong, its HTML. Tests, records and
notebooks take the listings alone, by the same formatter (source/pages.py); the Markdown export (exports/plain.py) takes
the lines with what was found.
"""
