#!/usr/bin/env bash
# On every Python from 3.10 on that is here, in environments of their own: the suite without torch on the newest
# dependencies, then the wheel alone. On 3.10, the only Python that has them, also the suite on the lowest dependencies.
# What needs torch is skipped. For a Python that is not here only wheels are looked for: that is no test of it.
# What passed is not run again until a file of the project changes.
#   tools/test_all.sh 3.12                     one version only
#   JOBS=1 tools/test_all.sh 3.13              one process
#   TESTS=tests/cli tools/test_all.sh 3.10     some of the tests
set -uo pipefail
rooms=.venv/all passed="" failed=""
if command -v pyenv >/dev/null; then PYENV_VERSION=$(pyenv versions --bare | paste -sd:) && export PYENV_VERSION; fi
mkdir -p "$rooms/passed"

# suite ROOM PYTHON [PIP OPTIONS]: install into ROOM and run the tests
suite() {
  local room=$1 python=$2 warnings=()
  # old libraries use what newer ones call deprecated, and old RDKit warns when it is imported
  [ "$room" != "$rooms/lowest" ] ||
    warnings=(-W ignore::DeprecationWarning -W ignore::FutureWarning -W ignore:to-Python:RuntimeWarning)
  [ -x "$room/bin/python" ] || "$python" -m venv "$room" || return 1
  "$room/bin/python" -m pip install --quiet --upgrade --upgrade-strategy eager "${@:3}" \
    -e ".[report,molecules,excel,serve]" pytest pytest-xdist hypothesis networkx pandas httpx &&
    "$room/bin/python" -m pytest -q -p no:cacheprovider -n "${JOBS:-2}" --dist worksteal --ignore=tests/browser \
      "${warnings[@]}" ${TESTS:-}
}

# wheel ROOM PYTHON: the wheel in an empty environment, in an empty folder
wheel() {
  local room=$1 file
  file=$(realpath "$rooms"/dist/*.whl)
  rm -rf "$room" && "$2" -m venv "$room/venv" && "$room/venv/bin/python" -m pip install --quiet "$file" &&
    (cd "$room" && env -u ISONN_DATA venv/bin/isonn doctor && env -u ISONN_DATA venv/bin/isonn evaluate MUTAG --seeds 1)
}

# resolves VERSION: whether every dependency has a wheel for a Python that is not here
resolves() {
  .venv/bin/python -m pip install --quiet --dry-run --ignore-installed --target "$rooms/none" --python-version "$1" \
    --only-binary=:all: "$(realpath "$rooms"/dist/*.whl)[report,molecules]"
}

# tell NAME COMMAND...: run, and remember how it ended
tell() {
  local mark="$rooms/passed/$1"
  if [ -z "${TESTS:-}" ] && [ "$(cat "$mark" 2>/dev/null)" = "$state" ]; then
    passed="$passed, $1 (before)"
  elif echo "== $1" && "${@:2}"; then
    passed="$passed, $1${TESTS:+ ($TESTS only)}"
    [ -n "${TESTS:-}" ] || echo "$state" >"$mark"
  else
    failed="$failed, $1"
  fi
}

# what the project is made of, committed or not
state=$({ git rev-parse HEAD; git diff HEAD; git ls-files --others --exclude-standard; } | sha256sum)
here=$(for version in 3.10 3.11 3.12 3.13 3.14; do "python$version" -c "" 2>/dev/null && echo "$version"; done)
rm -rf "$rooms/dist" build/lib  # or modules that were removed since would be in the wheel
.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$rooms/dist" . || exit 1
for version in ${1:-3.10 3.11 3.12 3.13 3.14}; do
  if ! grep -qx "$version" <<<"$here"; then
    tell "wheels for $version, which is not here" resolves "$version"
    continue
  fi
  tell "suite on $version" suite "$rooms/$version" "python$version"
  tell "wheel on $version" wheel "$rooms/wheel-$version" "python$version"
  if [ "$version" = 3.10 ]; then
    "$rooms/$version/bin/python" tools/lowest.py >"$rooms/lowest.txt" || exit 1
    tell "suite on $version with the lowest dependencies" suite "$rooms/lowest" "python$version" -c "$rooms/lowest.txt"
  fi
done
echo "passed: ${passed#, }"
[ -z "$failed" ] || { echo "failed: ${failed#, }"; exit 1; }
