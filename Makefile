# The project's verbs. Each installs what it needs first; nothing that is up to date is done again.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build test demo bench gpu-test format lint clean \
        unit-tests python-tests fuzz-tests asan tsan fuzz bench-programs

PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
SERVER_ENVIRONMENT := .venv/bin

help: ## Show the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

# What everything stands on: Debian packages and the Python environment.
build/.packages: packages.txt tools/install-packages.sh
	tools/install-packages.sh packages.txt
	@mkdir -p build && touch $@

.venv/.ready: build/.packages pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv/bin/python -m pip install --quiet --group dev
	echo "$(CURDIR)/python" > "$$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/kcoral.pth"
	ln -sf ../../build/kcoral .venv/bin/kcoral
	@touch $@

# One CMake tree a preset.
build/%/build.ninja: .venv/.ready CMakePresets.json
	cmake --preset $* > build/$*.log || { cat build/$*.log; exit 1; }
	@touch $@

build: build/release/build.ninja ## Build build/kcoral and the worker's extension
	cmake --build --preset release -j $(JOBS)

asan tsan: %: build/%/build.ninja
	cmake --build --preset $* -j $(JOBS)
	ctest --preset $* -j $(JOBS)

unit-tests: asan tsan

python-tests: build
	.venv/bin/python -m pytest

fuzz: build/fuzz/build.ninja
	cmake --build --preset fuzz -j $(JOBS)

fuzz-tests: fuzz
	tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

test: ## Build and run every test: sanitized unit tests, whole-program tests, a short fuzz run
	$(MAKE) --no-print-directory build
	$(MAKE) --no-print-directory asan
	$(MAKE) --no-print-directory tsan
	$(MAKE) --no-print-directory fuzz-tests
	$(MAKE) --no-print-directory python-tests

demo: build ## Start a server, run a first program and a compile job, show their results
	.venv/bin/python examples/demo.py

bench-programs: build/bench/build.ninja
	cmake --build --preset bench -j $(JOBS)

bench: build bench-programs ## Measure: HTTP, workers, uploads; prints ratios
	bench/run.sh build/bench

gpu-test: ## Run everything that needs a real GPU and write docs/reports/ (on a GPU machine)
	tests/gpu/run.sh

format: .venv/.ready ## Lay out all code
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i
	.venv/bin/ruff format python tests examples bench
	.venv/bin/ruff check --fix python tests examples bench

lint: build/dev/build.ninja ## Check layout, types and the static analyses
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 --dry-run --Werror
	.venv/bin/ruff format --check python tests examples bench
	.venv/bin/ruff check python tests examples bench
	.venv/bin/mypy
	git ls-files 'src/*.cpp' | grep -v _test.cpp | xargs -P $(JOBS) -n 4 clang-tidy-19 -p build/dev --quiet

clean: ## Remove everything that was built (not .venv)
	rm -rf build python/kcoral/_core*.so
