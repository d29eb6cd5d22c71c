# Every task of a developer and of CI; `make` alone lists them.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup run test check fix bench shots soak wheel clean

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
APP_STAMP := .venv/app.stamp
DEV_STAMP := .venv/dev.stamp
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

# Parts that may not exist yet are left out of the tools' arguments.
CODE := $(wildcard app.py agentsroom benchmarks tests)
PAGES := $(wildcard templates)
COGGED := $(wildcard README.md wiki/*.md)
# What tests need of the operating system; .ci/system-packages knows how to get each.
TEST_SYSTEM := chromium postgresql node

help: ## list what can be made
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 15

setup: $(DEV_STAMP) ## make .venv with the app and every developer tool

run: $(APP_STAMP) ## start the app; it prints a login link
	@exec $(BIN)/python app.py

test: $(DEV_STAMP) ## run the tests with coverage (ARGS="-k room" narrows them)
	@skip="$$(.ci/system-packages $(TEST_SYSTEM))" && \
	TESTS_SKIP="$$skip" $(BIN)/python -m pytest -n auto --cov $(ARGS)

check: $(DEV_STAMP) ## run every check that changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(CODE)
	$(BIN)/mypy .ci/vendor
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(if $(PAGES),$(BIN)/djlint --check --quiet $(PAGES))
	$(if $(PAGES),$(BIN)/djlint --lint $(PAGES))
	$(BIN)/codespell
	$(if $(COGGED),$(BIN)/cog --check $(COGGED))

fix: $(DEV_STAMP) ## format code and templates, mend what ruff can, remake the wiki's tables
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(if $(PAGES),-$(BIN)/djlint --reformat --quiet $(PAGES))
	$(if $(COGGED),$(BIN)/cog -r $(COGGED))

bench: $(DEV_STAMP) ## measure speed
	@.ci/system-packages wrk && $(BIN)/python -m benchmarks $(ARGS)

shots: $(DEV_STAMP) ## take a picture of every page into shots/ (ARGS=room: of that one)
	@.ci/system-packages chromium && $(BIN)/python -m tests.support.looks $(ARGS)

soak: $(DEV_STAMP) ## run the long tests
	@skip="$$(.ci/system-packages $(TEST_SYSTEM))" && \
	echo "These long tests will run (each says what it does):" && \
	$(BIN)/python -m pytest -m soak --collect-only --quiet $(ARGS) && \
	TESTS_SKIP="$$skip" $(BIN)/python -m pytest -m soak --timeout 0 -p no:randomly $(ARGS)

wheel: $(DEV_STAMP) ## build dist/*.whl
	$(BIN)/python -m build --wheel

clean: ## remove .venv and all that tools left; data in AGENTS_ROOM_HOME stays
	rm -rf .venv .node shots build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache
	rm -rf .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(APP_STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agents-room needs Python 3.11 or newer")'
	@echo "Installing the app into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --requirement requirements.txt --editable .
	@touch $@

$(DEV_STAMP): $(APP_STAMP) requirements-dev.txt
	@echo "Installing the developer tools into .venv ..."
	@$(PIP) --requirement requirements.txt --requirement requirements-dev.txt
	@touch $@
