#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages Halftone needs, those only that are missing.
#   scripts/setup.sh                what building and running the program needs
#   scripts/setup.sh --tests        also what most tests and benchmarks need, and MPI
#   scripts/setup.sh --training     also what training needs
#   scripts/setup.sh --check-tools  also what `make check` needs
#   scripts/setup.sh --package-tools  also what `make deb` and its test need
#   scripts/setup.sh --emulator-tools  also what scripts/test_avx512.sh needs
#   scripts/setup.sh --verify       installs nothing; fails and names what is missing
# HALFTONE_SKIP_SETUP=1 skips it, for other systems, where the libraries come from elsewhere.
. "$(dirname "$0")/lib.sh"

build_packages=(
  g++ make cmake ninja-build pkg-config          # compile
  libdnnl-dev ocl-icd-opencl-dev                 # float layers, optional; its CMake files ask for OpenCL
  libhwy-dev libeigen3-dev                       # SIMD, dense algebra
  libflatbuffers-dev flatbuffers-compiler        # TFLite, circle
  libprotobuf-dev protobuf-compiler              # ONNX
  libhdf5-dev zlib1g-dev                         # data sets
  libpcre2-dev libutf8proc-dev                   # text of language models
  libcpp-httplib-dev libssl-dev                  # serving them, optional
  libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev    # command line, text, recipes
  jq                                             # the demo reads reports
)
test_packages=(
  libopenmpi-dev openmpi-bin                     # several processes and machines
  libgtest-dev libgmock-dev libonnx-testdata     # tests
  ngspice                                        # test of resistive networks
  openssl                                        # a certificate for a test of the server
  verilator                                      # tests of arrays in Verilog
  libstb-dev                                     # an example reads images
  ocl-icd-libopencl1 pocl-opencl-icd             # kernels of graphics cards, on the processor
  libbenchmark-dev libopenblas-dev               # benchmarks, and what they compare with
)
training_packages=(
  libtorch-dev                                   # tensors with gradients
)
check_packages=(
  clang-14 libclang-rt-14-dev                    # second compiler, sanitizers, libFuzzer
  clang-format-14 clang-tidy-14 git
  python3-dev python3-venv                       # the Python module and what tests compare with
  doxygen                                        # pages of the public headers
  chromium clang lld                             # test of pages about networks, and modules for them
  glpk-utils                                     # oracle of the knapsack
  g++-aarch64-linux-gnu qemu-user                # 64-bit Arm
  qemu-system-arm qemu-system-misc gcc-arm-none-eabi gcc-riscv64-unknown-elf    # microcontrollers
  picolibc-arm-none-eabi picolibc-riscv64-unknown-elf    # their C library
)
package_packages=(
  dpkg-dev file                                  # dependencies of packages
  debootstrap lintian shellcheck mandoc zsh      # tests of packages, scripts and the manual
)
emulator_packages=(
  bochs bochs-term                               # a processor with AVX-512
  busybox-static isolinux syslinux-common cpio xorriso  # a system for it
)

packages=("${build_packages[@]}")
options=""
verify=0
for argument in "$@"; do
  case "$argument" in
    --training) packages+=("${training_packages[@]}") ;;
    --tests)
      packages+=("${test_packages[@]}")
      options+=" $argument"
      ;;
    --check-tools) packages+=("${test_packages[@]}" "${training_packages[@]}" "${check_packages[@]}") ;;
    --package-tools)
      packages+=("${package_packages[@]}")
      options+=" $argument"
      ;;
    --emulator-tools)
      packages+=("${emulator_packages[@]}")
      options+=" $argument"
      ;;
    --verify) verify=1 ;;
    *) die "unknown option $argument; see the head of scripts/setup.sh" ;;
  esac
done

if [ "${HALFTONE_SKIP_SETUP:-0}" = 1 ]; then exit 0; fi
if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  die "needs Debian 12 or a relative (no apt-get here); install the equivalents of: ${packages[*]}; then set HALFTONE_SKIP_SETUP=1"
fi

installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2> /dev/null |
  awk '$2 == "installed" { print $1 }' || true)
missing=()
for package in "${packages[@]}"; do
  if ! grep -qxF -- "$package" <<< "$installed"; then missing+=("$package"); fi
done
if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi
if [ "$verify" = 1 ]; then die "missing packages: ${missing[*]}; 'scripts/setup.sh$options' installs them"; fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null ||
    die "not root and no sudo; ask an administrator for: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" > "$log" 2>&1 < /dev/null; then
    tail -n 20 "$log" >&2
    die "apt-get $1 failed (its last lines are above)"
  fi
}
say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
# A half-reachable list of packages may do; whether it did, the installation tells.
"${as_root[@]}" apt-get -q update > "$log" 2>&1 < /dev/null || tail -n 3 "$log" >&2
apt install --yes --no-install-recommends "${missing[@]}"
