# The README's two commands are `make demo` and `make test`; each sets up all it needs.
.DEFAULT_GOAL := help
CORE := $(shell find cpp -name '*.?pp') CMakeLists.txt pyproject.toml tools/setup.sh
RUN := .venv/bin/
FUZZ_RUNS ?= 500000
FUZZ_SECONDS ?= 900
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Tests run in an order shuffled by this number; SEED=default draws one.
SEED ?= 1

.PHONY: help demo test lint pytest coverage cpp-test cpp-tsan cpp-aarch64 fuzz fuzz-python stubs cli-reference method-table pictures docs wheel-test bench clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/.demo-ready  ## real results, a picture and a page of figures, under planaris-demo/
	@$(RUN)planaris demo --out planaris-demo

test: lint cpp-test pytest  ## everything: linters, types, layers, C++ under sanitizers, pytest

lint: .venv/.ready
	$(RUN)ruff check
	$(RUN)ruff format --check
	$(RUN)clang-format --dry-run --Werror $(filter cpp/%,$(CORE))
	$(RUN)mypy
	$(RUN)lint-imports --no-cache

pytest: .venv/.ready
	$(RUN)python -m pytest -n $(JOBS) --dist worksteal -q --randomly-seed=$(SEED)

coverage: .venv/.ready  ## lines and branches of the package that pytest reaches
	$(RUN)python -m pytest -n $(JOBS) --dist worksteal -q --randomly-seed=$(SEED) --cov --cov-report=term --cov-report=html

cpp-test: .venv/.ready
	$(RUN)cmake -G Ninja -S . -B build/sanitize -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(RUN)ninja \
	  -DPLANARIS_PYTHON=OFF -DPLANARIS_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
	  -DPLANARIS_SANITIZE=address,undefined > /dev/null
	$(RUN)cmake --build build/sanitize
	$(RUN)ctest --test-dir build/sanitize --output-on-failure -j $(JOBS)

# The tests that start threads; under ThreadSanitizer everything is ten times slower.
cpp-tsan: .venv/.ready  ## the C++ tests and the fuzz corpora under the thread sanitizer
	$(RUN)cmake -G Ninja -S . -B build/tsan -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(RUN)ninja \
	  -DPLANARIS_PYTHON=OFF -DPLANARIS_TESTS=ON -DCMAKE_BUILD_TYPE=Debug \
	  -DPLANARIS_SANITIZE=thread > /dev/null
	$(RUN)cmake --build build/tsan
	$(RUN)ctest --test-dir build/tsan --output-on-failure -j $(JOBS)

# Needs g++-aarch64-linux-gnu and qemu-user.
cpp-aarch64: .venv/.ready  ## the C++ tests for 64-bit ARM, under qemu
	$(RUN)cmake -G Ninja -S . -B build/aarch64 -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(RUN)ninja \
	  -DCMAKE_TOOLCHAIN_FILE=tools/aarch64.cmake -DPLANARIS_PYTHON=OFF -DPLANARIS_TESTS=ON > /dev/null
	$(RUN)cmake --build build/aarch64
	$(RUN)ctest --test-dir build/aarch64 --output-on-failure -j $(JOBS)

# Needs clang; FUZZ_RUNS executions per target, corpora are kept under build/fuzz.
fuzz: .venv/.ready  ## coverage-guided fuzzing of the text and array kernels
	CXX=clang++ $(RUN)cmake -G Ninja -S . -B build/fuzz -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(RUN)ninja \
	  -DPLANARIS_PYTHON=OFF -DPLANARIS_FUZZ=ON -DCMAKE_BUILD_TYPE=Debug \
	  -DPLANARIS_SANITIZE=address,undefined > /dev/null
	$(RUN)cmake --build build/fuzz
	for target in $(basename $(notdir $(wildcard cpp/fuzz/fuzz_*.cpp))); do \
	  mkdir -p build/fuzz/corpus/$$target && \
	  build/fuzz/$$target -runs=$(FUZZ_RUNS) -timeout=5 -rss_limit_mb=1024 -max_len=512 \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/ \
	    build/fuzz/corpus/$$target cpp/fuzz/corpus/$${target#fuzz_} || exit 1; \
	done

# Needs atheris; FUZZ_SECONDS over all readers, corpora are kept under build/fuzz-python.
fuzz-python: .venv/.ready  ## coverage-guided fuzzing of every reader of files
	$(RUN)python -m pip --disable-pip-version-check install -q --group fuzz
	$(RUN)python tools/fuzz_readers.py build/fuzz-python $(FUZZ_SECONDS)

stubs: .venv/.ready  ## regenerate src/planaris/_core.pyi
	$(RUN)python -m nanobind.stubgen -m planaris._core -o src/planaris/_core.pyi

cli-reference: .venv/.ready  ## regenerate docs/cli.md
	$(RUN)python tools/make_cli_reference.py

method-table: .venv/.ready  ## regenerate docs/methods.md and the names in the help
	$(RUN)python tools/make_method_table.py

pictures: .venv/.ready  ## regenerate the pictures that pages of docs/howto end in
	$(RUN)python tools/make_pictures.py

docs: .venv/.docs-ready  ## the documentation site, under build/site
	$(RUN)python tools/build_docs.py

wheel-test: .venv/.ready  ## build a wheel, test it in a clean environment without a compiler
	tools/check_wheel.sh

bench: .venv/.ready  ## benchmarks against peers
	$(RUN)python -m pytest benchmarks --benchmark-enable -q

.venv/.demo-ready: $(CORE)
	@tools/setup.sh
	@touch $@

.venv/.ready: $(CORE)
	@tools/setup.sh test lint
	@touch $@ .venv/.demo-ready

.venv/.docs-ready: .venv/.ready
	@$(RUN)python -m pip --disable-pip-version-check install -q --group docs
	@touch $@

clean:  ## remove everything that was built
	rm -rf .venv build planaris-demo report
