#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests on an emulated processor with AVX-512, for machines that have none: Bochs boots a Linux
# kernel that runs one test program, prints what it prints, and switches off.
#   scripts/test_avx512.sh                    builds kernels_test; what it has for AVX3 and AVX3_DL
#   scripts/test_avx512.sh PROGRAM            the same of another test program, already built
#   scripts/test_avx512.sh PROGRAM 'FILTER'   other tests; a target that it ends on must have run
# The program finds no files but itself and its libraries. BOCHS_CPU chooses another of the
# processors that `bochs --help cpu` lists: corei7_skylake_x has AVX3 and lacks AVX3_DL.
# Needs `scripts/setup.sh --emulator-tools` once. The first run downloads a Debian kernel, 26 MB, into
# build/avx512; HALFTONE_KERNEL=FILE takes another (tried: Linux 6.1).
. "$(dirname "$0")/lib.sh"

program=${1:-build/release/modules/kernels/kernels_test}
filter=${2:-*/AVX3:*/AVX3_DL}
cpu=${BOCHS_CPU:-corei7_icelake_u}
folder=build/avx512
kernel=${HALFTONE_KERNEL:-$folder/vmlinuz}
serial=$folder/serial.txt
most_seconds=3600

download_kernel() {
  local package
  package=$(apt-cache depends --important linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')
  [ -n "$package" ] || die "apt-get knows no linux-image-cloud-amd64; set HALFTONE_KERNEL to a kernel's file"
  say "Downloading $package into $folder"
  rm -rf "$folder/package"
  mkdir "$folder/package"
  (cd "$folder/package" && apt-get -qq download "$package" && dpkg-deb -x ./*.deb .) > "$folder/download.log" 2>&1 ||
    die "no kernel, see $folder/download.log"
  mv "$folder"/package/boot/vmlinuz-* "$folder/vmlinuz"
  rm -rf "$folder/package"
}

# The whole system: busybox, the program with its libraries, and what to do with them.
make_initrd() {
  local root=$folder/root
  rm -rf "$root"
  mkdir -p "$root/bin" "$root/tmp"
  cp /bin/busybox "$root/bin/"
  cp "$program" "$root/program"
  { ldd "$program" | grep -oE '/[^ ]+' || true; } | xargs -r cp --parents -L -t "$root"
  printf '%s' "$filter" > "$root/filter"
  cat > "$root/init" <<- 'INIT'
	#!/bin/busybox sh
	/program --gtest_color=no --gtest_filter="$(busybox cat /filter)"
	echo "exit status $?"
	busybox poweroff -f
	INIT
  chmod +x "$root/init"
  (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) > "$folder/disc/initrd"
}

# What Bochs 2.7 tells of itself and Linux believes must be put right, or Linux gives AVX-512 up:
# the state of protection keys (pku) has no place in XSAVE's area, whose compact size is that of the
# plain one; fast short moves (fsrm) come without fast moves; the clock ticks once per instruction.
# Spared: crypto self-tests (half of the boot), workarounds for flaws of silicon. A panic ends Bochs.
kernel_arguments() {
  echo "console=ttyS0,115200 quiet clearcpuid=pku,ospke,xsavec,xsaves,fsrm" \
    "tsc=reliable tsc_early_khz=20000 lapic=notscdeadline cryptomgr.notests mitigations=off" \
    "panic=-1 reboot=triple"
}

make_disc() {
  rm -rf "$folder/disc"
  mkdir "$folder/disc"
  make_initrd
  cp "$kernel" "$folder/disc/vmlinuz"
  cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$folder/disc/"
  printf 'DEFAULT test\nLABEL test\nKERNEL vmlinuz\nAPPEND initrd=initrd %s\n' "$(kernel_arguments)" \
    > "$folder/disc/isolinux.cfg"
  xorriso -as mkisofs -o "$folder/disc.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
    -boot-info-table "$folder/disc" > "$folder/xorriso.log" 2>&1 || die "no disc, see $folder/xorriso.log"
}

# ips goes with tsc_early_khz above: few instructions per second mean short waits.
write_settings() {
  echo continue > "$folder/debugger.txt"
  cat > "$folder/bochsrc" <<- SETTINGS
	cpu: model=$cpu, count=1, ips=20000000, reset_on_triple_fault=0
	memory: guest=512, host=512
	romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
	vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
	pci: enabled=1, chipset=i440fx
	ata0-master: type=cdrom, path=$folder/disc.iso, status=inserted
	boot: cdrom
	clock: sync=none
	com1: enabled=1, mode=file, dev=$serial
	config_interface: textconfig
	display_library: term
	plugin_ctrl: speaker=0, parallel=0, gameport=0, iodebug=0
	sound: waveoutdrv=dummy
	log: $folder/bochs.log
	panic: action=fatal
	error: action=ignore
	SETTINGS
}

# Debian's Bochs starts in its debugger, hence debugger.txt. Its own exit status tells nothing.
run_bochs() {
  : > "$serial"
  TERM=vt100 timeout -k 2 "$most_seconds" bochs -q -f "$folder/bochsrc" -rc "$folder/debugger.txt" \
    < /dev/null > "$folder/screen.txt" 2>&1 &
  local bochs=$!
  trap 'kill "$bochs" 2> /dev/null || true' EXIT
  tail -n +1 -f --pid="$bochs" "$serial" | tr -d '\r'
  trap - EXIT
  wait "$bochs" || true
}

passed() { tr -d '\r' < "$serial" | grep -cE "^\[       OK \] .*$1( |\$)" || true; }

judge() {
  tr -d '\r' < "$serial" | grep -qx 'exit status 0' ||
    die "not passed on $cpu (the program's output is above, the emulator's words are in $folder)"
  [ "$(passed '')" -gt 0 ] || die "no test passed on $cpu; is the filter '$filter' right?"
  for target in AVX3 AVX3_DL; do
    if grep -qE "/$target(:|-|\$)" <<< "$filter" && [ "$(passed "/$target")" -eq 0 ]; then
      die "no test passed on $target"
    fi
  done
  say "$(passed '') tests passed on $cpu: $(passed /AVX3) on AVX3, $(passed /AVX3_DL) on AVX3_DL"
}

scripts/setup.sh --emulator-tools --verify
mkdir -p "$folder"
if [ "$#" -eq 0 ]; then
  cmake --preset release > /dev/null
  cmake --build --preset release --target kernels_test
fi
[ -x "$program" ] || die "no program $program"
if [ ! -f "$kernel" ] && [ -z "${HALFTONE_KERNEL:-}" ]; then download_kernel; fi
[ -f "$kernel" ] || die "no kernel $kernel"
make_disc
write_settings
say "Starting $cpu; nothing is heard for the first half minute or more"
run_bochs
judge
