# Two commands suffice on a machine with Rust, Python 3.11 and a C compiler:
#   make demo    builds, runs the bundled trace and a fio job, evaluates the papers' claims, writes reports
#   make test    builds, and runs every test without further dependencies
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Cache of prepared drives, so that each is prepared only once.
export NANDRAM_CACHE ?= $(CURDIR)/build/drives
CARGO_TARGET_DIR ?= $(CURDIR)/target
export CARGO_TARGET_DIR
# Print only failures.
export PIP_QUIET := 1
export PIP_ROOT_USER_ACTION := ignore
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Every package in the version that was tested.
export PIP_CONSTRAINT ?= $(CURDIR)/python/constraints.txt

.PHONY: demo check test test-rust test-python test-system hunt mutants fuzz-controller loom dramsim3 probe-accuracy main-memory standard-jobs steady-start until-coverage lsm-tree serving validate validate-refit fit-blind robustness docs-all bench bench-mapped bench-memory bench-guest memory-compared memory-endless dramsim3-compared programs traces docs notebooks wheel constraints lint build plugin nbd fio-engine
.PHONY: clean help

# Served language models over offered load, written to docs/serving.md.
serving: build
	$(BIN)/python examples/kvcache/measure.py

# Lists the targets.
help:
	@awk '/^# / { text = text substr($$0, 2); next } /^[A-Z_]+ [?:]?=/ { next } \
		/^[a-z0-9-]+:/ { sub(/:.*/, "", $$1); sub(/^ /, "", text); sub(/\. .*/, "", text); sub(/\.$$/, "", text); \
		if (text != "") printf "  make %-16s %s\n", $$1, text } { text = "" }' Makefile

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade pip 'maturin>=1.9,<2'

# Builds the Python package into .venv.
build: $(BIN)/python
	$(BIN)/python -m pip install --group dev
	PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --strip --quiet
	$(MAKE) --no-print-directory plugin

# The plug-in that QEMU loads and the guest's probe (Linux only), where the Python package finds them. The probe needs no libraries.
# Installed as new files, since a running guest has the old ones in its memory.
plugin:
	if [ "$$(uname)" = Linux ]; then mkdir -p python/nandram/guest/lib && cargo rustc --release --quiet --package clock_plugin -- -C strip=symbols && \
		install "$(CARGO_TARGET_DIR)/release/libclock_plugin.so" python/nandram/guest/lib/libnandram_clock.so && \
		cargo rustc --release --quiet --package probe --bin nandram-probe -- -C target-feature=+crt-static -C strip=symbols && \
		install "$(CARGO_TARGET_DIR)/release/nandram-probe" python/nandram/guest/lib/; fi

# The plug-in of nbdkit (Linux only), for `nandram serve --nbd`. Not part of build, because it links the whole drive once more.
nbd:
	mkdir -p python/nandram/lib
	cargo build --release --quiet --package nbd_plugin
	install "$(CARGO_TARGET_DIR)/release/libnbd_plugin.so" python/nandram/lib/libnandram_nbd.so

# The engine for the fio on the PATH (Linux only), in build/fio; FIO_SOURCE is the source of fio if Debian does not have it.
fio-engine: build
	cargo build --release --quiet --package capi
	$(BIN)/python fio_engine/build.py "$(CARGO_TARGET_DIR)/release" build/fio $(if $(FIO_SOURCE),--source "$(FIO_SOURCE)")

# Builds, runs the bundled trace and a fio job, evaluates the papers' claims, and writes reports.
demo: build
	$(BIN)/nandram run nvme-client-tlc examples/sqlite_bank/sqlite-bank.iolog.zst --precondition steady -o results/sqlite-bank
	$(BIN)/nandram run nvme-client-tlc examples/mixed.fio --precondition steady -o results/mixed
	$(BIN)/nandram reproduce
	$(BIN)/nandram report -o results/papers.html
	@echo "Open results/papers.html, results/sqlite-bank/report.html and results/mixed/report.html in a browser."

# The quick tier for development: lint, unit tests, documents, prose and structure.
check: lint
	cargo test --workspace --lib --quiet
	$(BIN)/python -m pytest -q tests/test_documents.py tests/test_prose.py tests/test_structure.py tests/test_rust_structure.py \
		tests/test_spelling.py tests/test_units.py tests/test_schema.py

# Builds, and runs every test without further dependencies.
test: test-rust test-python

# The tests of the Rust crates.
test-rust:
	cargo test --workspace --quiet --no-fail-fast

# A process for each processor; the tests of a file share what was prepared for them.
PYTEST := $(BIN)/python -m pytest -n logical --dist loadfile

# The tests of the Python package.
test-python: build
	$(PYTEST)

# DRAMsim3's C++ interface, for other simulators: build/dramsim3/libdramsim3.so and dramsim3.h. Needs a C++ compiler.
dramsim3:
	mkdir -p build/dramsim3
	cargo build --release --quiet --package dramsim3
	crates/doors/dramsim3/build.sh "$(CARGO_TARGET_DIR)/release" build/dramsim3
	cp crates/doors/dramsim3/cpp/dramsim3.h build/dramsim3/

