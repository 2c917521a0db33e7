#!/usr/bin/env bash
# Installs a wheel of softcuda and PyCUDA into empty environments with softcuda/install.sh, one for each Python, and runs the first
# program of softcuda's README in each, away from the repository: `softcuda check` must find its race.
#
#   tools/try_wheel.sh dist/softcuda-*.whl python3 3.13 3.14    a command, or a version that uv fetches
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: tools/try_wheel.sh WHEEL PYTHON..." >&2; exit 2; }
wheel=$(realpath -e "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^```python$/,/^```$/{//d;p};/^```$/q' "$root/softcuda/README.md" > "$work/transpose.py"
cd "$work"

fetch_python() { # VERSION -> the path of that Python, with headers, from uv
    if [ ! -x uv/bin/uv ]; then
        python3 -m venv uv
        sed -n '/^uv==/,/[^\\]$/p' "$root/requirements-site.lock" > uv.txt
        uv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement uv.txt >&2
    fi
    uv/bin/uv python install --quiet --no-bin --install-dir "$work/pythons" "$1" >&2
    UV_PYTHON_INSTALL_DIR="$work/pythons" uv/bin/uv python find --managed-python "$1"
}

for python; do
    case $python in [0-9]*) command=$(fetch_python "$python") ;; *) command=$python ;; esac
    echo "== $("$command" -c 'import platform, sys; print("Python", platform.python_version(), sys.executable)')"
    PYTHON=$command "$root/softcuda/install.sh" env "$wheel"
    status=0
    env/bin/softcuda check transpose.py > said || status=$?
    if [ $status != 1 ] || ! grep -q 'race in shared memory in kernel transpose' said; then
        cat said
        echo "tools/try_wheel.sh: softcuda check did not find the race with $command (status $status)" >&2
        exit 1
    fi
    echo "softcuda check finds the race of the README"
    rm -rf env
done
