// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/number_format.h"

#include <charconv>
#include <system_error>

#include "halftone/base/error.h"

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

/// K of the decimal digits; 0 if there are none or too many.
int bits_of(std::string_view digits) {
  int bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return error == std::errc() && !digits.starts_with('0') ? bits : 0;
}

/// The system and the bits that a text names, if it does; no blocks.
NumberFormat named_format(std::string_view text) {
  if (const NumberSystem* system = lookup_system(text)) {
    return {system, has_one_size(*system) ? system->max_bits : 0, {}};
  }
  const std::size_t length = text.find_last_not_of("0123456789") + 1;
  const NumberSystem* system = lookup_system(text.substr(0, length));
  if (system == nullptr || has_one_size(*system)) return {};
  return {system, bits_of(text.substr(length)), {}};
}

}  // namespace

NumberFormat parse_number_format(std::string_view text) {
  if (text == kFloat32) return {};
  NumberFormat format = named_format(text);
  if (format.system != nullptr && format.system->is_learned()) {
    fail(ErrorKind::kUsage, "number format: expected a system whose levels a rule gives, found '" +
                                std::string(text) + "', whose levels are learned");
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
