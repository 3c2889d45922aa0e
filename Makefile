# Two commands do everything on a fresh machine: `make demo` and `make test`.
.PHONY: help demo install install-dev test test-all check lint types imports bench lock
PYTHON ?= python3
export PYTHON
BIN := .venv/bin
# Tests run on every core; the long fault matrices only with `make test-all`.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: install ## set up, run the first recipe through a real Prefect server, fresh and from the cache
	@sh setup/demo

install: ## .venv with the locked dependencies; a second call takes a second
	@sh setup/install

install-dev:
	@sh setup/install dev

test: install-dev ## the tests, under ten minutes
	$(PYTEST) -m "not long"

test-all: install-dev ## the long fault matrices that `make test` leaves out
	$(PYTEST) -m long

check: lint types imports ## everything that is not a test

lint: install-dev ## format and lint
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: install-dev ## pyright, strict in the rooms
	$(BIN)/basedpyright
	$(BIN)/basedpyright --project tests/pyrightconfig.json

imports: install-dev ## the rooms import downward only
	$(BIN)/lint-imports --no-cache

bench: install-dev ## the benchmarks, each against a peer measured in the same run
	$(BIN)/python -m benchmarks

lock: ## write the lock files anew
	sh setup/lock
