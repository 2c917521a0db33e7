"""The skin of the host, MkDocs with Material: hooks, previews, lab pages, search, style sheets."""
