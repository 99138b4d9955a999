# The two commands of the README are `make demo` and `make test`; both set up .venv when it is missing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DOCS := .venv/.docs

.PHONY: demo test test-all check lint bench million screen growth null torture format docs release clean

demo: $(READY)
	$(BIN)/isonn evaluate MUTAG --out runs/demo
	$(BIN)/isonn report runs/demo
	rm -rf runs/demo-model runs/demo-why.html
	$(BIN)/isonn fit MUTAG --out runs/demo-model
	$(BIN)/isonn explain runs/demo-model MUTAG --graph 0 --graph 1 --graph 2 --out runs/demo-why.html
	@echo "Open runs/demo/report.html (how good is it, and what decides?) and runs/demo-why.html (three molecules)."
	@echo "Then try: .venv/bin/isonn serve runs/demo-model"

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

# then every interpreter here, each in an environment of its own, without torch
test-all: test
	tools/test_all.sh

check: lint test

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/run.py

# a million molecules from a TU folder to a model, with time and memory; 5 GB of disk. MOLECULES=100000 is a quick look,
# HEAD=linear fits sums alone
million: $(READY)
	$(BIN)/python benchmarks/large.py $(or $(MOLECULES),1000000) $(addprefix --head ,$(HEAD))

# N generated SMILES screened, killed ten times on the way and resumed; N=10000000 needs 2 GB of disk
screen: $(READY)
	$(BIN)/python benchmarks/screen.py $(or $(N),100000)

# time and memory of fits at 1e4, 1e5 and 1e6 molecules beside ECFP + LightGBM, drawn to docs/images/growth.svg
growth: $(READY)
	$(BIN)/python benchmarks/growth.py $(or $(MOST),1000000)

# 200 null studies of connectomes in each of 16 settings, and planted ones: an hour of one core; a stopped run continues
null: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/null_studies.py run --studies $(or $(STUDIES),200)

# kills, full disks, flipped bits, 10,000 mutated cases: under an hour on two cores; SHARE=0.05 is a quick look
torture: $(READY)
	$(BIN)/python tools/torture.py --share $(or $(SHARE),1)

# the pages' Python runs first; warnings are errors
docs: $(DOCS)
	$(BIN)/python docs/run_pages.py
	$(BIN)/python -m mkdocs build --strict

# make release VERSION=0.2.0: checks, then dist/ with a wheel and an sdist that were installed and tried
release: $(DOCS)
	tools/release.sh "$(VERSION)"

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[all,dev]"
	touch $(READY)

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $(DOCS)

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
