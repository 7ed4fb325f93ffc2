# One door for every chore. `make test` and `make demo` need only python3 and make:
# they build one virtual environment, .venv, the first time and after its recipe has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two workers share the machine, so one thread each: torch would start as many as there are cores.
PYTEST_ARGS ?= -n 2 --dist worksteal
# Bytecode is kept even where it is switched off: every process that a test starts would compile premortem again.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test tests exhaustive doors lint style types docs site surface bench casebook clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(STAMP)  ## see premortem at work, in under a minute
	@$(BIN)/premortem demo

test: style  ## everything that must hold before a change goes in
	@# The types take one core for most of a minute: beside the tests, not before them.
	@$(MAKE) --no-print-directory -j2 types tests

tests: $(STAMP)  ## the tests alone
	$(PYTEST) -m "not exhaustive" $(PYTEST_ARGS)

exhaustive: lint  ## the same, and more of each kind, every script in a real process: more than twice as long
	PREMORTEM_TESTS_REAL=1 $(PYTEST) $(PYTEST_ARGS)

doors: $(STAMP)  ## the doors and sinks, with the real frameworks and trackers (300 MB more, once)
	$(BIN)/python tools/install.py torch,dev,doors
	$(PYTEST) tests/integrations tests/sinks tests/docs tests/ranks/test_deepspeed.py

lint: style types  ## ruff and mypy

style: $(STAMP)  ## ruff alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy alone
	$(BIN)/mypy

docs: $(STAMP)  ## write docs/units and the tables of all pages from the units and from bench/results
	$(BIN)/python tools/pages.py

site: $(STAMP)  ## the documentation as a site, in build/site: opens without a network
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d build/doctrees docs build/site
	@echo "build/site/index.html"

surface: $(STAMP)  ## record the public surface (tests/surface.txt) after a change that is meant
	$(BIN)/python tools/surface.py

bench: $(STAMP)  ## measure what watching costs
	$(BIN)/python bench/overhead.py

casebook: $(STAMP)  ## five small systems, healthy and with each of their faults, through premortem
	OMP_NUM_THREADS=1 $(BIN)/python casebook/run.py

clean:  ## remove .venv and all caches
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .premortem
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt tools/install.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "premortem needs Python 3.10 or newer; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@# An environment without a working pip is half made: begin again.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Setting up $(VENV), once (torch is the large part)"
	$(BIN)/python tools/install.py torch,dev
	@touch $@
