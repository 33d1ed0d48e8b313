#!/usr/bin/env bash
# Makes .venv with planaris in it, built here or, without groups, from a wheel under dist/.
# Usage: tools/setup.sh [GROUP…]
# Says in one line what is missing from the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
stop() { echo "planaris: $*" >&2; exit 1; }

python=${PYTHON:-python3}
command -v "$python" >/dev/null || stop "no '$python' found: install Python 3.11 or newer, or set PYTHON=/path/to/python"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
  stop "'$python' does not run: install Python 3.11 or newer, or set PYTHON=/path/to/python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  stop "Python 3.11 or newer is needed, '$python' is $version: set PYTHON=/path/to/python3.11"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
  stop "'$python' has no venv module: install it (Debian: apt-get install python3-venv)"
# To run planaris, not to change or test it, a wheel under dist/ that is newer than the sources is enough.
release=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
wheels=(dist/planaris-"$release"-*.whl)
if [ $# -gt 0 ] || [ ! -e "${wheels[0]}" ] ||
  [ -n "$(find src cpp CMakeLists.txt pyproject.toml -newer "${wheels[0]}" -type f -not -name '*.pyc' -print -quit)" ]; then
  wheels=()
fi
need_compiler() {
  cxx=${CXX:-$(command -v c++ || command -v g++ || command -v clang++ || true)}
  [ -n "$cxx" ] && command -v "${cxx%% *}" >/dev/null ||
    stop "no C++ compiler found: install g++ or clang (Debian: apt-get install g++), or set CXX"
  echo '#include <span>
int main() { int a[1] = {0}; return std::span<int>(a)[0]; }' | $cxx -std=c++20 -x c++ - -o /dev/null 2>/dev/null ||
    stop "'$cxx' cannot compile C++20: install g++ 11 or clang 14 or newer, or set CXX"
}
[ ${#wheels[@]} -gt 0 ] || need_compiler

[ -x .venv/bin/python ] || { echo "planaris: making .venv ($python $version)"; "$python" -m venv .venv; }
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
.venv/bin/python -c 'import pip, sys; sys.exit(int(pip.__version__.split(".")[0]) < 25)' || pip install -q --upgrade pip

if [ ${#wheels[@]} -gt 0 ]; then
  if pip install -q --force-reinstall --no-deps --no-index --find-links dist "planaris==$release" 2>/dev/null; then
    echo "planaris: installing the wheel of $release from dist/, and what it needs"
    pip install -q "planaris[plot]==$release"
    exit
  fi
  need_compiler  # the wheel is for another Python or system
fi
groups=(--group build)
for group in "$@"; do groups+=(--group "$group"); done
echo "planaris: installing what it needs"
pip install -q "${groups[@]}"
echo "planaris: building the core (a minute or two)"
pip install -q --no-build-isolation -e '.[plot]'

# Browser tests need a real one; without it they are skipped.
case " $* " in
  *" test "*)
    if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
      if [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ]; then
        echo "planaris: installing chromium for the browser tests"
        install="apt-get install -y -qq --no-install-recommends chromium"
        { $install || { apt-get update -qq && $install; }; } >/dev/null 2>&1 || true
      fi
      command -v chromium >/dev/null ||
        echo "planaris: no chromium, so browser tests are skipped (Debian: apt-get install chromium)"
    fi
    ;;
esac
