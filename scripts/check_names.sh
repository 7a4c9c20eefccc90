#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A type that others include has its name alone: names of types in include/halftone/ that a header
# of halftone/ declares too, as another type, are those of the list below and no more.
. "$(dirname "$0")/lib.sh"

# Handles on what is inside (Encoding, Error, ErrorKind, Plan, Session, Tensor), rows of text that
# become checked ones (LayerOverride, LayerSettings, NumberSystem, Recipe), and a part of the
# elements there are (ElementType).
allowed='ElementType
Encoding
Error
ErrorKind
LayerOverride
LayerSettings
NumberSystem
Plan
Recipe
Session
Tensor'

# types_of FOLDER: the types that headers define.
types_of() {
  local definition='(struct|class|enum class) (HALFTONE_[A-Z_]+ )?([A-Za-z0-9]+)( final)?( : [^;]*)?'
  sources "$1" | grep -E '\.(h|hpp)$' | xargs -r sed -nE "s/^ *$definition \{.*/\3/p" | sort -u
}

both=$(comm -12 <(types_of include/halftone) <(types_of halftone))
wrong=$(comm -3 <(printf '%s\n' "$both") <(printf '%s\n' "$allowed"))
[ -z "$wrong" ] ||
  die "types with a name of include/halftone/, or names listed in vain: ${wrong//[[:space:]]/ }"
