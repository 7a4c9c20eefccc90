#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test of the release build; CTest's summary comes last.
. "$(dirname "$0")/lib.sh"

cmake --preset release > /dev/null
cmake --build --preset release
ctest --preset release -j "$(cores)"
