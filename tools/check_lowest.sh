#!/usr/bin/env bash
# Runs the tests with the least version of every dependency that pyproject.toml promises, in an
# environment of its own. Usage: tools/check_lowest.sh [pytest options]; TESTS names some
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check install -q --upgrade pip uv
pip() { VIRTUAL_ENV="$work/venv" "$work/venv/bin/uv" pip "$@"; }
pip install -q --group build
# torch as everywhere, from where pip finds it; all others as old as promised, networkx too, which torch brings.
"$work/venv/bin/python" -m pip --disable-pip-version-check install -q "$(grep -o 'torch==[0-9.]*' pyproject.toml)"
pip install -q --resolution lowest-direct -P networkx --group test -r pyproject.toml --all-extras
pip install -q --no-build-isolation --no-deps .
pip list
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider ${TESTS:-tests} "$@"
