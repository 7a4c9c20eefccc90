// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/texts.h"

#include <array>
#include <charconv>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/kernels/activation/math_constants.h"

namespace halftone::gpu {
namespace {

std::string define(std::string_view name, float number) {
  return "#define " + std::string(name) + " " + exact(number) + "\n";
}

/// A macro of x with the operations of math_reference::polynomial().
std::string define(std::string_view name, std::span<const float> coefficients) {
  std::string sum = exact(coefficients[0]);
  for (const float coefficient : coefficients.subspan(1)) {
    sum = "(" + sum + " * (x) + " + exact(coefficient) + ")";
  }
  return "#define " + std::string(name) + "(x) " + sum + "\n";
}

std::string_view embedded_text(std::string_view name) {
  const EmbeddedText* text = find_text(kernel_texts(), name);
  if (text == nullptr) fail(ErrorKind::kInternal, "no kernel text '" + std::string(name) + "'");
  return text->text;
}

}  // namespace

std::string exact(float number) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(number),
                                 std::chars_format::hex)
                       .ptr;
  return (std::signbit(number) ? "(-0x" : "(0x") + std::string(digits.data(), end) + "f)";
}

std::string elementary_constants() {
  namespace c = kernels::math_constants;
  return define("LOG2_E", c::kLog2E) + define("ROUND_MAGIC", c::kRoundMagic) +
         define("LN2_HIGH", c::kLn2High) + define("LN2_LOW", c::kLn2Low) +
         define("EXP_LOW", c::kExpLow) + define("EXP_HIGH", c::kExpHigh) +
         define("TANH_SPLIT", c::kTanhSplit) + define("TANH_HIGH", c::kTanhHigh) +
         define("SILU_HIGH", c::kSiluHigh) + define("GELU_HIGH", c::kGeluHigh) +
         define("GELU_TANH_HIGH", c::kGeluTanhHigh) +
         define("GELU_TANH_LINEAR", c::kGeluTanhLinear) +
         define("GELU_TANH_CUBIC", c::kGeluTanhCubic) + "#define HIGH_DIGITS " +
         std::to_string(c::kHighDigits) + "u\n" + define("POLYNOMIAL_EXP", c::kExp) +
         define("POLYNOMIAL_TANH", c::kTanh) + define("POLYNOMIAL_TAIL_P", c::kTailP) +
         define("POLYNOMIAL_TAIL_Q", c::kTailQ);
}

std::string program_text(std::string_view macros, std::initializer_list<std::string_view> names) {
  std::string text(macros);
  text += embedded_text("prelude");
  for (const std::string_view name : names) {
    if (name == "elementary") text += elementary_constants();
    text += embedded_text(name);
  }
  return text;
}

}  // namespace halftone::gpu
