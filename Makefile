# The two main commands are `make results` and `make test`. Each first sets up .venv if needed.
SCALE ?= quick
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
# the first of these commands that is Python 3.11 or newer
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true

.PHONY: help setup results report unlock keep kept test test-faults test-cluster mutants lint docs bench keep-bench ui lock publish
help:
	@echo 'make results [SCALE=smoke|quick|paper] [CORES=n]   make all figures, tables and claims in results/<scale>/'
	@echo 'make test      run lint, type checks and all tests, including the workflow at scale smoke'
	@echo 'make test-faults  read 50,000 damaged files; kill tracking servers; fill disks'
	@echo 'make test-cluster  run chains on Dask and the workflow on a Slurm of one node; kill a worker; compare'
	@echo 'make mutants [ONLY="hyper -k ellipse"]   check that the tests catch the bugs listed in tests/mutants/'
	@echo 'make publish   publish to MLflow what is not there yet, or no longer'
	@echo 'make ui        open the MLflow UI on results/mlflow.db'
	@echo 'make report    make results/<scale>/report.html again from the existing results'
	@echo 'make keep      add new results of scale paper to results/paper/kept, which is in git'
	@echo 'make kept      make all kept figures, tables and claims again from the kept records alone'
	@echo 'make docs      build the documentation in docs/_build/html'
	@echo 'make bench     compare our speed with other programs, as ratios within one run'
	@echo 'make keep-bench  keep what make bench measured, for the page Speed of the documentation'
	@echo 'make setup     make .venv from envs/lock.txt (the other commands do this when needed)'
	@echo 'make lock      make envs/lock.txt anew from pyproject.toml'

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
	@echo 'open results/$(SCALE)/site/index.html'

# removes the locks that a killed run left behind
unlock: setup
	@$(BIN)/python workflow/scripts/unlock.py

report: setup
	$(BIN)/snakemake --cores 1 --config scale=$(SCALE) --report results/$(SCALE)/report.html

test: setup lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# about 3 minutes of CPU time
test-faults: setup
	$(BIN)/python tests/faults/run.py -n $(CORES) --cases 50000
	$(BIN)/python tests/faults/tracking.py
	$(BIN)/python tests/faults/disk.py

# chains on Dask, and the workflow on a Slurm of one node (Debian: apt-get install slurmctld slurmd slurm-client munge)
test-cluster: setup
	$(BIN)/python -m pytest -n 0 tests/cluster

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

# bench.json is written last: a table that is newer is of another run
keep-bench:
	@test -f results/bench/bench.json || { echo 'nothing is measured yet: make bench'; exit 1; }
	@test -z "$$(find results/bench -maxdepth 1 -name '*.csv' -newer results/bench/bench.json)" || \
		{ echo 'some tables of results/bench are of a later, partial run: make bench'; exit 1; }
	rm -rf results/bench/kept && mkdir results/bench/kept
	cp results/bench/bench.json results/bench/*.csv results/bench/*.png results/bench/kept/

# warnings are errors; nothing is fetched
docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo 'open docs/_build/html/index.html'

# the other programs are installed apart from the locked packages and without their dependencies
.venv/peers/ready: envs/bench.txt .venv/locked
	rm -rf .venv/peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/peers -r envs/bench.txt
	@touch $@

publish: setup
	$(BIN)/python workflow/scripts/publish_again.py

ui: setup
	@echo 'Every study is an experiment at http://127.0.0.1:5000/#/experiments'
	$(BIN)/mlflow ui --backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///results/mlflow.db}"

lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet '.[workflow,test,docs,cluster]'
	.venv-lock/bin/python -m pip freeze --all --exclude bayestopics --exclude pip > envs/lock.txt
	rm -rf .venv-lock build
