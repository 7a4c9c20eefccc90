#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a change must pass before it lands. Arguments choose steps; without, all, in this order.
# CHECK_SECONDS, if set, bounds the time: when it is over no step begins, and asan, fuzz and tidy stop;
# arm, which takes longest, is left out. The last line names what was not done to its end.
. "$(dirname "$0")/lib.sh"

# The sanitizers of Clang 14 want the old, narrower address randomisation; not every container lets us ask.
plain_addresses=(setarch "$(uname -m)" -R)
"${plain_addresses[@]}" true 2> /dev/null || plain_addresses=()

check_rules() {
  scripts/check_rules.sh
  scripts/check_layers.sh
  scripts/check_names.sh
  scripts/check_prose.sh
  scripts/check_links.sh
}

check_docs() { scripts/docs.sh; }

check_format() { scripts/format.sh; }

# The build that `make test` and `make bench` use; with GCC's warnings as errors from here on.
check_gcc() {
  local options=()
  mapfile -t options < <(python_module)
  cmake --preset release -DHALFTONE_WERROR=ON "${options[@]}" > /dev/null
  cmake --build --preset release --target all benchmarks
}

# Fits and training once more as the libraries compute on other processors.
check_switches() {
  local setting
  for setting in "OPENBLAS_CORETYPE=Prescott DNNL_MAX_CPU_ISA=SSE41 ATEN_CPU_CAPABILITY=default" \
    "OPENBLAS_CORETYPE=Haswell DNNL_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2"; do
    say "with $setting"
    # shellcheck disable=SC2086 # several variables
    env $setting ctest --preset release -j "$(cores)" -R '^(fit|gradient|compress|train)_test/'
  done
}

# Seconds that are left, at least one.
seconds_left() {
  local left=$((${CHECK_SECONDS:-86400} - SECONDS))
  echo "$((left > 1 ? left : 1))"
}

# What time did not suffice for, which is no failure but is said at the end.
incomplete=()

# Runs a command of a step until the time is over.
within_time() {
  local code=0
  timeout "$(seconds_left)" "$@" || code=$?
  if [ "$code" -eq 124 ]; then incomplete+=("$step"); else return "$code"; fi
}

# One build is the second compiler, the sanitizers and the fuzzers.
check_asan() {
  cmake --preset asan > /dev/null
  within_time cmake --build --preset asan
  if [ "$(seconds_left)" -gt 1 ]; then
    within_time "${plain_addresses[@]}" ctest --preset asan -j "$(cores)" --stop-on-failure
  fi
}

check_fuzz() { within_time "${plain_addresses[@]}" scripts/fuzz_smoke.sh 10; }

# The kernels on the other architecture: cross-compiled, run by an emulator.
check_neon() {
  scripts/arm64_libraries.sh
  cmake --preset neon > /dev/null
  cmake --build --preset neon
  ctest --preset neon -j "$(cores)"
  # QEMU's own processor has dot products of bytes, this one has none.
  qemu-aarch64 -cpu cortex-a57 -L build/arm64/root build/neon/modules/kernels/kernels_test \
    --gtest_brief=1 --gtest_filter='Targets.*:Simd/SameBits.*:Simd/Int8Matmul.*'
}

check_tsan() {
  cmake --preset tsan > /dev/null
  cmake --build --preset tsan
  "${plain_addresses[@]}" ctest --preset tsan -j "$(cores)"
}

# The fitted files on the other architecture: the whole program and four fits, each a hundred times
# slower than here.
check_arm() {
  if [ -n "${CHECK_SECONDS:-}" ]; then
    incomplete+=(arm)
    return
  fi
  scripts/arm64_libraries.sh
  cmake --preset neon > /dev/null
  cmake --build --preset arm
  ctest --preset arm -j "$(cores)"
}

# What clang-tidy looks at: every source that its build compiles, what changed last first. Tests,
# benchmarks and what Clang cannot compile are not in that build.
tidy_sources() {
  local compiled=build/tidy/compiled.txt
  sed -n "s|^ *\"file\": \"$PWD/\(halftone/.*\.cc\)\".*|\1|p" build/tidy/compile_commands.json > "$compiled"
  [ -s "$compiled" ] || die "build/tidy/compile_commands.json names no source"
  { git log --format= --name-only -- halftone 2> /dev/null; sources halftone; } | awk '!seen[$0]++' |
    grep -Fxf "$compiled"
}

tidy_one() {
  if clang-tidy-14 -p build/tidy --quiet "$1" 2> >(grep -v 'warnings generated' >&2); then
    printf '.' >&2
  else
    touch build/tidy/findings
  fi
}

# What is generated must be there for those who include it.
check_tidy() {
  cmake --preset tidy > /dev/null
  cmake --build --preset tidy
  export -f tidy_one
  rm -f build/tidy/findings
  tidy_sources > build/tidy/sources.txt
  within_time xargs -a build/tidy/sources.txt -I{} -P "$(cores)" bash -c 'tidy_one {}'
  say
  [ ! -e build/tidy/findings ]
}

all_steps=(rules format docs gcc switches asan fuzz neon tsan arm tidy)
steps=("$@")
if [ "${#steps[@]}" -eq 0 ]; then steps=("${all_steps[@]}"); fi
timings=""
for step in "${steps[@]}"; do
  declare -F "check_$step" > /dev/null || die "unknown step $step; there are: ${all_steps[*]}"
  say "== check: $step"
  begin=$SECONDS
  if [ "$(seconds_left)" -le 1 ]; then
    incomplete+=("$step")
    continue
  fi
  "check_$step"
  timings+=" $step $((SECONDS - begin)) s;"
done
if [ "${#incomplete[@]}" -eq 0 ]; then
  say "== check passed:${timings%;}"
else
  mapfile -t incomplete < <(printf '%s\n' "${incomplete[@]}" | awk '!seen[$0]++')
  say "== check incomplete, the time was over for: ${incomplete[*]}; no error in:${timings%;}"
fi
