#!/usr/bin/env bash
# Style, types and the messages of new commits, changing nothing.  `make lint` calls it; `tools/lint.sh --fix` puts the layout right.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

if [ "${1:-}" = --fix ]; then
    ruff check --fix .
    ruff format .
    git ls-files -z '*.cpp' '*.h' '*.cu' | xargs -0r clang-format -i
    exit
fi
ruff check .
ruff format --check .
git ls-files -z '*.cpp' '*.h' '*.cu' | xargs -0r clang-format --dry-run -Werror
mypy
python tools/commits.py
