#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares every source with the house format; --write rewrites them.
. "$(dirname "$0")/lib.sh"

mode=(--dry-run -Werror)
if [ "${1:-}" = --write ]; then mode=(-i); fi
sources | xargs -r -n 20 -P "$(cores)" clang-format-14 --style=file "${mode[@]}" ||
  die "not in the house format; 'make format' rewrites the sources"
