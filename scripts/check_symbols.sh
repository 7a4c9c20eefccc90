#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The static libraries of a build neither print nor exit: their objects refer to no function that
# does. `check_symbols.sh build/release`; NM names another nm.
. "$(dirname "$0")/lib.sh"

build=${1:?usage: check_symbols.sh BUILD_FOLDER}
case $build in /*) ;; *) build=$PWD/$build ;; esac

# Functions and streams that print or end the process, as nm -C shows them.
forbidden='abort|exit|_exit|_Exit|quick_exit|__assert_fail|v?f?printf|__v?f?printf_chk|puts|fputs'
forbidden+='|putchar|fputc|putc|perror|stdout|stderr|std::(cout|cerr|clog|wcout|wcerr|wclog)'
forbidden+='|fmt::(v[0-9]+::)?v?print\(.*'

# LIBRARY SYMBOL, each with its reason.
allowed=(
  # The message of a rank that fails, right before MPI_Abort ends all ranks (spmd/mpi.cc).
  'libhalftone_spmd_mpi.a fprintf' 'libhalftone_spmd_mpi.a stderr'
  # Ends the child process in which the HDF5 library runs (data/hdf5_worker.cc).
  'libhalftone_data.a _exit'
)

# The command line prints; the libraries of tests may.
mapfile -t libraries < <(find "$build/modules" -name 'lib*.a' \
  ! -name 'libhalftone_cli.a' ! -name 'libhalftone_*testing.a' | sort)
[ "${#libraries[@]}" -gt 0 ] || die "no libraries in $build/modules"

breaches=0
for library in "${libraries[@]}"; do
  symbols=$("${NM:-nm}" -u -C "$library")
  [[ "$symbols" == *.o:* ]] || die "nm lists no objects of $library"
  while IFS= read -r symbol; do
    pair="$(basename "$library") $symbol"
    if printf '%s\n' "${allowed[@]}" | grep -qxF -- "$pair"; then continue; fi
    say "$library refers to $symbol    <- a library neither prints nor exits"
    breaches=$((breaches + 1))
  done < <(sed -nE "s/^ +[Uwv] (($forbidden))(@.*)?\$/\1/p" <<< "$symbols" | sort -u)
done
[ "$breaches" -eq 0 ] || die "$breaches symbols that print or exit"
