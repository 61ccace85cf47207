# Tidelog's commands; `make help` lists them. Everything runs in .venv, which `make setup` makes and fills.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do command -v $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PYTEST := $(BIN)/pytest
SOURCES := services spark tests tools deploy
CHART := deploy/helm/tidelog

.DEFAULT_GOAL := help
.PHONY: help setup up down status check format proto docs requirements test unit sim process bench-log bench-processes bench-groups interop bench-kafka bench-sdk image image-contents kube-up kube-down e2e e2e-spark containers pipeline bench-spark clean

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
	for values in profiles/dev profiles/ha values-pipeline; do $(BIN)/helm lint --strict --quiet $(CHART) --values $(CHART)/$$values.yaml || exit 1; done
	$(PYTEST) -q tests/unit/chart

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
	$(PYTEST) tests/unit tests/sim tests/process

unit: setup ## Tests without processes or sockets: seconds
	$(PYTEST) tests/unit

SEEDS ?= 200
FIRST ?= 0
sim: setup ## The cluster in simulation, from SEEDS=200 seeds, the first one FIRST=0 (GROUPS=1: with groups and transactions)
	$(BIN)/python -m tests.sim.run --seeds $(SEEDS) --first $(FIRST) $(if $(GROUPS),--groups)

process: setup ## Tests with real processes and a real ZooKeeper
	$(PYTEST) tests/process

bench-log: setup ## What appends, reads, recovery and start-up of the log cost, printed as a table
	$(BIN)/python tools/bench/bench_log.py
	$(BIN)/python tools/bench/bench_compaction.py

interop: setup ## Stock Kafka clients, Kafka's own tools (java and mvn, skipped without) and Kafka's files
	$(PYTEST) tests/interop

bench-processes: setup ## Start-up time, memory and failover of the processes, also with many partitions, printed as a table
	$(BIN)/python -m tools.bench.bench_processes

bench-groups: setup ## Joins, commits, heartbeats of many groups and the death of a coordinator, printed as a table
	$(BIN)/python -m tools.bench.bench_groups

bench-kafka: setup ## The same work on Apache Kafka (java, mvn) and Tidelog in one run, with ratios: five minutes
	$(BIN)/python -m tools.bench.bench_kafka

image: setup ## Build the container images, with SPARK=1 Spark's too (BASE_IMAGE=python:3.11-slim; without it a base is made, as root)
	$(BIN)/python -m tools.images --save $(if $(SPARK),--spark)

image-contents: setup ## Gather what images are made of in build/images, for builders of your own
	$(BIN)/python -m tools.images --only-contents

kube-up: setup ## Start a real Kubernetes on this machine, out of plain processes (root, Go; ten minutes the first time)
	$(BIN)/python -m tools.kube up

kube-down: setup ## Stop that Kubernetes and remove what it left
	$(BIN)/python -m tools.kube down

e2e: setup ## Scenarios on a real Kubernetes, from nothing to a verdict, one line each (TIDELOG_E2E_KUBECONFIG for another)
	$(PYTEST) -q tests/e2e

e2e-spark: setup ## The pipeline profile on a real Kubernetes: Spark's pods and brokers deleted, everything counted once
	$(PYTEST) -q tests/e2e_spark

containers: setup ## The images in a container engine with testcontainers; skipped with its reason where there is none
	$(PYTEST) tests/containers

bench-sdk: setup ## The SDK beside aiokafka, kafka-python and confluent-kafka on one cluster, printed as a table
	$(BIN)/python tools/bench/bench_sdk.py

pipeline: setup ## A cluster, traffic, and the activity job on Spark for a minute; shows what it counted and the lag (Java 17+)
	@$(BIN)/python -m tools.pipeline

bench-spark: setup ## format("tidelog") beside format("kafka") on one cluster, printed as a table (RECORDS=2000000 ROUNDS=3; Java 17+)
	$(BIN)/python -m tools.bench.bench_spark $(or $(RECORDS),2000000) $(ROUNDS)

clean: ## Remove what the targets made, .venv included
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
