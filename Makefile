# What one types. Every target does the set-up that it needs; what is there already is not done again.
.DEFAULT_GOAL := build
.PHONY: help setup test-setup developer-setup packages-setup build test demo site install wheel wheel-arm64 deb image format lint asan tsan valgrind fuzz portable clean
PREFIX ?= /usr/local
sources = $(shell git ls-files '*.cpp' '*.hpp')

help:            ## this list
	@sed -n 's/^\([a-z0-9 -]*\):[^#]*## \(.*\)/make \1|\2/p' Makefile | column -t -s '|'

setup:           ## the Debian packages, ONNX Runtime and ECharts that are missing
	@scripts/setup.sh

test-setup:      ## setup, and the PostgreSQL server, mpirun and QEMU that tests start; those tests are skipped where they cannot be had
	@scripts/setup.sh --test || { scripts/setup.sh && echo "setup: without them, the tests that need them are skipped"; }

developer-setup: ## setup, and clang-format, clang-tidy, chromium and mkdocs
	@scripts/setup.sh --developer

packages-setup:  ## setup, and what makes wheels and tries them
	@scripts/setup.sh --packages

# CMake is run once per preset; from then on Ninja runs it when a CMake file changes.
build/%/build.ninja: | setup
	cmake --preset $*

build: build/release/build.ninja | setup   ## the program, at build/quasar
	cmake --build --preset release --target quasar_program
	@ln -sfn release/quasar build/quasar

demo: build      ## a search on a real model: report and best.onnx in build/demo
	@rm -rf build/demo
	build/quasar search examples/digits/demo.yaml --output-dir build/demo
	@echo "Best model: build/demo/best.onnx   report: build/demo/report.html   figures: build/demo/result.json"

test: build/release/build.ninja | test-setup   ## everything: unit, contract, structure, install and end-to-end tests
	cmake --build --preset release
	ctest --preset release

asan tsan: %: build/%/build.ninja | test-setup   ## the tests under the address and undefined-behaviour (asan) or thread (tsan) sanitizers
	cmake --build --preset $@
	ctest --preset $@

valgrind: build  ## the main path under valgrind (docs/reliability.md)
	@scripts/setup.sh --valgrind
	@tests/sanitizers/valgrind.sh build/quasar

SECONDS ?= 60
fuzz: developer-setup build/fuzz/build.ninja   ## make fuzz SECONDS=60: inputs of a fuzzer's making, so long for every reader (docs/reliability.md)
	cmake --build --preset fuzz
	@python3 tests/fuzz/run.py build/fuzz --seconds $(SECONDS)

portable:        ## the sources compiled for macOS and Windows, to see that they do (docs/install.md)
	@scripts/setup.sh --portable
	@scripts/portable.py

site: build      ## the documentation as pages, in build/site (needs developer-setup)
	@scripts/site.py build/quasar build/release build/site

install: build   ## make install PREFIX=/usr/local: program, library, headers, CMake package
	cmake --install build/release --prefix $(PREFIX)

PYTHONS ?=
wheel: packages-setup build   ## wheels that carry everything, in build/wheels; make wheel PYTHONS="python3.11 python3.12"
	@scripts/wheel.sh $(PYTHONS)

wheel-arm64: packages-setup   ## the same for 64-bit Arm, compiled here for that processor
	@scripts/setup.sh --arm64
	cmake --preset arm64
	cmake --build --preset arm64
	@scripts/wheel.sh --arm64 $(PYTHONS)

deb: packages-setup build   ## the packages quasar, libquasar0.1 and libquasar-dev for Debian 12, in build/deb
	@rm -rf build/deb
	cd build/release && cpack -G DEB
	@rm -rf build/deb/_CPack_Packages
	lintian --fail-on error build/deb/*.deb

image: deb       ## a container image of the name quasar, where docker runs
	docker build -t quasar -f Dockerfile build/deb

format: developer-setup                    ## clang-format on every source file
	clang-format -i $(sources)

lint: developer-setup build/dev/build.ninja   ## clang-tidy on every source file
	run-clang-tidy -quiet -p build/dev '$(CURDIR)/src/.*'

clean:           ## removes build
	rm -rf build
