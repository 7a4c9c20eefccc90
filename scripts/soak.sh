#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Asks the server many times, a third of them as no client should: soak.sh [REQUESTS] [CONNECTIONS].
. "$(dirname "$0")/lib.sh"

python3 tests/serve_soak.py build/release/halftone "${1:-10000}" "${2:-2000}"
