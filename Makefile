# The two commands that matter: `make book` and `make test`. `make help` lists them all.

PYTHON ?= python3
PROFILE ?= cpu
RESOLUTION ?= highest
UV_VERSION := 0.13.8
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Tests marked as thorough are left to CI, or to THOROUGH=1.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
  $(if $(THOROUGH),,-m "not thorough")
# The folders with code, which Python compiles.
CODE := benchmarks book calib_audit calib_utils classroom tests tools
UV_BUILD := --quiet --no-build-isolation --python $(BIN)/python
# What needs the module only.
MODULE_TESTS := tests/test_contracts.py \
  $(addprefix tests/,predictions metrics recalibration decisions comparing plots records)
# A grep for the files of tests that need neither the book nor a browser.
NO_BOOK := grep -rLE --include='test_*.py' '(from|import) (benchmarks|book|classroom|tools)\b|browser
# Codespell's list of British words, each with the American one, and American words that code has.
SPELLINGS = $(VENV)/lib/python3.*/site-packages/codespell_lib/data/dictionary_en-GB_to_en-US.txt
IN_CODE := capitalize,center,color,digitize,license,licenses,math,minimize,normalize,optimize,optimizer,practice,regularization
# What needs the built book.
SITE_TESTS := tests/site

# A person's, which would reach the pipeline itself.
unexport PYTHONWARNINGS

.DEFAULT_GOAL := help
.PHONY: help book page pdf dist notebooks quick slides test test-code test-site test-colab test-sphinx test-versions \
  lint format lock clean

help: ## Say what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

book: $(INSTALLED) ## Run what has changed, check its outputs, build build/html (PROFILE=cpu or gpu)
	@PROFILE=$(PROFILE) $(BIN)/python -m doit
	@echo "The book is in build/html: open build/html/index.html"

page: $(INSTALLED) ## Run one chapter, check its outputs, build its page (NAME=ece-and-mce), once there is a book
	@PROFILE=$(PROFILE) $(BIN)/python -m doit page:notebooks/$(NAME)
	@$(BIN)/python -m tools.running.notebooks --changed $(NAME)
	@echo "The page is build/html/notebooks/$(NAME).html"

notebooks: $(INSTALLED) ## Run the chapters and store their outputs and figures anew (CHAPTER=ece-and-mce for one)
	$(BIN)/python -m tools.running.notebooks --execute $(CHAPTER)

slides: book ## Print the slides of each chapter, and the teacher's copy of them, beside their pages
	$(BIN)/python -m tools.finishing.slides build/html/slides

pdf: book ## Print the whole book into build/book.pdf
	@$(BIN)/python -m tools.finishing.pdf build/book.pdf

# The sdist has the records as well, since it has all that is committed.
dist: $(INSTALLED) ## Make the wheels of the module, the report, the records and the classroom, and the sdist, in build/dist
	rm -rf build/calib_audit build/calib_records build/classroom
	$(BIN)/uv build $(UV_BUILD) --out-dir build/dist
	$(BIN)/uv build $(UV_BUILD) --out-dir build/dist --wheel calib_audit
	$(BIN)/uv build $(UV_BUILD) --out-dir build/dist --wheel calib_records
	$(BIN)/uv build $(UV_BUILD) --out-dir build/dist --wheel classroom

