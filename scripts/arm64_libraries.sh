#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's libraries for 64-bit Arm, those that the preset `neon` needs, into
# build/arm64/root, if they are not there. Neither does the system learn of a foreign architecture
# nor need anyone be root.
. "$(dirname "$0")/lib.sh"

# What is compiled and linked against, unpacked without what these packages depend on: the headers
# and libraries of C and C++ are the cross compiler's.
headers=(
  libhwy-dev libeigen3-dev libgtest-dev libgmock-dev
  libflatbuffers-dev libprotobuf-dev
  libhdf5-dev zlib1g-dev libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
)
# What runs: these libraries, and every one that they need.
libraries=(
  libstdc++6 libgomp1 libhwy1 libflatbuffers2 libprotobuf32
  libprotobuf-lite32 libhdf5-103-1 zlib1g libfmt9 libtomlplusplus3
)
folder=$PWD/build/arm64
log=$folder/log.txt

apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$folder/state" \
    -o Dir::State::status="$folder/state/installed" -o Dir::Cache="$folder/cache" \
    -o Debug::NoLocking=1 "$@" >> "$log" 2>&1
}

# A half-reachable list of packages may do; whether it did, the download tells.
download() {
  apt update || true
  apt install --yes --download-only --no-install-recommends "${libraries[@]}" &&
    (cd "$folder/cache/archives" && apt download "${headers[@]}")
}

packages="${headers[*]} ${libraries[*]}"
if [ "$(cat "$folder/root/packages.txt" 2> /dev/null)" = "$packages" ]; then exit 0; fi
command -v apt-get > /dev/null ||
  die "needs Debian 12 or a relative (no apt-get here); unpack the equivalents of these for arm64 into $folder/root: $packages"
rm -rf "$folder"
mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
: > "$folder/state/installed"
say "Downloading libraries for 64-bit Arm into $folder"
if ! download; then
  tail -n 20 "$log" >&2
  die "no libraries for 64-bit Arm (the last lines of $log are above)"
fi
for package in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/partial"; done
rm -rf "$folder/state" "$folder/cache"
printf '%s\n' "$packages" > "$folder/partial/packages.txt"
mv "$folder/partial" "$folder/root"
