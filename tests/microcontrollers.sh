#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The products of the C kernels have the right sums on every emulated microcontroller.
#   tests/microcontrollers.sh PROGRAM    PROGRAM is microcontroller_products
# Exits with 77 where a compiler or an emulator is missing.
set -euo pipefail
program=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" "$root/halftone/export_c/text" "$folder" small
"$root/scripts/microcontrollers.sh" "$folder"
