# Two commands for a fresh machine: `make demo` and `make test`. Another Python has an environment of
# its own: `make test PYTHON=python3.13`.

PYTHON ?= python3
VENV ?= .venv$(patsubst %,-%,$(filter-out python3,$(notdir $(PYTHON))))
BIN := $(VENV)/bin
LOWEST := .venv-lowest
CLUSTERS := .venv-clusters
WHEEL := .venv-wheel

# The tests start many processes. Without kept bytecode each of them would parse the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-clusters test-lowest wheel check torture experiments-check docs coverage clean

demo: $(VENV)/.installed
	$(BIN)/consilience demo

test: $(VENV)/.installed-test
	$(BIN)/pytest

# The tests with the lowest versions of all dependencies that pyproject.toml allows.
test-lowest: $(LOWEST)/.installed-test
	$(LOWEST)/bin/pytest

# The tests of Dask and Spark in an environment of their own, since Spark needs an older pandas; a
# test that is skipped is a failure here.
test-clusters: $(CLUSTERS)/.installed-test
	CONSILIENCE_CLUSTERS=1 $(CLUSTERS)/bin/pytest tests/statistics/test_clusters.py -n 0

# A wheel, installed alone in an empty environment, tells its story.
wheel:
	rm -rf dist $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(WHEEL)/bin/python -m pip install --quiet dist/*.whl
	cd $(WHEEL) && bin/consilience demo

torture: $(VENV)/.installed-test  # minutes; TORTURE="--only discrete --seed 7" chooses
	$(BIN)/python -m torture $(TORTURE)

experiments-check: $(VENV)/.installed-test  # minutes; needs CONSILIENCE_DATA
	$(BIN)/python experiments/check.py $(CHECK)

check: $(VENV)/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs site
	@echo "open site/index.html"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(LOWEST)/.installed-test: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/lowest.txt --editable ".[test]"
	touch $@

$(CLUSTERS)/.installed-test: pyproject.toml
	$(PYTHON) -m venv $(CLUSTERS)
	$(CLUSTERS)/bin/python -m pip install --quiet --editable ".[test,dask,spark]"
	touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf .venv .venv-* dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage

coverage: $(VENV)/.installed-test
	$(BIN)/pytest --cov --cov-report=term-missing
