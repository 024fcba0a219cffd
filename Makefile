PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

# A stamp is newer than pyproject.toml exactly when its extras are installed.
DEV := $(VENV)/.stamp-dev
DEMO := $(VENV)/.stamp-demo
SERVE := $(VENV)/.stamp-serve

CHECKED := src tests benchmarks examples

.DEFAULT_GOAL := help
.PHONY: help demo page test test-all lint format bench bench-index bench-peers clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(DEMO) ## train a model on the heart data and explain two patients
	@$(BIN)/ssba demo

page: $(SERVE) ## open the what-if workbench on the heart data in a browser (PORT=number, else any free one)
	@mkdir -p build
	@$(BIN)/ssba serve --open --port $(or $(PORT),0) 2>build/page.log || { tail -n 5 build/page.log >&2; exit 1; }

# Two test workers each with as many BLAS threads as cores would fight for the cores.
test test-all: export OMP_NUM_THREADS ?= 1

test: lint ## everything CI asks: linters, types, import directions, tests
	$(BIN)/pytest -n 2

test-all: lint ## the same, with the slow tests
	$(BIN)/pytest -n 2 -m ""

lint: $(DEV) ## linters, types and import directions only
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy $(CHECKED)
	$(BIN)/lint-imports

format: $(DEV) ## rewrite the code in the common format
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

# The models of the benchmark must be the same in all environments, so these libraries must be, too.
SAME := grep -E '^(numpy|pandas|scikit-learn|scipy|xgboost)=='
PEER := .venv-bench-peers
ALIBI := .venv-bench-alibi

bench: bench-peers ## overhead over bare predict; distance from the optimum, with the peers (DATA=folder)
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.nearest $(if $(DATA),--data $(DATA))

INDEX := .venv-bench-index

bench-index: $(INDEX)/.stamp ## the boundary index beside bare NumPy, DuckDB and LanceDB
	$(BIN)/python -m benchmarks.index --out build/index-figures $(if $(DATA),--data $(DATA))

$(INDEX)/.stamp: benchmarks/index/peers.txt $(DEV)
	@echo "Installing DuckDB and LanceDB in $(INDEX) (once) ..."
	@$(PYTHON) -m venv $(INDEX)
	@mkdir -p build
	@$(INDEX)/bin/python -m pip install -qq -r $< || echo "An engine is missing." >&2
	@touch $@

bench-peers: $(PEER)/.stamp $(ALIBI)/.stamp ## the environments of the peers, each where it can be installed

# A peer that cannot be installed is reported by the benchmark as such; it is no reason to stop here.
$(PEER)/.stamp: benchmarks/nearest/peers.txt $(DEV)
	@echo "Installing the peers in $(PEER) (once, a few minutes) ..."
	@$(PYTHON) -m venv $(PEER)
	@$(BIN)/python -m pip freeze | $(SAME) > $(PEER)/same.txt
	@{ $(PEER)/bin/python -m pip install -qq -e . -r $< -r $(PEER)/same.txt && \
		$(PEER)/bin/python -m pip install -qq --no-deps NICEx==0.2.3; } || echo "Some peers are missing." >&2
	@touch $@

$(ALIBI)/.stamp: benchmarks/nearest/alibi.txt $(DEV)
	@echo "Installing Alibi in $(ALIBI) (once, 2.5 GB) ..."
	@$(PYTHON) -m venv $(ALIBI)
	@$(BIN)/python -m pip freeze | $(SAME) | grep -v -E '^(numpy|pandas|scipy)=' > $(ALIBI)/same.txt
	@$(ALIBI)/bin/python -m pip install -qq -e . -r $< -r $(ALIBI)/same.txt || echo "Alibi is missing." >&2
	@touch $@

clean: ## remove the virtual environment, caches and build outputs
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache catboost_info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "ssba needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
		echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/pip
	@echo "Installing ssba with what the demo needs (once, about a minute) ..."
	@$(PIP) -e '.[cli,plot]'
	@touch $@

$(SERVE): pyproject.toml | $(BIN)/pip
	@echo "Installing ssba with what the page needs (once, about a minute) ..."
	@$(PIP) -e '.[serve,plot]'
	@touch $@

# The development tools include what the demo and the page need.
$(DEV): pyproject.toml | $(BIN)/pip
	@echo "Installing ssba and the development tools (once, a few minutes) ..."
	@$(PIP) -e '.[dev]'
	@touch $@ $(DEMO) $(SERVE)
