#!/usr/bin/env bash
# Run the suite without torch on every Python from 3.10 on that is on the PATH, each in an environment of its own.
# Tests that need a missing extra skip themselves. Versions that are not here are not claimed as tested.
set -uo pipefail
if command -v pyenv >/dev/null; then PYENV_VERSION=$(pyenv versions --bare | paste -sd:) && export PYENV_VERSION; fi
tested="" failed=""
for minor in 10 11 12 13 14; do
  python=$(command -v "python3.$minor") && "$python" -c "" 2>/dev/null || continue
  room=.venv/all/3.$minor
  [ -x "$room/bin/python" ] || "$python" -m venv "$room"
  if "$room/bin/python" -m pip install --quiet -c constraints.txt -e ".[report,molecules]" pytest pytest-xdist hypothesis networkx pandas &&
    "$room/bin/python" -m pytest -q -n auto --ignore=tests/browser tests/subgraphs tests/graphs tests/molecules tests/explain \
      tests/report tests/cli/test_doctor.py tests/test_without_torch.py; then
    tested="$tested 3.$minor"
  else
    failed="$failed 3.$minor"
  fi
done
echo "without torch, passed:${tested:- none}; failed:${failed:- none}"
[ -z "$failed" ]
