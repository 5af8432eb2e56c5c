# make demo: the whole way on data that it makes. make test: gates and all tests. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := .venv-core
# what these compute is the same with and without extras; each method's example runs without, too
COMPUTING := aggregation comparison contract evaluation oracle quality simulation

.PHONY: help demo test setup gates chromium tests release core-tests docs bench bench-short soak clean
help:  ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.made:
	@echo "making an environment: $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# what the demo needs, and nothing that only takes time: Python compiles what is used
$(VENV)/.demo: pyproject.toml $(VENV)/.made
	@echo "installing qrowd with its extras report and serve; most of the time goes here, once"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[report,serve]'
	@touch $@

$(VENV)/.developing: pyproject.toml $(VENV)/.made
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[all]' --group dev
	touch $@

$(CORE)/.made:
	$(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip install --quiet --upgrade pip
	touch $@

setup: $(VENV)/.developing  ## Make the local environment (.venv); quick the second time

demo: $(VENV)/.demo  ## Simulate, merge, score, judge by robots; prints where the report is
	@$(BIN)/qrowd demo -o demo

gates: setup  ## Format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/oxfmt --check .
	$(BIN)/ruff check .
	$(BIN)/oxlint
	$(BIN)/mypy
	$(BIN)/lint-imports

chromium:  ## Debian's Chromium for the tests in a browser, where apt may install it
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null; } \
	  || echo "no chromium: the tests in a browser are skipped"

tests: setup chromium  ## All tests
	$(BIN)/python tests/warm.py
	$(BIN)/python -m pytest -n 2 -q --ignore=tests/browser
	$(BIN)/python -m pytest -n 2 -q tests/browser

release: setup  ## A wheel and an sdist, into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation >/dev/null
	@ls dist/*

# in an environment that has the wheel, what it depends on, and pytest; in the folder of the sdist.
# What methods compute has no extra to miss: these tests would only be the same again.
core-tests: release $(CORE)/.made  ## The sdist's tests of the wheel, without the checkout and any extra
	rm -rf $(CORE)/sdist && mkdir $(CORE)/sdist
	tar -xzf dist/qrowd-*.tar.gz -C $(CORE)/sdist --strip-components 1
	$(CORE)/bin/python -m pip install --quiet --force-reinstall --no-deps dist/qrowd-*.whl
	$(CORE)/bin/python -m pip install --quiet dist/qrowd-*.whl --group core-test
	cd $(CORE)/sdist && ../bin/python -m pytest -n 2 -q $(COMPUTING:%=--ignore=tests/%)

docs: setup  ## Build the documentation strictly, into site/
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: gates docs tests core-tests  ## Everything that must be green

bench: setup  ## Benchmarks beside the peers (takes long; see benchmarks/README.md)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks

bench-short: setup  ## Each benchmark in its smallest form (minutes); an empty table is a failure
	$(BIN)/python -m benchmarks --short

soak: setup  ## How campaigns hold under load, on both engines (takes long)
	$(BIN)/python -m benchmarks.soak

clean:  ## Remove what was made
	rm -rf $(VENV) $(CORE) demo dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
