#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's libraries for 64-bit Arm, those that the preset `neon` needs, into
# build/arm64/root, if they are not there. Neither does the system learn of a foreign architecture
# nor need anyone be root.
. "$(dirname "$0")/lib.sh"

packages=(libhwy1 libhwy-dev libgtest-dev libgmock-dev libeigen3-dev)
folder=$PWD/build/arm64
log=$folder/log.txt

apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$folder/lists" \
    -o Dir::Cache="$folder/cache" "$@" >> "$log" 2>&1
}

# A half-reachable list of packages may do; whether it did, the download tells.
download() {
  apt update || true
  (cd "$folder" && apt download "${packages[@]}")
}

if [ "$(cat "$folder/root/packages.txt" 2> /dev/null)" = "${packages[*]}" ]; then exit 0; fi
command -v apt-get > /dev/null ||
  die "needs Debian 12 or a relative (no apt-get here); unpack the equivalents of these for arm64 into $folder/root: ${packages[*]}"
rm -rf "$folder"
mkdir -p "$folder/lists" "$folder/cache"
say "Downloading libraries for 64-bit Arm into $folder"
if ! download; then
  tail -n 20 "$log" >&2
  die "no libraries for 64-bit Arm (the last lines of $log are above)"
fi
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder/partial"; done
rm -rf "$folder/lists" "$folder/cache" "$folder"/*.deb
printf '%s\n' "${packages[*]}" > "$folder/partial/packages.txt"
mv "$folder/partial" "$folder/root"
