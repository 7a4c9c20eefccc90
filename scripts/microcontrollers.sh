#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the C files of a folder for microcontrollers and runs each program in QEMU: prints what it
# prints, the instructions of its main() and the sizes of its sections, and fails where main() does
# not return 0.
#   scripts/microcontrollers.sh FOLDER            all of them
#   scripts/microcontrollers.sh FOLDER m3 m4      some: m0 m0_large m3 m4 m7 m33 m55 rv32 rv32_zbb
# Instructions repeat exactly; they are no cycles. A program may declare `uint32_t
# instructions(void)` and call it. CFLAGS adds options of the compiler (-O3 and warnings are set).
# Exits with 77 if a compiler or an emulator is missing: `scripts/setup.sh --check-tools` installs
# them.
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "expected a folder of C files"
folder=$(cd "${OLDPWD:-.}" && cd "$1" && pwd)
shift
cores=("$@")
[ ${#cores[@]} -gt 0 ] || cores=(m0 m3 m4 m7 m33 m55 rv32 rv32_zbb)
limit_seconds=120

for program in qemu-system-arm qemu-system-riscv32 arm-none-eabi-gcc riscv64-unknown-elf-gcc; do
  if ! command -v "$program" > /dev/null; then
    say "no $program here"
    exit 77
  fi
done

# Sets `compiler`, `instructions`, `emulator`, `memory` (origin and size of flash, of RAM) and the
# period of a clock.
choose() {
  compiler=(arm-none-eabi-gcc -mthumb)
  emulator=(qemu-system-arm)
  memory=(0 0x400000 0x20000000 0x400000)
  clock_ps=40000
  instructions=() # beyond those that the library was compiled for
  case "$1" in
    m0)
      compiler+=(-mcpu=cortex-m0)
      emulator+=(-M microbit)
      memory=(0 0x40000 0x20000000 0x4000)
      clock_ps=62500
      ;;
    m0_large) # programs for m0 that need more memory, on an emulated m3
      compiler+=(-mcpu=cortex-m0)
      emulator+=(-M mps2-an385)
      ;;
    m3) compiler+=(-mcpu=cortex-m3) && emulator+=(-M mps2-an385) ;;
    m4) compiler+=(-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16) && emulator+=(-M mps2-an386) ;;
    m7) compiler+=(-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16) && emulator+=(-M mps2-an500) ;;
    m33)
      compiler+=(-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16)
      emulator+=(-M mps2-an505)
      memory=(0x10000000 0x400000 0x38000000 0x200000)
      clock_ps=50000
      ;;
    m55)
      compiler+=(-mcpu=cortex-m55 -mfloat-abi=hard)
      emulator+=(-M mps3-an547)
      memory=(0x10000000 0x80000 0x30000000 0x80000)
      clock_ps=31250
      ;;
    rv32)
      compiler=(riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32)
      emulator=(qemu-system-riscv32 -M virt -bios none)
      memory=(0x80000000 0x400000 0x80400000 0x400000)
      ;;
    rv32_zbb)
      choose rv32
      instructions=(-march=rv32imac_zbb)
      emulator+=(-cpu rv32,zbb=true)
      ;;
    *) die "unknown core '$1'; there are m0 m0_large m3 m4 m7 m33 m55 rv32 rv32_zbb" ;;
  esac
}

root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() {
  local elf=$scratch/$1.elf
  choose "$1"
  # shellcheck disable=SC2086
  (
    cd "$scratch"
    rm -f ./*.o
    "${compiler[@]}" "${instructions[@]}" -std=c99 -O3 -ffp-contract=off -ffunction-sections \
      -fdata-sections ${CFLAGS:-} --specs=picolibc.specs -I"$folder" -DCLOCK_PS=${clock_ps}u -c \
      "$folder"/*.c "$root/tests/microcontrollers/instructions.c"
    "${compiler[@]}" --specs=picolibc.specs --oslib=semihost --crt0=semihost ./*.o -o "$elf" \
      -Tpicolibc.ld -Wl,--gc-sections,--wrap=main \
      -Wl,--defsym=__flash="${memory[0]}",--defsym=__flash_size="${memory[1]}" \
      -Wl,--defsym=__ram="${memory[2]}",--defsym=__ram_size="${memory[3]}"
  ) || return 1
  local sizes
  sizes=$(riscv64-unknown-elf-size "$elf" 2> /dev/null || arm-none-eabi-size "$elf")
  awk -v core="$1" 'NR == 2 { print core ": text " $1 ", data " $2 ", bss " $3 " bytes" }' <<< "$sizes"
  timeout "$limit_seconds" "${emulator[@]}" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -icount shift=10,align=off,sleep=off \
    -kernel "$elf" < /dev/null 2>&1 | sed "s/^/$1: /"
}

failed=()
for core in "${cores[@]}"; do run "$core" || failed+=("$core"); done
[ ${#failed[@]} -eq 0 ] || die "failed on ${failed[*]}"