# Where torchmetrics is installed, a CalibrationError is one of its metrics, with PyTorch.
quick: $(INSTALLED) ## Test the module alone, without PyTorch and a browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m "not thorough" \
	  $$($(NO_BOOK)|\btorch\b|\bCalibrationError\b' $(MODULE_TESTS))

# The site is tested once it is built.
test: ## Test the code, the notebooks and the built site (THOROUGH=1 for the stress tests too)
	@$(MAKE) --no-print-directory test-code
	@$(MAKE) --no-print-directory book
	@$(MAKE) --no-print-directory test-site

# Torch on one thread, since two tests run at a time.
test-code test-site test-versions: export OMP_NUM_THREADS := 1
test-code: $(INSTALLED) ## Run all tests but those of the built site
	@# Python takes compiled code for that of any file with the same size and date.
	@find $(CODE) -name __pycache__ -prune -exec rm -rf {} +
	$(PYTEST) --ignore=$(SITE_TESTS)

test-site: $(INSTALLED) ## Test the built site
	$(PYTEST) $(SITE_TESTS)

# From the wheels, with Colab's Python and versions: some 5 GB, and as long as the chapters take.
test-colab: $(INSTALLED) ## Run every notebook as Colab would (CHAPTER=ece-and-mce for one)
	$(BIN)/python -m tools.running.try_colab $(CHAPTER)

# What `make book` gave to Jupyter Book 1, which keeps Sphinx 7 and is no longer developed, without
# it: each package of Sphinx as it is today, the rest as it is installed here.
test-sphinx: book ## Build the book with today's Sphinx, in build/sphinx/html
	rm -rf build/sphinx
	$(BIN)/uv pip install --python $(BIN)/python --quiet --target build/sphinx/packages \
	  $$(grep -oE '^(sphinx|myst)[a-z-]*' requirements.lock)
	cp -R build/site build/sphinx/source
	$(BIN)/jupyter-book config sphinx build/sphinx/source
	echo 'extensions.remove("jupyter_book")' >> build/sphinx/source/conf.py
	PYTHONPATH=build/sphinx/packages:. $(BIN)/python -m sphinx --version
	PYTHONPATH=build/sphinx/packages:. $(BIN)/python -m sphinx -q -n -W --keep-going \
	  build/sphinx/source build/sphinx/html
	@echo "$$(find build/sphinx/html -name '*.html' | wc -l) pages, no warning"

# Those tests that need nothing but the module.
test-versions: ## Test the module with the newest packages, or the oldest (RESOLUTION=lowest-direct)
	$(PYTHON) -m venv --clear build/versions
	build/versions/bin/python -m pip install --quiet uv==$(UV_VERSION)
	build/versions/bin/uv pip install --python build/versions/bin/python --quiet \
	  --resolution $(RESOLUTION) --editable '.[training]' --editable ./calib_audit --editable ./calib_records --group test
	build/versions/bin/python -m pytest -n 2 calib_audit calib_utils \
	  $$($(NO_BOOK)' $(MODULE_TESTS) tests/book/test_recipes.py \
	  $(addprefix tests/,calib_audit experiments training))

lint: $(INSTALLED) ## Check style, types, and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	@mkdir -p build
	@sed -E 's/^([^-]+)->([^,]+).*/\2->\1/' $(SPELLINGS) > build/american.txt
	-@$(BIN)/codespell -D build/american.txt -L $(IN_CODE) README.md book notebooks classroom/assignments
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/zizmor --offline --quiet .

format: $(INSTALLED) ## Format all code, and show how that of the chapters should look
	$(BIN)/ruff format --exclude '*.ipynb' .
	$(BIN)/ruff check --fix --exclude '*.ipynb' .
	$(BIN)/ruff format --diff notebooks

lock: $(INSTALLED) ## Resolve pyproject.toml anew into requirements.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --generate-hashes \
	  --no-emit-index-url --no-header --no-emit-package calibration-course \
	  --no-emit-package calibration-course-records \
	  pyproject.toml calib_audit/pyproject.toml classroom/pyproject.toml \
	  --extra plots --extra training --group book --group test --output-file requirements.lock

clean: ## Remove all that was built, but not the environment
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# uv does not read pip's settings: where only pip knows a mirror, pip installs the same files.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) \
	  || { echo "The packages cannot be had. The first call needs a network: is there one?"; false; }
	@# Compiled once, and not in each process, where Python is told to write no compiled code.
	$(BIN)/uv pip install --python $(BIN)/python --compile-bytecode --require-hashes -r requirements.lock \
	  || $(BIN)/python -m pip install --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  -e . -e ./calib_audit -e ./calib_records -e ./classroom
	@# Its font list, else a first chapter would wait for it and say so.
	MPLCONFIGDIR=$(VENV)/share/matplotlib $(BIN)/python -c 'import matplotlib.font_manager'
	touch $@
