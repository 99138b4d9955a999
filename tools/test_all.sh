#!/usr/bin/env bash
# On every Python from 3.10 on that is here, in environments of their own: the suite without torch on the newest
# dependencies, then the wheel alone. On the oldest Python also the suite on the lowest dependencies that are allowed.
# What needs torch is skipped; versions that are not here are not claimed as tested.
# One version only: tools/test_all.sh 3.12
set -uo pipefail
rooms=.venv/all passed="" failed="" WARNINGS=""
if command -v pyenv >/dev/null; then PYENV_VERSION=$(pyenv versions --bare | paste -sd:) && export PYENV_VERSION; fi

# suite ROOM PYTHON [PIP OPTIONS]: install into ROOM and run the tests
suite() {
  local room=$1 python=$2
  [ -x "$room/bin/python" ] || "$python" -m venv "$room" || return 1
  "$room/bin/python" -m pip install --quiet --upgrade --upgrade-strategy eager "${@:3}" \
    -e ".[report,molecules]" pytest pytest-xdist hypothesis networkx pandas &&
    "$room/bin/python" -m pytest -q -n "${JOBS:-2}" --ignore=tests/browser $WARNINGS
}

# wheel ROOM PYTHON: the wheel in an empty environment, in an empty folder
wheel() {
  local room=$1 file
  file=$(realpath "$rooms"/dist/*.whl)
  rm -rf "$room" && "$2" -m venv "$room/venv" && "$room/venv/bin/python" -m pip install --quiet "$file" &&
    (cd "$room" && env -u ISONN_DATA venv/bin/isonn doctor && env -u ISONN_DATA venv/bin/isonn evaluate MUTAG --seeds 1)
}

# tell NAME COMMAND...: run, and remember how it ended
tell() {
  if "${@:2}"; then passed="$passed, $1"; else failed="$failed, $1"; fi
}

rm -rf "$rooms/dist"
.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$rooms/dist" . || exit 1
oldest=""
for version in ${1:-3.10 3.11 3.12 3.13 3.14}; do
  python=$(command -v "python$version") && "$python" -c "" 2>/dev/null || continue
  tell "suite on $version" suite "$rooms/$version" "$python"
  tell "wheel on $version" wheel "$rooms/wheel-$version" "$python"
  if [ -z "$oldest" ]; then
    oldest=$version
    .venv/bin/python tools/lowest.py >"$rooms/lowest.txt"
    # old libraries use what newer ones call deprecated
    WARNINGS="-W ignore::DeprecationWarning -W ignore::FutureWarning"
    tell "suite on $version with the lowest dependencies" suite "$rooms/lowest" "$python" -c "$rooms/lowest.txt"
    WARNINGS=""
  fi
done
echo "passed: ${passed#, }"
[ -z "$failed" ] || { echo "failed: ${failed#, }"; exit 1; }
