// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/named_system.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::numerics {
namespace {

/// A name that other programs have for a system, or for one with some bits.
struct Spelling {
  std::string_view text;  ///< in lower case
  std::string_view system;
  int bits = 0;  ///< 0: the digits behind the text say it, as in "uint8"
};

/// PyTorch, ONNX Runtime, NNCF, TensorRT, llama.cpp and bitsandbytes have these.
constexpr Spelling kSpellings[] = {
    {"int", "int"},
    {"sint", "int"},
    {"qint", "int"},
    {"i", "int"},
    {"s", "int"},
    {"uint", "asymmetric"},
    {"quint", "asymmetric"},
    {"u", "asymmetric"},
    {"fp8", "e4m3", 8},
    {"float8", "e4m3", 8},
    {"fp8_e4m3", "e4m3", 8},
    {"fp8_e4m3fn", "e4m3", 8},
    {"float8_e4m3fn", "e4m3", 8},
    {"float8e4m3fn", "e4m3", 8},
    {"fp8_e5m2", "e5m2", 8},
    {"float8_e5m2", "e5m2", 8},
    {"float8e5m2", "e5m2", 8},
    {"float8_e4m3fnuz", "e4m3fnuz", 8},
    {"float8_e5m2fnuz", "e5m2fnuz", 8},
    {"fp6", "e3m2", 6},
    {"fp6_e3m2", "e3m2", 6},
    {"fp6_e2m3", "e2m3", 6},
    {"fp4", "e2m1", 4},
    {"fp4_e2m1", "e2m1", 4},
    {"float4_e2m1fn", "e2m1", 4},
    {"float4e2m1", "e2m1", 4},
    {"mxfp8", "mxfp8_e4m3", 8},
    {"f16", "fp16", 16},
    {"float16", "fp16", 16},
    {"half", "fp16", 16},
    {"bfloat16", "bf16", 16},
};

/// Behind a text with digits, as NNCF writes it.
constexpr std::pair<std::string_view, std::string_view> kSymmetries[] = {{"_sym", "int"},
                                                                         {"_asym", "asymmetric"}};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// K of the decimal digits; 0 if there are none or too many.
int bits_in(std::string_view digits) {
  int bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return error == std::errc() && !digits.starts_with('0') ? bits : 0;
}

/// The row of kSpellings; null if there is none.
const Spelling* spelling_of(std::string_view text, bool has_digits) {
  const auto* const found = std::ranges::find_if(kSpellings, [&](const Spelling& each) {
    return each.text == text && (each.bits == 0) == has_digits;
  });
  return found == std::end(kSpellings) ? nullptr : found;
}

/// The size of groups behind a slash.
std::optional<std::size_t> group_size_in(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() || size == 0) {
    fail(ErrorKind::kUsage, "number system '" + printable(std::string(text)) +
                                "': expected the size of groups behind the slash, as in int4/64");
  }
  return size;
}

/// The system of a text without a group.
NamedSystem ungrouped_system(std::string_view text) {
  const std::string written(text);
  if (const NumberSystem* system = lookup_system(text)) return {system, {}, {}, written};
  std::string lower = in_lower_case(text);
  if (const Spelling* spelling = spelling_of(lower, false)) {
    return {lookup_system(spelling->system), spelling->bits, {}, written};
  }
  if (const NumberSystem* system = lookup_system(lower)) return {system, {}, {}, written};
  std::string_view symmetry;
  for (const auto& [ending, system] : kSymmetries) {
    if (!lower.ends_with(ending)) continue;
    symmetry = system;
    lower.resize(lower.size() - ending.size());
  }
  const std::size_t length = lower.find_last_not_of("0123456789") + 1;
  const int bits = bits_in(std::string_view(lower).substr(length));
  lower.resize(length);
  const Spelling* spelling = spelling_of(lower, true);
  if (!symmetry.empty() && lower != "int") return {};
  const std::string_view name = !symmetry.empty()     ? symmetry
                                : spelling != nullptr ? spelling->system
                                                      : std::string_view(lower);
  const NumberSystem* system = bits > 0 ? lookup_system(name) : nullptr;
  if (system == nullptr || system->min_bits == system->max_bits) return {};
  if (!system->allows(bits)) {
    fail(ErrorKind::kUsage,
         "number system '" + std::string(text) + "': expected " + std::to_string(system->min_bits) +
             " to " + std::to_string(system->max_bits) + " bits, found " + std::to_string(bits));
  }
  return {system, bits, {}, written};
}

}  // namespace

NamedSystem lookup_named_system(std::string_view text) {
  NamedSystem named = ungrouped_system(text.substr(0, text.find('/')));
  if (named.system == nullptr) return named;
  named.group_size = group_size_in(text);
  named.text = text;
  return named;
}

NamedSystem named_system(std::string_view text) {
  NamedSystem named = lookup_named_system(text);
  if (named.system == nullptr) find_system(text);  // which says what there is
  return named;
}

}  // namespace halftone::numerics
