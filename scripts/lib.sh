# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts, which source it: the repository root as working folder, and a few words.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$(basename "$0"): $*"
  exit 1
}

# Every C++ source of ours, tracked or about to be; further arguments narrow it to folders.
sources() {
  if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@"
  else
    find "${@:-.}" -path ./build -prune -o -type f -print | sed 's|^\./||'
  fi | grep -E '\.(cc|h|hpp|cu|cuh)$' | while IFS= read -r file; do
    # A deleted file stays in the index until it is committed.
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done
}

# value_of FILE PATH: one value of a JSON document; keys and indices of PATH are joined with dots.
value_of() { jq -er ".$2" "$1"; }

# Options of CMake for the Python module, where Python has what it is built and tested with.
python_module() {
  if scripts/python.sh -c 'import nanobind, numpy, pytest' > /dev/null 2>&1; then
    echo -DHALFTONE_WITH_PYTHON=ON
    scripts/python.sh -c 'import sys; print("-DPython_EXECUTABLE=" + sys.executable)'
  fi
}

cores() { nproc 2> /dev/null || echo 2; }
