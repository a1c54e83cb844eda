# Needs Python 3.11 or newer, make, and a package index. Everything lands in .venv.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# What `make demo` installs beside the package itself, so that the commands of README and tutorial work.
DEMO_EXTRAS := serve

.DELETE_ON_ERROR:
.PHONY: help demo test test-long lint pytest pytest-long bench site env servers screenshot clean
# The tests start a thousand Python processes: what is compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

help:
	@echo "make demo       what it finds in a small example, in under a minute"
	@echo "make test       style, types, imports, tests, documentation"
	@echo "make test-long  the same, and the tests that take minutes"
	@echo "make lint       style, types and imports only"
	@echo "make bench      docs/performance.md: how fast it is, beside its peers; takes 12 minutes"
	@echo "make site       the documentation as a site, in build/site"
	@echo "make screenshot the pictures of the README and the docs"
	@echo "make env        $(VENV) with everything for development"
	@echo "make clean      remove $(VENV) and what the tools left behind"

demo: $(VENV)/.base
	@mkdir -p build
	@$(BIN)/ethogram demo --html $(CURDIR)/build/ethogram-report.html
	@echo "Now run '. $(BIN)/activate'; then the command is ethogram."

# Packages and servers are installed side by side; then lint runs beside the tests.
test test-long:
	@$(MAKE) --no-print-directory -j2 env servers
	@$(MAKE) --no-print-directory -j2 lint $(@:test%=pytest%)

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 3 --dist worksteal $(SHUFFLE:%=--shuffle %)

pytest-long: $(VENV)/.dev
	ETHOGRAM_TESTS=long $(BIN)/python -m pytest -q -n 3 --dist worksteal $(SHUFFLE:%=--shuffle %) -m "long or not long"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Writes docs/performance.md; with DATA=FOLDER the rows that need real data too.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks speed $(if $(DATA),--data $(DATA))

site: $(VENV)/.dev
	$(BIN)/zensical build --strict

env: $(VENV)/.dev

# The browser and the databases of the tests; Neo4j is fetched while the tests run. Who is not root installs the
# others, or their tests are left out.
servers:
	@tools/servers.sh

screenshot: $(VENV)/.dev servers
	$(BIN)/python tools/screenshot.py docs/images

clean:
	rm -rf $(VENV) build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find src benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Two stamps, so that the demo waits for what it needs only.
$(VENV)/.base: Makefile pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing ethogram into $(VENV) ..."
	$(call install,'.[$(DEMO_EXTRAS)]')
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing ethogram and the development tools into $(VENV) ..."
	$(call install,'.[dev]')
	@touch $(VENV)/.base $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "ethogram needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Name another one:  make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@# Python 3.11 puts it there and nothing here uses it.
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true

# pip compiles with one core, and the tests of other packages too.
define install
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e $(1)
@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib src || true
endef
