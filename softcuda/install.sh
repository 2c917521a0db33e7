#!/bin/sh
# softcuda and PyCUDA into a Python environment, which is made if it is not there.
#
#   softcuda/install.sh [FOLDER [WHEEL]]    FOLDER: .venv; WHEEL: a wheel of softcuda, in place of these sources
#   PYTHON=python3.13 softcuda/install.sh   with another Python (3.11 or newer)
set -eu

case ${1:-} in -*) echo "usage: softcuda/install.sh [FOLDER [WHEEL]]" >&2; exit 2 ;; esac
environment=${1:-.venv}
softcuda=${2:-$(cd "$(dirname "$0")" && pwd)}

[ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$softcuda"
"$environment/bin/softcuda" install-pycuda
echo "softcuda: ready; . $environment/bin/activate"
