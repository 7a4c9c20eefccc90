#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes go down the house only: each module may use itself and what its line names. The plain
# structs of include/halftone/types include the standard library and each other only.
# With arguments, looks at these files; without, at every source under halftone/.
. "$(dirname "$0")/lib.sh"

if [ "$#" -gt 0 ]; then files=$(printf '%s\n' "$@"); else files=$(sources halftone); fi
[ -n "$files" ] || die "no sources found under halftone/"

# shellcheck disable=SC2086 # our file names hold no spaces
awk '
  BEGIN {
    may["base"] = ""
    may["numerics"] = may["spmd"] = "base"
    may["kernels"] = "base numerics"
    may["ir"] = "base numerics"
    may["gradient"] = "base numerics ir kernels"
    may["data"] = "base"
    may["formats"] = may["passes"] = "base numerics ir"
    may["runtime"] = "base numerics ir kernels spmd"
    may["gpu"] = may["export_c"] = may["runtime"] " runtime"
    may["compress"] = may["runtime"] " data formats gradient passes runtime"
    may["lm"] = may["compress"] " compress gpu"
    may["train"] = may["compress"] " compress"
    may["accel"] = may["train"] " lm gpu"
    may["api"] = may["train"] " train accel lm gpu export_c"
    may["library"] = "base numerics ir kernels spmd formats runtime api report"
    may["litert"] = may["onnxruntime"] = "base numerics ir formats runtime api"
    may["cpp"] = may["train"] " train accel api report"
    may["report"] = may["compress"] " compress accel api lm"
    may["server"] = "base lm api"
    may["cli"] = may["report"] " report server"
  }
  match($0, /^[ \t]*#[ \t]*include[ \t]*"halftone\/[a-z_]+\//) {
    split(FILENAME, path, "/")
    from = path[2]
    target = substr($0, RSTART, RLENGTH - 1)
    sub(/.*\//, "", target)
    if (target == "types") next  # every module may have plain structs
    if (!(from in may)) {
      print FILENAME ": module " from " has no line in scripts/check_layers.sh"
      bad = 1
      nextfile
    }
    if (target != from && index(" " may[from] " ", " " target " ") == 0) {
      print FILENAME ":" FNR ": " from " must not include " target
      bad = 1
    }
  }
  END { exit bad }
' $files >&2 || die "a layer reaches up or sideways; see docs/architecture.md"

plain='"halftone/(types/[a-z_]+|export)\.hpp"'
if grep -nE '^ *#include "' include/halftone/types/*.hpp | grep -vE "$plain" >&2; then
  die "include/halftone/types has plain structs, which need nothing but each other"
fi

# The map in docs/architecture.md has every module, and no other.
if [ "$#" -eq 0 ]; then
  map=$(sed -n '/^halftone\/$/,/^tests\//p' docs/architecture.md | grep -oE '^  ([a-z_]+/ ?)+' |
    tr -s ' ' '\n' | grep . | sort)
  modules=$(for folder in halftone/*/; do basename "$folder" | sed 's|$|/|'; done | sort)
  diff <(echo "$map") <(echo "$modules") >&2 || die "the map in docs/architecture.md is not that of halftone/"
fi
