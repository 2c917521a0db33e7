"""`python -m warpbook.references`: the book's graph of citations, anew (warpbook/source/references.py)."""

import sys

from warpbook.source.references import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
