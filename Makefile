# Three commands: `make demo` shows what mumon does, `make test` checks that it still works, `make bench` checks that it
# is still as fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The extrinsic tests need it. `make test TORCH=` skips them, where a build with CUDA would be too large.
TORCH ?= torch==2.13.0
# A test runs node2vec on mumon's Word2Vec. It is installed without its dependencies, which ask for NumPy 1.
NODE2VEC := node2vec==0.5.0 joblib tqdm
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types unit bench docs constraints clean

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
	$(INSTALL) --editable ".[docs]"
	$(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html."

constraints: $(VENV)/installed-dev  # takes the newest versions; run `make test` before you commit them
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --use-pep517 --editable ".[dev]" $(TORCH)
	@sed -i.old '/^[^#]/d' constraints.txt && rm constraints.txt.old
	@$(BIN)/python -m pip freeze --exclude-editable | grep -v '^torch==' \
		| sed 's/$$/; python_version == "3.11" and sys_platform == "linux"/' >> constraints.txt

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(INSTALL) --use-pep517 --editable ".[dev]" $(TORCH)  # seqeval has no wheel
	$(INSTALL) --no-deps $(NODE2VEC)
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
