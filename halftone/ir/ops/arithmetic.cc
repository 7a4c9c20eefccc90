// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/arithmetic.h"

namespace halftone::ir {

std::string_view to_string(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kAuto:
      return "auto";
    case Arithmetic::kBits:
      return "bits";
    case Arithmetic::kIntegers:
      return "integers";
    case Arithmetic::kGroups:
      return "groups";
    case Arithmetic::kFloat:
      return "float";
  }
  return {};
}

std::optional<Arithmetic> arithmetic_named(std::string_view name) {
  for (const auto each : {Arithmetic::kAuto, Arithmetic::kBits, Arithmetic::kIntegers,
                          Arithmetic::kGroups, Arithmetic::kFloat}) {
    if (name == to_string(each)) return each;
  }
  return std::nullopt;
}

}  // namespace halftone::ir
