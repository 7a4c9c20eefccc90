#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian packages of a build, installs them in a new Debian system and tries what is in them.
# Skips itself (exit code 77) without root, debootstrap, or a mirror that answers.
#
#     tests/debian_packages.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
trap 'echo "debian_packages.sh: line $LINENO failed" >&2' ERR

fail() {
  echo "debian_packages.sh: $*" >&2
  exit 1
}
skip() {
  echo "debian_packages.sh: skipped: $*"
  exit 77
}
step() { echo "debian_packages.sh: $SECONDS s: $*"; }

# In the new system, with processes and a /proc of its own, which end with the command.
inside() {
  unshare --mount --pid --fork --mount-proc="$root/proc" \
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive OMP_WAIT_POLICY=passive ${http_proxy+"http_proxy=$http_proxy"} "$@"
}
expect() { # expect NAME PATTERN TEXT
  grep -qE -- "$2" <<< "$3" || fail "$1: expected '$2', found '$3'"
}

[ "$(id -u)" = 0 ] || skip "not root"
for tool in debootstrap dpkg-shlibdeps apt-get unshare; do
  command -v "$tool" > /dev/null || skip "no $tool (scripts/setup.sh --package-tools)"
done
unshare --mount --pid --fork true 2> /dev/null || skip "may not make namespaces"
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "${ID:-}:${VERSION_CODENAME:-}")
[[ $suite == debian:?* ]] || skip "not a Debian system, whose libraries the packages need"
suite=${suite#debian:}
# Where this system's own packages come from: "URI SUITE COMPONENT" of Debian's archives.
# shellcheck disable=SC2016 # apt's own variables
mapfile -t archives < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(SUITE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | awk -v suite="$suite" '
    index($2, suite) == 1 && !seen[$1 $2 $4]++ { print $1, $2, $4 }')
mirror=$(printf '%s\n' "${archives[@]}" | awk -v suite="$suite" '$2 == suite { print $1; exit }')
[ -n "$mirror" ] || skip "apt knows no archive of $suite"

step "making packages"
begin=$(date +%s.%N)
(cd "$build" && cpack -G DEB -B "$work/packages" > "$work/cpack.log" 2>&1) ||
  { cat "$work/cpack.log"; fail "cpack failed"; }
awk -v begin="$begin" -v end="$(date +%s.%N)" 'BEGIN { printf "packing took %.1f s\n", end - begin }'
rm -rf "$work/packages/_CPack_Packages"
(cd "$work/packages" && stat --format "%s bytes: %n" -- *.deb)

if command -v lintian > /dev/null; then
  step "lintian"
  lintian --allow-root --fail-on error "$work"/packages/*.deb || fail "lintian reports errors"
fi

step "debootstrap"
debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$work/debootstrap.log" 2>&1 ||
  { tail -n 5 "$work/debootstrap.log"; skip "debootstrap failed"; }
printf 'deb %s\n' "${archives[@]}" > "$root/etc/apt/sources.list"
cp -r "$work/packages" "$source/examples" "$root/srv"

step "apt-get install"
apt=(apt-get -q --yes --no-install-recommends)
inside "${apt[@]}" update > "$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log"; skip "no archive"; }
inside sh -c "${apt[*]} install /srv/packages/*.deb gcc libc6-dev pkg-config man-db" \
  > "$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log"; fail "the packages cannot be installed"; }

step "the program"
expect version '^[0-9]+\.[0-9]+\.[0-9]+$' "$(inside halftone --version)"
inside halftone quantize /srv/examples/mnist/mnist_mlp_700.onnx -o /srv/small.circle \
  --data /srv/examples/mnist --limit 500 --weight-bits 3 --activation-bits 3 > /dev/null
found=$(inside halftone eval /srv/small.circle --data /srv/examples/mnist --limit 1000 --json)
expect accuracy '"value": ?0\.9[0-9]' "$found"
if [ -e "$root/usr/bin/halftone-train" ]; then
  inside halftone train --quiet /srv/examples/mnist/mnist_mlp_700.onnx -o /srv/trained.onnx \
    --data /srv/examples/mnist --limit 200 --epochs 1 > /dev/null
fi
expect manual 'halftone quantize .*--weight-bits 2' "$(inside man -P cat halftone-quantize)"
expect completion '_halftone$|complete -F _halftone halftone' \
  "$(inside tail -n 1 /usr/share/bash-completion/completions/halftone)"

step "the libraries"
gzip -dc "$source/examples/mnist/t10k-images-idx3-ubyte.gz" > "$work/images"
dd if="$work/images" of="$root/srv/ten" bs=1 skip=16 count=$((10 * 28 * 28)) status=none
# shellcheck disable=SC2016 # for the shell in there
for way in '$(pkg-config --cflags --libs halftone)' \
  '-static $(pkg-config --static --cflags --libs halftone)'; do
  inside sh -c "cc -O1 /srv/examples/c/sensor.c -o /srv/sensor $way -lm" || fail "cc with $way"
  classes=$(inside sh -c '/srv/sensor /srv/examples/mnist/mnist_mlp_700.onnx < /srv/ten' | paste -sd ' ')
  expect "classes with $way" '^7 2 1 0 4 1 4 9 [0-9] 9$' "$classes"
done

for library in compress train; do
  [ -e "$root/usr/lib/libhalftone_$library.so" ] || continue
  inside sh -c "g++ -std=c++20 /srv/examples/cpp/quantize.cc -o /srv/quantize -lhalftone_$library" ||
    fail "g++ with $library"
  found=$(inside /srv/quantize /srv/examples/mnist/mnist_mlp_700.onnx /srv/examples/mnist \
    /srv/cpp.circle 2> /dev/null)
  expect "accuracy with $library" 'accuracy 0\.9' "$found"
done

inside sh -c "g++ -std=c++20 /srv/examples/cpp/devices.cc -o /srv/devices -lhalftone_spmd" ||
  fail "g++ with spmd"
expect "lanes on devices" '^326 335 344$' "$(inside /srv/devices)"

step "apt-get purge"
names=$(cd "$work/packages" && for file in *.deb; do echo "${file%%_*}"; done | paste -sd ' ')
inside sh -c "${apt[*]} purge $names" > "$work/apt.log" 2>&1 || fail "purge failed"
left=$(find "$root/usr" -iname '*halftone*')
expect "files that stay" '^$' "$left"
step "passed"
