# The two commands of the README are `make demo` and `make test`; both set up .venv when it is missing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check lint bench format clean

demo: $(READY)
	$(BIN)/isonn evaluate MUTAG --out runs/demo
	$(BIN)/isonn report runs/demo

test: $(READY)
	$(BIN)/python -m pytest -n auto

check: lint test

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/run.py

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[all,dev]"
	touch $(READY)

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
