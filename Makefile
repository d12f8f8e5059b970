# Two commands matter: `make results` and `make test`. Each sets up .venv first, when needed.
SCALE ?= quick
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
# the first of these that is Python 3.11 or newer
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true

.PHONY: help setup results report unlock keep kept test mutants lint bench ui lock
help:
	@echo 'make results [SCALE=smoke|quick|paper] [CORES=n]   all figures, tables and claims, in results/<scale>/'
	@echo 'make test      lint, types, exactness and statistical tests, and the workflow at scale smoke'
	@echo 'make mutants [ONLY="hyper -k ellipse"]   do the tests catch the bugs listed in tests/mutants/?'
	@echo 'make ui        the MLflow UI on results/mlflow.db'
	@echo 'make report    results/<scale>/report.html again, from what is there'
	@echo 'make keep      add the results of scale paper to results/paper/kept, which is in git'
	@echo 'make kept      all kept figures, tables and claims again, from the kept records alone'
	@echo 'make bench     speed against named peers, as ratios in one run'
	@echo 'make setup     .venv from envs/lock.txt (the others do this when needed)'
	@echo 'make lock      envs/lock.txt anew from pyproject.toml'

setup: .venv/ready
.venv/ready: .venv/locked pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
.venv/locked: envs/lock.txt
	@test -n "$(PYTHON)" || { echo 'bayestopics needs Python 3.11 or newer on the PATH'; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r envs/lock.txt
	@touch $@

results: setup unlock
	$(BIN)/snakemake --cores $(CORES) --config scale=$(SCALE)
	@$(MAKE) --no-print-directory report SCALE=$(SCALE)

# after a run was killed outright
unlock: setup
	@$(BIN)/python workflow/scripts/unlock.py

report: setup
	$(BIN)/snakemake --cores 1 --config scale=$(SCALE) --report results/$(SCALE)/report.html

test: setup lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# each bug in turn, in a copy of the code
mutants: setup
	$(BIN)/python tests/mutants/run.py -n $(CORES) $(ONLY)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports

keep: setup
	$(BIN)/python workflow/scripts/keep.py

kept: setup
	$(BIN)/python workflow/scripts/keep.py --kept

bench: setup .venv/peers/ready
	PYTHONPATH=.venv/peers OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m bayestopics.bench

# peers stand apart from the locked packages, and bring none of their own dependencies
.venv/peers/ready: envs/bench.txt .venv/locked
	rm -rf .venv/peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/peers -r envs/bench.txt
	@touch $@

ui: setup
	@echo 'the runs are at http://127.0.0.1:5000/#/experiments/1/runs?workflowType=machine_learning&compareRunsMode=CHART'
	$(BIN)/mlflow ui --backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///results/mlflow.db}"

lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet '.[workflow,test]'
	.venv-lock/bin/python -m pip freeze --all --exclude bayestopics --exclude pip > envs/lock.txt
	rm -rf .venv-lock build
