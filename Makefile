# Three commands: `make demo` shows what mumon does, `make test` checks that it still does it, `make bench` that it is
# still as fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the extrinsic tests run on. TORCH= leaves it out (they are skipped then), where a build with CUDA is too much.
TORCH ?= torch==2.13.0
# Runs on mumon's Word2Vec in a test. Without its dependencies: it asks for NumPy 1 for the sake of old releases of gensim.
NODE2VEC := node2vec==0.5.0 joblib tqdm
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types unit bench docs clean

demo: $(VENV)/installed
	@$(BIN)/mumon demo
	@echo "(. $(BIN)/activate puts the command mumon on your path.)"

test: lint types unit

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

unit: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/regression.py

docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html."

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --use-pep517 --editable ".[dev]" $(TORCH)  # seqeval has no wheel
	$(BIN)/python -m pip install --quiet --no-deps $(NODE2VEC)
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
