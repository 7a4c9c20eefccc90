// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/number_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

using numerics::Minifloat;

constexpr int kFewestBits = 2;
constexpr int kMaxNumberBits = 16;

constexpr std::array<std::pair<std::string_view, Minifloat>, 7> kMinifloats = {{
    {"fp16", numerics::kBinary16},
    {"bf16", numerics::kE8M7},
    {"e4m3", numerics::kE4M3},
    {"e5m2", numerics::kE5M2},
    {"e3m2", numerics::kE3M2},
    {"e2m3", numerics::kE2M3},
    {"e2m1", numerics::kE2M1},
}};

/// K of "intK".
int integer_bits(std::string_view text) {
  int bits = 0;
  if (!text.starts_with("int")) return bits;
  text.remove_prefix(3);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  return error == std::errc() && end == text.data() + text.size() ? bits : 0;
}

}  // namespace

NumberFormat parse_number_format(std::string_view text) {
  if (text == "fp32") return Float32{};
  const auto* const named =
      std::ranges::find(kMinifloats, text, &std::pair<std::string_view, Minifloat>::first);
  if (named != kMinifloats.end()) return named->second;
  const int bits = integer_bits(text);
  if (bits >= kFewestBits && bits <= kMaxNumberBits) return ScaledIntegers{bits};
  std::string known = "fp32";
  for (const auto& [name, system] : kMinifloats) known.append(", ").append(name);
  fail(ErrorKind::kUsage,
       "number format: expected " + known + " or int" + std::to_string(kFewestBits) + " to int" +
           std::to_string(kMaxNumberBits) + ", found '" + std::string(text) + "'");
}

std::string to_string(const NumberFormat& format) {
  if (const auto* integers = std::get_if<ScaledIntegers>(&format)) {
    return "int" + std::to_string(integers->bits);
  }
  const auto* system = std::get_if<Minifloat>(&format);
  if (system == nullptr) return "fp32";
  const auto* const named =
      std::ranges::find(kMinifloats, *system, &std::pair<std::string_view, Minifloat>::second);
  HALFTONE_ASSERT(named != kMinifloats.end());
  return std::string(named->first);
}

}  // namespace halftone::train
