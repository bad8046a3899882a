# Everything a newcomer needs: `make run` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run hpc s3 parquet release boosted test faults mutants calibrate audit lint format bench atlas docs lock wheel clean

help:  ## list the targets
	@grep -E '^[a-z][a-z0-9 ]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# What pyproject.toml asks for, pinned with hashes.
INSTALL = VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/uv pip install --quiet --require-hashes \
    --constraint constraints.txt --requirement pyproject.toml

# What the program imports is byte-compiled at once, as many processes start with it. Of what only tests and documents
# need, most is never imported: a file is compiled when it is first imported.
COMPILED_LATER = test docs bench

$(READY): pyproject.toml constraints.txt $(shell find pipeline -name '*.[ch]')
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' constraints.txt > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.txt
	$(INSTALL) --compile-bytecode --extra installer $$(command -v cc > /dev/null || echo --extra compiler)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q pipeline
	touch $@

$(READY)-%: $(READY)
	$(INSTALL) $(if $(filter $*,$(COMPILED_LATER)),,--compile-bytecode) --extra $*
	touch $@

setup: $(READY)  ## create the environment in .venv, with what running needs

hpc s3 parquet release boosted: %: $(READY)-%  ## add what batch systems, buckets, Parquet, releases of real data, boosted audits need

run: $(READY)  ## simulate the default study (stopped once and resumed, to show that it can be), check it, report
	$(BIN)/python -m pipeline suite=demo stop_after=15 $(ARGS) || test $$? -eq 75
	$(BIN)/python -m pipeline suite=demo $(ARGS)
	$(BIN)/python -m pipeline suite=demo task=verify $(ARGS)

test: $(READY)-test  ## run the tests, in up to four processes
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

faults: $(READY)-test  ## kill, fill, damage and turn back everything that can be, and count what became of it (half an hour)
	FAULTS=full $(BIN)/python -m pytest tests/faults tests/execution/batch \
	    tests/laws/test_every_file_damaged.py tests/laws/test_number_knows_its_code.py tests/execution/test_images.py $(ARGS)

mutants: $(READY)-test  ## seed faults, one at a time, and count those that the tests see (hours; ARGS=privacy, ARGS=2/5)
	$(BIN)/python -m tests.faults_seeded.seeded $(ARGS)

calibrate: $(READY)  ## judge every claim on 100 seeds and count wrong verdicts (hours; ARGS=crowd, ARGS=docs)
	$(BIN)/python -m calibration $(ARGS)

audit: $(READY)  ## audit every mechanism that ships, and write docs/audits.md (minutes; ARGS=crowd prints only)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.shipped_audits $(ARGS)

lint: $(READY)-test  ## check style, types and declared dependencies
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/deptry pipeline
	$(BIN)/deptry benchmarks calibration docs tests tools --exclude docs/examples --ignore DEP002,DEP004

format: $(READY)-test  ## format the code, and mend what can be mended by itself
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix .

bench: $(READY)-bench $(READY)-test  ## print the benchmarks, as ratios against the strongest alternatives
	$(BIN)/python -m benchmarks $(ARGS)

atlas: $(READY)  ## solve again what code solves otherwise than the cells that ship (15 minutes if all; ARGS=PROBLEM)
	OMP_NUM_THREADS=1 $(BIN)/python -m pipeline.advice.solve $(ARGS)

docs: $(READY)-docs  ## build the documentation as a site in docs/_build/html; runs the gallery
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html $(ARGS)
	@echo "open docs/_build/html/index.html"

lock:  ## pin the dependencies again (needs uv)
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --fork-strategy fewest \
	    --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
	    --upgrade --output-file constraints.txt

wheel: atlas  ## build the wheel into dist/, with an atlas of this code
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/uv build --quiet --wheel --no-build-isolation

clean:  ## remove the environment and everything built; never outputs/
	rm -rf $(VENV) dist build docs/_build docs/questions docs/sg_execution_times.rst .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find pipeline -name 'lib*.so' -delete
