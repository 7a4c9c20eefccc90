# SPDX-License-Identifier: Apache-2.0
# Short names for the usual jobs. CMakePresets.json says how things are built, scripts/ what a job does.

MAKEFLAGS += --no-print-directory
RELEASE := build/release
PREFIX := /usr/local

.DEFAULT_GOAL := build
.PHONY: build train demo test test-peers check check-all lint format bench figures docs install deb wheels test-deb setup clean help

build:  ## Build the program: build/release/halftone (the default)
	@scripts/setup.sh --verify
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target halftone

train:  ## Set up, and build the program that trains too: build/release/halftone-train (libtorch)
	@scripts/setup.sh --training
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target halftone halftone-train

demo:  ## Set up, build (at first for this processor only), and take the bundled network to 3, 2 and 1 bits
	@scripts/setup.sh
	@[ -e $(RELEASE)/build.ninja ] || \
	  cmake --preset release -D HALFTONE_SIMD_LEFT_OUT="$$(scripts/other_simd.sh)" > /dev/null
	@cmake --build --preset release --target halftone
	@scripts/demo.sh

test:  ## Set up, build, and run every test
	@scripts/setup.sh --tests --training
	@scripts/test.sh

test-peers:  ## The tests beside other packages, which are installed into build/ (PyPI, 10 GB; an hour)
	@scripts/setup.sh --tests --training
	@scripts/peers.sh --all
	@scripts/test.sh -L peers

check:  ## What a change must pass: both compilers, sanitizers, fuzzers, lint (see CONTRIBUTING.md)
	@scripts/setup.sh --check-tools
	@scripts/check.sh

check-all:  ## Every check and test there is, without a limit of time (root, network; some hours)
	@$(MAKE) check
	@$(MAKE) test-peers
	@$(MAKE) test
	@$(MAKE) test-deb

lint:  ## House rules, layers, format, clang-tidy
	@scripts/setup.sh --check-tools
	@scripts/check.sh rules format tidy

format:  ## Rewrite the sources in the house format
	@scripts/setup.sh --check-tools
	@scripts/format.sh --write

bench:  ## Measure Halftone beside its peers (FILTER=regex, BASELINE=earlier.json, ARGS='--simd AVX2 ...')
	@scripts/setup.sh --tests
	@scripts/bench.sh $(if $(FILTER),'$(FILTER)') $(if $(BASELINE),--baseline '$(BASELINE)') $(ARGS)

figures:  ## Compare the figures in documents with what their commands print, in half an hour (HOURS=1: all)
	@$(MAKE) build
	@scripts/figures.sh $(if $(HOURS),--hours)

docs:  ## Pages of the C and C++ headers: build/docs/html/index.html
	@scripts/setup.sh --check-tools
	@scripts/docs.sh

install: build  ## Install the program and the libraries (PREFIX=/usr/local, DESTDIR=)
	@cmake --build --preset release --target halftone_libraries halftone_texts
	@cmake --install $(RELEASE) --prefix '$(PREFIX)'

deb:  ## Make Debian packages: build/release/packages/*.deb
	@scripts/setup.sh --tests --training --package-tools
	@cmake --preset release > /dev/null
	@cmake --build --preset release --target deb

wheels:  ## Make wheels and the source archive of the Python package: build/wheels (PyPI; PYTHONS='python3.11 ...')
	@scripts/setup.sh --check-tools
	@scripts/wheels.sh $(PYTHONS)

test-deb: deb  ## Install packages, and wheels if made, in new Debian systems and try them (root, network, ten minutes)
	@ctest --test-dir $(RELEASE) -L packages --output-on-failure

setup:  ## Install the Debian packages that are missing, those of most tests and MPI too
	@scripts/setup.sh --tests

clean:  ## Remove everything that was built
	rm -rf build

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 16
