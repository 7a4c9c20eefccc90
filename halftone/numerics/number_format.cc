// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/number_format.h"

#include "halftone/base/error.h"
#include "halftone/numerics/named_system.h"

namespace halftone::numerics {
namespace {

constexpr std::string_view kFloat32 = "fp32";

bool has_one_size(const NumberSystem& system) { return system.min_bits == system.max_bits; }

/// "fp32, affine1 to affine16, ..., ternary, ...".
std::string known_formats() {
  std::string text(kFloat32);
  for (const NumberSystem& system : number_systems()) {
    if (system.is_learned()) continue;
    const std::string name(system.name);
    text += ", " + name;
    if (!has_one_size(system)) {
      text += std::to_string(system.min_bits) + " to " + name + std::to_string(system.max_bits);
    }
    if (name == "e8m0") text += " or another eXmY";
  }
  return text;
}

/// The system and the bits that a text names, if it does; no blocks.
NumberFormat named_format(std::string_view text) {
  const NamedSystem named = lookup_named_system(text);
  if (named.system == nullptr) return {};
  return {named.system,
          has_one_size(*named.system) ? named.system->max_bits : named.bits.value_or(0),
          {}};
}

}  // namespace

NumberFormat parse_number_format(std::string_view text) {
  if (text == kFloat32) return {};
  NumberFormat format = named_format(text);
  if (format.system != nullptr && format.system->is_learned()) {
    fail(ErrorKind::kUsage, "number format: expected a system whose levels a rule gives, found '" +
                                std::string(text) + "', whose levels are learned");
  }
  if (format.system != nullptr && format.system->vectors != nullptr) {
    fail(ErrorKind::kUsage, "number format: expected a system of single numbers, found '" +
                                std::string(text) + "', whose vectors are for weights alone");
  }
  if (format.system == nullptr || !format.system->allows(format.bits)) {
    fail(ErrorKind::kUsage, "number format: expected one of " + known_formats() + "; found '" +
                                std::string(text) + "'");
  }
  const bool has_groups = format.system->blocks.granularity == Granularity::kGroup;
  format.blocks = has_groups ? format.system->blocks : BlockShape{Granularity::kTensor, 0};
  return format;
}

std::string to_string(const NumberFormat& format) {
  if (format.is_float32()) return std::string(kFloat32);
  std::string text(format.system->name);
  return has_one_size(*format.system) ? text : text + std::to_string(format.bits);
}

}  // namespace halftone::numerics
