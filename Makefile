# Two commands do all on a fresh machine with Python 3.11 and make: `make demo`, `make test`.

# The distribution's Python first: it is built with the profile of real programs, and one that was
# compiled without that takes half as long again for everything.
PYTHON ?= /usr/bin/python3 python3
VENV   := .venv
BIN    := $(VENV)/bin
# Four workers for two cores: half of the time a worker waits, for servers that start and for clocks.
# Each has engines and data directories of its own, and takes up to 3 GB with its servers.
WORKERS ?= 4
QUICK_WORKERS ?= 2
# Runs again, alone, what failed beside others.
PYTEST := sh scripts/run-tests $(BIN)/python --dist loadgroup

# Some environments forbid writing compiled modules; every server would then compile all of its own.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test long all thorough forms recorded detections fault contracts fuzz browser check types rules docs bench lock package screenshots clean

demo: $(VENV)/.runtime
	$(BIN)/vedette demo

# The tiers of the tests (tests/support/tiers.py): each file is `quick`, `product` or `long`.
# Units, properties and the rules of the house: no server, no engine, no browser. They rarely wait,
# so that more workers than cores only add starts.
quick: $(VENV)/.dev
	$(PYTEST) -n $(QUICK_WORKERS) --tiers quick $(ARGS)

# The whole product once, with a real server, real clients and a browser.
test: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --tiers quick,product $(ARGS)

# All other files: what is dear among units and properties, the rest of the API, the console and the
# contracts, faults, several servers, old stores, packages and the Linux sensor.
long: $(VENV)/.dev
	$(PYTEST) -n $(WORKERS) --tiers long $(ARGS)

# What has to hold before a change lands; CI runs it. `check` runs the rules of the house.
all:
	$(MAKE) -j2 check
	$(MAKE) test ARGS="--ignore=tests/house $(ARGS)"
	$(MAKE) long

# All long forms, one after the other: some hours. `make all` proves each behaviour once.
thorough: all forms fault contracts fuzz browser recorded

# What draws at random or goes over a whole corpus, with all its draws and cases: an hour.
forms: $(VENV)/.dev
	VEDETTE_TEST_THOROUGH=1 $(PYTEST) -n $(WORKERS) tests/property tests/contract tests/unit tests/api $(ARGS)

# Recorded attacks from ../shared, each into a server of its own: many minutes.
recorded: $(VENV)/.dev
	VEDETTE_TEST_RECORDED=1 $(PYTEST) -n $(WORKERS) tests/recorded tests/api/test_shared_queries.py $(ARGS)

# Which public rules fire where on the recorded sets, against what is expected: some minutes.
SHARED ?= ../shared/data
detections: $(VENV)/.dev
	$(BIN)/python -m scripts.detections $(SHARED)/sigma/rules.tar.gz \
	  $(wildcard $(SHARED)/telemetry/*.zip $(SHARED)/telemetry/*.tar.gz) \
	  --expect tests/recorded/detections.json

# Kills, full disks and overload in 200 seeded rounds: a quarter of an hour. `make long` has a short form.
fault: $(VENV)/.dev
	VEDETTE_TEST_ROUNDS=$(or $(ROUNDS),200) $(PYTEST) -n $(WORKERS) tests/fault tests/contract/store/test_upgrade.py $(ARGS)

# All contracts also on Distributed tables, of one shard and of two, and what is drawn at random on two,
# too: an hour. `make long` has some contracts on two.
contracts: $(VENV)/.dev
	VEDETTE_TEST_STORES=1 $(PYTEST) -n $(WORKERS) tests/contract tests/property $(ARGS)

# Damaged files of programs by the ten thousand, and 50,000 requests of schemathesis, made of /openapi.json.
# `make long` has a few of each.
fuzz: $(VENV)/.dev
	VEDETTE_FUZZ_FILES=$(or $(FILES),20000) $(BIN)/python -m pytest -q tests/unit/binaries/test_damaged_files.py $(ARGS)
	VEDETTE_FUZZ_REQUESTS=$(or $(REQUESTS),50000) $(BIN)/python -m pytest -s tests/flow/test_openapi_fuzz.py $(ARGS)

# The console in a browser, also what takes minutes: every screen, narrow and by keyboard.
browser: $(VENV)/.dev
	VEDETTE_TEST_BROWSER=1 $(BIN)/python -m pytest -q tests/browser $(ARGS)

# Two halves that need nothing of each other: `make -j2 check` runs them side by side.
check: types rules

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests bench scripts

rules: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/house

# The pages of docs/reference and the console's catalogues, from the code; `make check` fails until they
# are up to date, and each new text is translated.
docs: $(VENV)/.dev
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.catalogue

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(PART)

# Every screen of the console in light, dark and on a phone; a demo has to run.
screenshots: $(VENV)/.dev
	$(BIN)/python -m scripts.screenshots screenshots

# Pins with hashes; index addresses never enter the files.
lock:
	sh scripts/make-venv $(VENV)/lock $(PYTHON) && $(VENV)/lock/bin/pip install -q uv
	for name in runtime dev; do \
	  $(VENV)/lock/bin/uv pip compile -q --upgrade --generate-hashes --no-annotate --no-header \
	    --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	    requirements/$$name.in -o requirements/$$name.txt; \
	done

# A wheel and a Debian package, in dist/.
package: $(VENV)/.runtime
	$(BIN)/python -m scripts.package

$(VENV)/bin/pip:
	sh scripts/make-venv $(VENV) $(PYTHON)

$(VENV)/.runtime: $(VENV)/bin/pip requirements/runtime.txt pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

clean:
	rm -rf $(VENV) dist demo-data .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