# One channel of DRAM next to DRAMsim3, whose sources the variable DRAMSIM3 names; replaces the table in docs/dramsim3.md.
dramsim3-compared: dramsim3
	$(PYTHON) bench/dramsim3/compare.py build/dramsim3

# Property tests with SEEDS new seeds, and 20,000 mutated inputs; a failing one is named.
SEEDS ?= 20
hunt: build
	for seed in $$(shuf -i 1-4294967295 -n $(SEEDS)); do echo "PROPTEST_RNG_SEED=$$seed"; \
	PROPTEST_RNG_SEED=$$seed cargo test --workspace --quiet || exit 1; done
	$(BIN)/python tests/mutations.py --count 20000 --seed $$(shuf -i 1-4294967295 -n 1)

# Mutants of comparisons, constants and early exits in five folders, 60 of each, which the tests must notice; at most two hours.
# MUTANT_SEED draws others.
MUTANT_SEED ?= 1
mutants: $(BIN)/python
	$(BIN)/python tests/rust_mutants --seed $(MUTANT_SEED)

# The guest's controller under hostile guests, for SECONDS, from seed SEED on; a failing seed is the last one printed.
SECONDS ?= 14400
SEED ?= $$(shuf -i 1-4294967295 -n 1)
fuzz-controller:
	NANDRAM_FUZZ_SECONDS=$(SECONDS) NANDRAM_FUZZ_SEED=$(SEED) cargo test --package guest --test hostile -- --ignored --nocapture

# The shared buffer's protocol, and each weakened variant, under a model checker. Its flag applies to all crates, so a separate
# target folder avoids rebuilding everything else.
loom:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)/loom" cargo test --package shared_buffer --test loom --quiet

# Checks every memory access of the tests that the script names.
VALGRIND := --config 'target."cfg(unix)".runner = ["$(CURDIR)/tests/valgrind.sh"]'

# Installs the requirements of the remaining tests (as root, on Debian), and runs them.
test-system: build wheel loom nbd
	apt-get update -qq
	apt-get install -y -qq nbdkit libnbd-bin qemu-utils fio fio-examples strace valgrind qemu-user gcc g++ gcc-arm-linux-gnueabi libc6-dev e2fsprogs mount util-linux \
		chromium chromium-driver
	$(MAKE) --no-print-directory fio-engine || echo 'not tested: the fio engine, which cannot be built'
	$(PYTEST) -m system
	CARGO_PROFILE_RELEASE_LTO=off HISTORIES=15 cargo test --release --package sim --package ftl --package storage --lib \
		--test histories --test power_cuts --quiet $(VALGRIND)
	CARGO_PROFILE_RELEASE_LTO=off cargo test --release --workspace --test indices_beyond_tables --quiet $(VALGRIND)
	cargo test --workspace --lib --test block --test files --test concurrent_readers --quiet $(VALGRIND)
	MEMCHECK='valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' \
		cargo test --workspace --test c --quiet every_call
	cargo test --workspace --test host --quiet -- --ignored
	if [ -w /dev/loop-control ]; then cargo test --workspace --test loop_device --quiet $(VALGRIND) -- --ignored; \
	else echo 'not tested: block devices, because there are no loop devices (/dev/loop-control)'; fi

# The programs of examples/xip, for ARM and x86-64, each at five optimization levels (as root, on Debian 12).
programs:
	apt-get update -qq
	apt-get install -y -qq gcc gcc-arm-linux-gnueabi gcc-arm-none-eabi libnewlib-arm-none-eabi libc6-dev cmake dpkg-dev
	examples/xip/build.sh build/xip

# Regenerates their page traces, which are in the repository.
traces: build programs
	apt-get install -y -qq qemu-user
	$(BIN)/python examples/xip/traces.py build/xip python/nandram/traces/xip

# Measures the accuracy of the probe on randomly drawn drives; writes docs/probe-accuracy.md.
probe-accuracy:
	cargo run --release --quiet --package probe --example accuracy -- 500 2001 2002 2003 > docs/probe-accuracy.md

# Measures main memory and its bounds; writes docs/main-memory.md.
main-memory:
	cargo run --release --quiet --package main_memory --example main_memory > docs/main-memory.md.new
	mv docs/main-memory.md.new docs/main-memory.md

# Runs each drive preset under standard jobs; writes docs/standard-jobs.md.
standard-jobs:
	cargo run --release --quiet --package storage --example standard_jobs > docs/standard-jobs.md.new
	mv docs/standard-jobs.md.new docs/standard-jobs.md

# How often the intervals of `--until` hold the value of a long run; writes docs/until-coverage.md (about twenty minutes).
until-coverage:
	cargo run --release --quiet --package storage --example until_coverage > docs/until-coverage.md.new; status=$$?; \
		mv docs/until-coverage.md.new docs/until-coverage.md; exit $$status

