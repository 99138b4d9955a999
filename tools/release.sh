#!/usr/bin/env bash
# Make a release: refuse what is not ready, run all checks, build, and try each file in an empty environment.
# It tags nothing and uploads nothing; the last lines say how.
set -euo pipefail
version=${1:-}
stated=$(.venv/bin/python -c "import isonn; print(isonn.__version__)")
refuse() { echo "release: $1" >&2; exit 2; }
[ -n "$version" ] || refuse "name a version: make release VERSION=$stated"
[ "$version" = "$stated" ] || refuse "isonn.__version__ is $stated, not $version; change src/isonn/__init__.py"
[ -z "$(git status --porcelain)" ] || refuse "the tree has changes; commit or remove them"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || refuse "tag v$version exists; choose another version"
grep -q "^## $version - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]$" CHANGELOG.md || refuse "CHANGELOG.md has no line '## $version - DATE'"
! sed -n '/^## Unreleased/,/^## [0-9]/p' CHANGELOG.md | grep -q '^- ' || refuse "CHANGELOG.md has lines below 'Unreleased'; move them to $version"
grep -q "^version: $version$" CITATION.cff || refuse "CITATION.cff names another version"

make check docs
# works FILE: install it in an empty environment and use it in an empty folder
works() (
  unset ISONN_DATA PYTHONPATH
  room=$(mktemp -d)
  trap 'rm -rf "$room"' EXIT
  .venv/bin/python -m venv "$room/venv" && "$room/venv/bin/python" -m pip install --quiet "$1" && cd "$room" &&
    venv/bin/isonn doctor && [ "$(venv/bin/isonn --version)" = "$version" ] &&
    venv/bin/isonn evaluate MUTAG --methods isonn-subgraph,size,majority &&
    venv/bin/isonn fit MUTAG --out model && venv/bin/isonn predict model MUTAG --out predictions.csv
)

rm -rf dist build/dist
.venv/bin/python -m build --outdir build/dist .
for file in build/dist/*.whl build/dist/*.tar.gz; do
  works "$file" || refuse "$file does not work in an empty environment; dist/ is left empty"
  echo "release: $(basename "$file") installs and works"
done
mv build/dist dist
echo "release: ready. Next: git tag -a v$version -m 'isonn $version', push the tag; the workflow 'publish' uploads"
