#!/usr/bin/env bash
# Builds the source archive and, from it, a wheel; tries the wheel in an empty environment without
# extras, then with all of them, and runs the tests on it; in a folder outside the source tree and
# with no compiler on the PATH. Usage: tools/check_wheel.sh [pytest options]
# PYTHON builds and runs the tests; PYTHONS names more interpreters to try the wheel with, e.g.
# PYTHON=python3.12 PYTHONS="python3.13 python3.14" for the one of the stable ABI. SMOKE=1 leaves the
# tests out. DIST=folder keeps the archive and the wheel there, and takes them from there the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
# The program itself, not a shim of pyenv's, which needs more of the PATH than there is below.
program() { "$1" -c 'import sys; print(sys.executable)'; }
python=$(program "${PYTHON:-python3}")
others=()
for other in ${PYTHONS:-}; do others+=("$(program "$other")"); done
work=$(mktemp -d)
trap "'$(command -v rm)' -rf '$work'" EXIT
pip() { python -m pip --disable-pip-version-check "$@"; }

dist=$(mkdir -p "${DIST:-$work/dist}" && cd "${DIST:-$work/dist}" && pwd)
wheel=$(echo "$dist"/planaris-*.whl)
if [ ! -e "$wheel" ]; then
  echo "planaris: building the source archive and a wheel from it"
  "$python" -m venv "$work/build"
  (
    export PATH="$work/build/bin:$PATH"
    pip install -q --upgrade pip build
    python -m build -o "$dist" . > "$work/build.log" || { cat "$work/build.log"; exit 1; }
    # Packages that are published as source only: of the tests, on most platforms, and of an extra.
    pip wheel -q --no-deps -w "$dist" planarity "$(grep -o 'sinter>=[0-9.]*' pyproject.toml | head -n 1)"
  )
  wheel=$(echo "$dist"/planaris-*.whl)
fi
sdist=$(echo "$dist"/planaris-*.tar.gz)
tar -tzf "$sdist" > "$work/archive.txt"
for part in LICENSE CITATION.cff SECURITY.md LICENSES/ cpp/ tests/ docs/stability.md; do
  grep -q "^[^/]*/$part" "$work/archive.txt" || { echo "planaris: the archive lacks $part" >&2; exit 1; }
done
"$python" - "$wheel" <<'PY'
import re, sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
wrong = [name for name in names if re.search(r"\.(cpp|hpp|a)$|/nanobind/", name)]
sys.exit(f"planaris: the wheel holds build files: {wrong}" if wrong else 0)
PY

echo "planaris: installing $(basename "$wheel") without a compiler"
mkdir "$work/bin" "$work/run"
for tool in env bash sh uname cat dirname; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
export PATH="$work/bin"
unset CC CXX
for tool in cc c++ gcc g++ clang clang++ cmake ninja; do
  if command -v $tool >/dev/null; then echo "planaris: '$tool' is still on the PATH" >&2; exit 1; fi
done
smoke=$PWD/tools/smoke.py
for each in "$python" "${others[@]}"; do
  "$each" -m venv --clear "$work/venv"
  (
    export PATH="$work/venv/bin:$PATH"
    pip install -q --upgrade pip
    pip install -q --only-binary :all: "$wheel"
    cd "$work/run"
    python -c 'import planaris, sys; sys.exit("site-packages" not in planaris.__file__)'
    python "$smoke"
    # torch is large, and for some interpreters there is none
    extras=(plot dimod learn image qec distributed parquet)
    pip install -q --only-binary :all: --find-links "$dist" "$wheel[$(IFS=,; echo "${extras[*]}")]"
    python "$smoke" "${extras[@]}"
  )
done
if [ -n "${SMOKE:-}" ]; then exit; fi

echo "planaris: running the tests on it"
"$python" -m venv --clear "$work/venv"
export PATH="$work/venv/bin:$PATH"
pip install -q --upgrade pip
pip install -q --only-binary :all: --find-links "$dist" --group pyproject.toml:test "$wheel"
"$work/venv/bin/python" - "$work" <<'PY'
import pathlib, shutil, sys
work = pathlib.Path(sys.argv[1])
shutil.copytree("tests", work / "run" / "tests", ignore=shutil.ignore_patterns("__pycache__"))
shutil.copy("pyproject.toml", work / "run")
PY
cd "$work/run"
python -m pytest -q -p no:cacheprovider tests --pyargs planaris "$@"
