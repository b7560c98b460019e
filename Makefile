# The two commands that matter: `make book` and `make test`. `make help` lists them all.

PYTHON ?= python3
PROFILE ?= cpu
UV_VERSION := 0.13.8
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Files of tests that passed before are left out while nothing that they depend on has changed.
PYTEST := $(BIN)/python -m pytest -p tests.passed_before -n 2
# What needs the built book.
SITE_TESTS := tests/test_site.py tests/test_site_play.py tests/test_site_questions.py

# A person's, which would reach the pipeline itself.
unexport PYTHONWARNINGS

.DEFAULT_GOAL := help
.PHONY: help book notebooks test test-colab lint format lock clean

help: ## Say what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

book: $(INSTALLED) ## Run what has changed, check its outputs, build build/html (PROFILE=cpu or gpu)
	@PROFILE=$(PROFILE) $(BIN)/python -m doit
	@echo "The book is in build/html: open build/html/index.html"

notebooks: $(INSTALLED) ## Run the chapters and store their outputs and figures anew (CHAPTER=ece-and-mce for one)
	$(BIN)/python -m tools.sources.errors tools.running.notebooks --execute $(CHAPTER)

# Torch on one thread, since two tests run at a time; the site is tested once it is built.
test: export OMP_NUM_THREADS := 1
test: $(INSTALLED) ## Run every test: the code, the notebooks, the built site
	$(PYTEST) --dist loadfile --no-loadscope-reorder $(SITE_TESTS:%=--ignore=%) \
	  --passed-before=build/.passed.json
	@$(MAKE) --no-print-directory book
	$(PYTEST) $(SITE_TESTS) --passed-before=build/.passed-site.json

# From the wheel, with Colab's Python and versions: some 5 GB, and as long as the chapters take.
test-colab: $(INSTALLED) ## Run every notebook as Colab would (CHAPTER=ece-and-mce for one)
	$(BIN)/python -m tools.running.try_colab $(CHAPTER)

lint: $(INSTALLED) ## Check style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/python -m tools.sources.lint
	$(BIN)/python -m mypy

format: $(INSTALLED) ## Format all code, that of the chapters too, and correct what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tools.sources.lint --fix

lock: $(INSTALLED) ## Resolve pyproject.toml anew into requirements.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --generate-hashes \
	  --no-emit-index-url --no-header pyproject.toml --extra training --extra report --group book --group test \
	  --output-file requirements.lock

clean: ## Remove all that was built, but not the environment
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# uv does not read pip's settings: where only pip knows a mirror, pip installs the same files.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) \
	  || { echo "The packages cannot be had. The first call needs a network: is there one?"; false; }
	$(BIN)/uv pip install --python $(BIN)/python --require-hashes -r requirements.lock \
	  || $(BIN)/python -m pip install --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# Its font list, else a first chapter would wait for it and say so.
	MPLCONFIGDIR=$(VENV)/share/matplotlib $(BIN)/python -c 'import matplotlib.font_manager'
	touch $@
