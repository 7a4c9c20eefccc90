#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the SIMD targets that the kernels of this processor do not need, for HALFTONE_SIMD_LEFT_OUT:
# a third of the time to build goes into them.
. "$(dirname "$0")/lib.sh"

here=$(g++ -march=native -dM -E -x c++ /dev/null)
case "$here" in
  *__AVX512VBMI2__*) echo 'HWY_SSE4|HWY_AVX2|HWY_AVX3' ;;
  *__AVX2__*) echo 'HWY_SSE4|HWY_AVX3|HWY_AVX3_DL' ;;
  *) echo 0 ;;
esac
