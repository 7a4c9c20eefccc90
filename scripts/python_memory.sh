#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the C API and of the Python package under Clang's address sanitizer, which also looks
# for memory that nothing refers to in the end. Takes some minutes. HALFTONE_PYTHON names an
# interpreter that has nanobind, NumPy and pytest; further arguments are for pytest.
. "$(dirname "$0")/lib.sh"

python=$(command -v "${HALFTONE_PYTHON:-python3}") || die "no Python; HALFTONE_PYTHON names one"
"$python" -c 'import nanobind, numpy, pytest' || die "$python lacks nanobind, NumPy or pytest"
runtime=$(clang++-14 -print-file-name=libclang_rt.asan-x86_64.so)
plain_addresses=(setarch "$(uname -m)" -R)
"${plain_addresses[@]}" true 2> /dev/null || plain_addresses=()

cmake --preset asan -DHALFTONE_WITH_PYTHON=ON -DPython_EXECUTABLE="$python" > /dev/null
cmake --build --preset asan --target _halftone _halftone_spmd library_test
"${plain_addresses[@]}" build/asan/modules/library/library_test --gtest_brief=1

reports=$PWD/build/asan/python_reports
rm -rf "$reports"
mkdir -p "$reports"
# Leaks are judged below: `import numpy` alone leaks some 3 KB. Type checkers are programs of others.
"${plain_addresses[@]}" env LD_PRELOAD="$runtime" PYTHONMALLOC=malloc OMP_WAIT_POLICY=passive \
  ASAN_OPTIONS="detect_leaks=1:malloc_context_size=12:log_path=$reports/report" \
  LSAN_OPTIONS="exitcode=0" PYTHONPATH="$PWD/build/asan/python" \
  "$python" -m pytest -q -p no:cacheprovider --deselect python/tests/test_types.py "${@:-python/tests}"

# A leak of ours was allocated by a function of the module, or is an object of Python, whose stacks are
# short: then there are more with every test.
awk '
  FNR == 1 { in_leak = 0 }
  /ERROR: AddressSanitizer/ { print FILENAME ": " $0; bad = 1 }
  /^SUMMARY: .* leaked/ && $3 > 8192 { print FILENAME ": " $0; bad = 1 }
  /^(Direct|Indirect) leak/ { leak = $0; in_leak = 1 }
  in_leak && /_halftone/ { print FILENAME ": " leak; print $0; bad = 1; in_leak = 0 }
  /^$/ { in_leak = 0 }
  END { exit bad }
' /dev/null "$reports"/* >&2 || die "see $reports"
say "python_memory.sh: nothing leaked, nothing read or written that is not ours"
