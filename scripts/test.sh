#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test of the release build; CTest's summary comes last. Arguments are for CTest.
. "$(dirname "$0")/lib.sh"

mapfile -t options < <(python_module)
cmake --preset release "${options[@]}" > /dev/null
cmake --build --preset release
ctest --preset release -j "$(cores)" "$@"
