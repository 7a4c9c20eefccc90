#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs Python as tests do: with what scripts/peers.sh installed, where it did.
#   scripts/python.sh FILE ARGUMENT ...
# HALFTONE_PYTHON names another interpreter, HALFTONE_LLAMA_CPP another folder with the sources of
# llama.cpp, HALFTONE_PACKAGES another one with packages that hold tokenizers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
peers=$root/build/peers
if [ -x "$peers/bin/python" ]; then
  export HALFTONE_PYTHON=${HALFTONE_PYTHON:-$peers/bin/python}
fi
if [ -d "$peers/llama.cpp" ]; then export HALFTONE_LLAMA_CPP=${HALFTONE_LLAMA_CPP:-$peers/llama.cpp}; fi
if [ -d "$peers/packages" ]; then export HALFTONE_PACKAGES=${HALFTONE_PACKAGES:-$peers/packages}; fi
exec "${HALFTONE_PYTHON:-python3}" "$@"
