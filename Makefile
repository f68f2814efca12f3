# Everything a newcomer types is `make run` and `make test`; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SDKS := .sdks
NATIVE := $(wildcard adapters/native/*.[ch])
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint bench exhaustive sanitize arm64 sdks sdks-lock lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run ## Set up, then serve on 127.0.0.1:8000
	$(BIN)/weighbridge serve

test test-all: export WEIGHBRIDGE_REQUIRE_NATIVE = 1

test: $(VENV)/.dev sdks lint ## Set up, then every check: lint, types, import rules, tests
	$(BIN)/pytest -n auto --dist loadgroup -m "not slow and not network"

test-all: $(VENV)/.dev sdks lint ## Also the slow sweeps and the tests that read package registries
	$(BIN)/pytest -n auto --dist loadgroup

lint: $(VENV)/.dev ## Style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench $(VENV)/.litellm ## Speed beside peers, as ratios of one run
	$(BIN)/python -m tests.benchmarks

exhaustive: $(VENV)/.bench ## Every Unicode scalar value in context, and fuzz, against the references (a quarter of an hour)
	$(BIN)/python -m tests.exhaustive

sanitize: $(VENV)/.dev ## The extension under the address, undefined-behaviour and thread sanitizers (needs gcc)
	$(BIN)/python -m tests.soundness.sanitize

arm64: $(VENV)/.dev ## The extension's core for arm64, and for a big-endian machine, run by an emulator
	$(BIN)/python -m tests.soundness.foreign

sdks: $(SDKS)/current/.done $(SDKS)/previous/.done $(SDKS)/node/.done ## Install the vendors' own clients, which tests run

sdks-lock: ## Write the lock files of the vendors' clients anew (needs uv and npm)
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 tests/sdks/current.in -o tests/sdks/current.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 tests/sdks/previous.in -o tests/sdks/previous.lock
	cd tests/sdks/node && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-fund --no-audit

lock: ## Write the lock files anew from pyproject.toml (needs uv)
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group build pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --group build --group dev pyproject.toml -o requirements-dev.lock
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 -c requirements-dev.lock --group bench -o tests/benchmarks/requirements.lock
	echo 'litellm[proxy]' | uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 - -o tests/benchmarks/litellm.lock
	echo ctok==1.3.0 | uv pip compile --no-deps --generate-hashes --no-header --no-annotate --python-version 3.12 - -o requirements-ctok.lock

clean: ## Remove the environment and all that was built
	rm -rf $(VENV) $(SDKS) adapters/native/*.so build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Weighbridge needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock pyproject.toml setup.py $(NATIVE) | $(VENV)/bin/python
	@echo "Installing what the service needs (about half a minute) ..."
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock requirements-ctok.lock $(VENV)/.run
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --require-hashes --no-deps --ignore-requires-python -r requirements-ctok.lock # runs on 3.11
	@touch $@

$(VENV)/.bench: tests/benchmarks/requirements.lock $(VENV)/.dev
	@echo "Installing the peers (about half a minute) ..."
	$(BIN)/python -m tests.benchmarks.install
	@touch $@

# LiteLLM's proxy is a peer over HTTP: in an environment of its own, and the benchmark goes on without it.
$(VENV)/.litellm: tests/benchmarks/litellm.lock | $(VENV)/bin/python
	@echo "Installing LiteLLM (about two minutes) ..."
	$(BIN)/python -m venv $(VENV)/litellm
	-$(VENV)/litellm/bin/pip install --quiet --require-hashes -r tests/benchmarks/litellm.lock
	@touch $@

# Two major versions of each vendor's client do not fit into one environment.
$(SDKS)/%/.done: tests/sdks/%.lock | $(VENV)/bin/python
	@echo "Installing the vendors' clients, $* (about half a minute) ..."
	$(BIN)/python -m venv $(SDKS)/$*
	$(SDKS)/$*/bin/pip install --quiet --require-hashes -r $<
	@touch $@

# Without Node.js its clients are left out, and their test is skipped.
$(SDKS)/node/.done: tests/sdks/node/package-lock.json
	@mkdir -p $(@D)
	@cp tests/sdks/node/package.json tests/sdks/node/package-lock.json $(@D)
	@if command -v npm >/dev/null; then cd $(@D) && npm ci --silent --ignore-scripts --no-fund --no-audit && touch .done; \
	else echo "npm is not here: the clients for Node.js are not tested"; fi
