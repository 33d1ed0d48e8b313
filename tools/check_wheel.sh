#!/usr/bin/env bash
# Builds a wheel and runs the tests on it in a clean virtual environment, in a folder outside the
# source tree, with no compiler on the PATH. Usage: tools/check_wheel.sh [pytest options]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap "'$(command -v rm)' -rf '$work'" EXIT

echo "planaris: building the wheel"
.venv/bin/python -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation -w "$work/dist" .
wheel=$(echo "$work"/dist/planaris-*.whl)
# The one package of the tests that is published as source only, on most platforms.
.venv/bin/python -m pip --disable-pip-version-check wheel -q --no-deps -w "$work/dist" planarity
if unzip -l "$wheel" | grep -E '\.(cpp|hpp|a)$|/nanobind/'; then
  echo "planaris: the wheel holds build files" >&2; exit 1
fi

echo "planaris: installing $(basename "$wheel") without a compiler"
"$python" -m venv "$work/venv"
mkdir "$work/bin"
for tool in env bash sh uname cat dirname; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
export PATH="$work/venv/bin:$work/bin"
unset CC CXX
for tool in cc c++ gcc g++ clang clang++ cmake ninja; do
  if command -v $tool >/dev/null; then echo "planaris: '$tool' is still on the PATH" >&2; exit 1; fi
done
python -m pip --disable-pip-version-check install -q --upgrade pip
python -m pip --disable-pip-version-check install -q --only-binary :all: --find-links "$work/dist" \
  --group pyproject.toml:test "$wheel"

echo "planaris: running the tests on it"
"$work/venv/bin/python" - "$work" <<'PY'
import pathlib, shutil, sys
work = pathlib.Path(sys.argv[1])
shutil.copytree("tests", work / "run" / "tests", ignore=shutil.ignore_patterns("__pycache__"))
shutil.copy("pyproject.toml", work / "run")
PY
cd "$work/run"
python -c 'import planaris, sys; sys.exit("site-packages" not in planaris.__file__)'
python -m pytest -q -p no:cacheprovider tests --pyargs planaris "$@"