# Random writes from the first request on, for every drive preset; writes docs/steady-start.md (about a quarter of an hour).
steady-start:
	cargo run --release --quiet --package storage --example steady_start > docs/steady-start.md.new
	mv docs/steady-start.md.new docs/steady-start.md

# The files of an LSM tree on a drive with one address space, with placement and with zones; writes docs/lsm-tree.md.
lsm-tree:
	cargo run --release --quiet --package storage --example lsm_tree > docs/lsm-tree.md.new
	mv docs/lsm-tree.md.new docs/lsm-tree.md

# Evaluates the claims of papers in 64 joint draws of everything assumed, and in their counter-models; puts these papers
# into python/nandram/papers/robustness/robustness.json. Each paper takes up to 64 times its quick runs.
ROBUST ?= ddrssd drambus h3 hmb nvmm xip
robustness: build
	$(BIN)/nandram reproduce $(ROBUST) --quick --draws 64 -o build/robustness
	$(BIN)/python -c 'from pathlib import Path; from nandram.papers.robustness.table import keep; keep(Path("build/robustness/robustness.json"))'

# Evaluates the fitted drives on their data, and fits one again; writes docs/validation.md. validate-refit fits all again.
validate: build
	$(BIN)/python drives/validate.py --refit zn540 > docs/validation.md.new
	mv docs/validation.md.new docs/validation.md

# Likewise, after fitting every drive again.
validate-refit: build
	$(BIN)/python drives/validate.py --refit all > docs/validation.md.new
	mv docs/validation.md.new docs/validation.md

# Fits simulated drives drawn at random without their files, and writes docs/fit-blind.md. It takes hours, and resumes.
fit-blind: build
	nice -n 10 $(BIN)/python drives/blind.py

# The documentation site, in build/site; warnings are errors.
docs: build
	$(BIN)/python -m pip install --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Runs every command of the pages, the slow ones and the targets that write a page included, and compares what they print.
docs-all: build
	$(PYTEST) -m docs tests/pages

# Executes the notebooks of the site again; their output is in the repository.
notebooks: build
	$(BIN)/python -m pip install --group docs
	$(BIN)/python docs/notebooks/execute.py

# A wheel that installs without Rust, in build/wheels.
wheel: $(BIN)/python plugin
	$(BIN)/maturin build --release --strip --out build/wheels

# Instruction counts by callgrind, and the cost of long page traces; writes BENCH.md.
bench: build
	bench/instructions.sh

# The duration of sync and rollback at 1, 4 and 16 GiB; needs 23 GiB of disk and an idle machine. Replaces its section of BENCH.md.
bench-memory: build bench-mapped
	$(BIN)/python bench/memory.py

# A memory next to LMDB, SQLite, zarr and np.save (those of them that are installed); writes docs/memory-compared.md.
memory-compared: build
	$(BIN)/python bench/memory_compared.py

# Endless loops of writes, syncs and drops on a medium in memory: 10,000 steps, and until every version entry was taken 20 times.
# Takes hours.
memory-endless:
	STEPS=10000 cargo test --release --package memory --test endless --quiet -- --nocapture write_sync_drop
	for mib in 1024 4096; do TIMES=20 CAPACITY_MIB=$$mib cargo test --release --package memory --test endless --quiet -- \
		--nocapture every_version_entry || exit 1; done

# The duration of a guest's boot and reads, and of reads with fio's engine; needs fetched packages and an idle machine. Replaces its
# section of BENCH.md.
bench-guest: fio-engine
	$(BIN)/nandram guest fetch --folder build/guest
	$(BIN)/python bench/guest.py

# Loads and stores of a mapped memory compared with mmap and O_DIRECT on the same file, cold: ratios of medians of 5 alternating rounds.
# It needs 4 GiB of disk (in build/), and userfaultfd.
bench-mapped:
	mkdir -p build
	rm -f build/bench.memory
	cargo run --release --quiet --package memory --example mapped -- build/bench.memory 2048 50000 5
	rm -f build/bench.memory

# The newest versions of all Python packages, as python/constraints.txt.
constraints:
	rm -rf $(VENV)
	PIP_CONSTRAINT= $(MAKE) build
	PIP_CONSTRAINT= $(BIN)/python -m pip install --group docs
	(sed -n '/^#/p' python/constraints.txt; $(BIN)/python -m pip freeze --exclude nandram) > python/constraints.txt.new
	mv python/constraints.txt.new python/constraints.txt

# Formatting, lints and types of Rust and Python.
lint: build
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cd tests/rust_mutants/lister && cargo fmt --check && cargo clippy --quiet -- -D warnings
	$(BIN)/ruff format --check python tests examples drives fio_engine
	$(BIN)/ruff check python tests examples drives fio_engine
	$(BIN)/mypy

# Removes everything that was built.
clean:
	rm -rf target .venv build results
