#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheels of scripts/wheels.sh in new Debian systems, with no index but their folder, and
# tries the package. Debian 12 has glibc 2.36 and Python 3.11, its successor 2.41 and 3.13.
# Skips itself (exit code 77) without wheels, root, debootstrap, or a mirror that answers.
#
#     tests/python_wheels.sh FOLDER
set -euo pipefail
wheels=$(realpath -m "$1")
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'echo "python_wheels.sh: line $LINENO failed" >&2' ERR
max_import_us=100000  # of `import halftone`, beyond that of NumPy

fail() {
  echo "python_wheels.sh: $*" >&2
  exit 1
}
skip() {
  echo "python_wheels.sh: skipped: $*"
  exit 77
}
step() { echo "python_wheels.sh: $SECONDS s: $*"; }

# In the system in $root, with processes and a /proc of its own, which end with the command.
inside() {
  unshare --mount --pid --fork --mount-proc="$root/proc" \
    chroot "$root" env -i PATH=/srv/env/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    OMP_WAIT_POLICY=passive "$@"
}

[ "$(id -u)" = 0 ] || skip "not root"
ls "$wheels"/halftone-*.whl > /dev/null 2>&1 || skip "no wheels in $wheels (scripts/wheels.sh)"
for tool in debootstrap unshare python3 apt-get; do
  command -v "$tool" > /dev/null || skip "no $tool (scripts/setup.sh --package-tools)"
done
unshare --mount --pid --fork true 2> /dev/null || skip "may not make namespaces"
# Where this system's own packages come from.
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
  grep -v security | head -n 1)
[ -n "$mirror" ] || skip "apt knows no archive of Debian"

# microseconds MODULE: the time to import it, the least of five.
microseconds() {
  for _ in 1 2 3 4 5; do
    inside python -X importtime -c "import $1" 2>&1 | awk -F'|' 'END { print $2 + 0 }'
  done | sort -n | head -n 1
}

try_in() { # try_in SUITE
  root=$work/$1
  step "$1: debootstrap"
  debootstrap --variant=minbase --include=python3,python3-venv "$1" "$root" "$mirror" \
    > "$work/log" 2>&1 || { tail -n 5 "$work/log"; skip "debootstrap failed"; }
  cp -r "$source/examples" "$root/srv"
  mkdir "$root/srv/wheels"
  cp "$wheels"/halftone-*.whl "$root/srv/wheels"
  local version
  version=$(inside python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: \
    --python-version "$version" --dest "$root/srv/wheels" numpy || skip "no NumPy from PyPI"
  inside python3 -m venv /srv/env
  inside pip install --quiet --no-index --find-links /srv/wheels halftone ||
    fail "$1: the wheel cannot be installed"
  step "$1: $(inside getconf GNU_LIBC_VERSION), Python $version"
  inside python - << 'END'
import numpy as np

import halftone as ht

network = "/srv/examples/mnist/mnist_mlp_700.onnx"
small, report = ht.quantize(network, "/srv/examples/mnist", weight_bits=3, activation_bits=3,
                            limit=500, progress=False)
small.save("/srv/small.circle")
found = ht.evaluate("/srv/small.circle", "/srv/examples/mnist", limit=1000, progress=False)
assert found.value > 0.95, found.value
assert ht.spmd.vmap(lambda v: v + 1)(np.array([1.0, 2.0]))[1] == 3
END
  local all numpy
  all=$(microseconds halftone)
  numpy=$(microseconds numpy)
  step "$1: import halftone takes $all us, of them numpy $numpy us"
  [ "$((all - numpy))" -le $max_import_us ] || fail "$1: the import takes too long"
}

for suite in bookworm trixie; do try_in $suite; done
step "passed"
