#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The house rules that no compiler knows. Lists every breach as file:line, then fails.
. "$(dirname "$0")/lib.sh"

breaches=0
breach() {
  say "$*"
  breaches=$((breaches + 1))
}

# forbid PATTERN REASON FILE...: no line of the files matches the extended regular expression.
forbid() {
  local pattern=$1 reason=$2 hits
  shift 2
  if [ "$#" -eq 0 ]; then return; fi
  hits=$(grep -nHE -- "$pattern" "$@" || true)
  if [ -n "$hits" ]; then breach "$(sed "s|\$|    <- $reason|" <<< "$hits")"; fi
}

mapfile -t code < <(sources)
mapfile -t library < <(sources halftone | grep -vE '^halftone/(cli|report)/|_(test|bench|test_program)\.cc$')
mapfile -t no_kernels < <(sources | grep -v '^halftone/kernels/')
mapfile -t build_files < <(find . -path ./build -prune -o \
  \( -name CMakeLists.txt -o -name '*.cmake' -o -name CMakePresets.json -o -name Makefile \) -print)
mapfile -t documents < <(find . -path ./build -prune -o -name '*.md' -print)
[ "${#code[@]}" -gt 0 ] || die "no sources found"

for module in halftone/*/; do
  if [ -f "$module/CMakeLists.txt" ] && [ ! -f "$module/README.md" ]; then breach "${module}README.md is missing"; fi
done

for file in "${code[@]}"; do
  IFS= read -r first < "$file" || true
  if [ "$first" != "// SPDX-License-Identifier: Apache-2.0" ]; then breach "$file:1: the SPDX line is missing"; fi
  if [[ "$file" == *.h || "$file" == *.hpp ]] && [[ "$file" != *-inl.h ]] && ! grep -qx '#pragma once' "$file"; then
    breach "$file: #pragma once is missing"
  fi
  lines=$(wc -l < "$file")
  if [ "$lines" -gt 600 ]; then breach "$file: $lines lines; at most 600, look for a seam from 400"; fi
done

forbid '-m(arch|tune|avx|sse)[0-9a-z.]*\b' 'no machine flags: kernels choose their target at run time' "${build_files[@]}"
forbid '-march=|__attribute__\(\(target|#pragma GCC target' 'only kernels choose a machine target' "${no_kernels[@]}"
todo=$(grep -nHE '\b(TODO|FIXME|XXX)\b' "${code[@]}" "${build_files[@]}" | grep -vE 'TODO\(#[0-9]+\):' || true)
if [ -n "$todo" ]; then breach "$(sed 's|$|    <- needs an issue number: TODO(#12): ...|' <<< "$todo")"; fi
forbid '(/home/|/root/|/Users/)[A-Za-z0-9_]' 'a path of one machine' "${code[@]}" "${build_files[@]}" "${documents[@]}"
forbid 'std::(cout|cerr|clog)\b|\b(std::)?(printf|puts)\(|fmt::print\(' 'a library does not print' "${library[@]}"
# _exit is another matter: it ends a child process that a library made.
forbid '\b(std::)?(exit|quick_exit|abort)\(' 'a library does not exit' "${library[@]}"
forbid '(^|[^A-Za-z_])(new [A-Za-z_:]+[({\[]|delete (\[\] ?)?[a-z_]+;|malloc\(|free\()' 'owners only: no new, delete, malloc' "${library[@]}"

# These throw exceptions of their own, without a path that is printable or an exit code.
throwing=$(grep -nHE '(filesystem|fs)::(absolute|canonical|directory_iterator|equivalent|exists|file_size|is_[a-z_]+|status|weakly_canonical)\(' \
  "${library[@]}" halftone/cli/*.cc | grep -vE '(error|ignored)\)' || true)
if [ -n "$throwing" ]; then breach "$(sed 's|$|    <- throws: ask halftone/base/paths.h|' <<< "$throwing")"; fi

# Functions of at most 40 lines and five parameters. Bodies compiled once per SIMD target keep their
# state in arguments and registers: 60 lines and eight parameters. Tables of test cases may be long.
# Exceptions are listed, with their reasons, in scripts/allowed_sizes.txt.
mapfile -t sizes < <(awk -f scripts/function_sizes.awk "${code[@]}" | awk -F '\t' '
  FNR == NR { allowed[$0] = 1; next }
  {
    split($1, at, ":")
    folder = at[1]
    sub(/\/[^\/]*$/, "", folder)
    is_test = at[1] ~ /^tests\/|_test\.cc$|testing\.(h|cc)$/
    max_lines = $5 == "target" ? 60 : 40
    max_parameters = $5 == "target" ? 8 : 5
    if (((folder " " $2) in allowed) || (("* " $2) in allowed)) next
    if ($3 > max_lines && !is_test)
      print $1 ": " $2 "() has " $3 " lines, at most " max_lines
    if ($4 > max_parameters)
      print $1 ": " $2 "() has " $4 " parameters, at most " max_parameters
  }' scripts/allowed_sizes.txt -)
if [ "${#sizes[@]}" -gt 0 ]; then
  breach "$(printf '%s\n' "${sizes[@]}" | sed 's|$|    <- split it, or take an options struct (docs/style.md)|')"
fi

[ "$breaches" -eq 0 ] || die "$breaches kinds of breach"
