// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/network/functions.h"

#include <cmath>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

/// What FUNCTION(x) is; empty if there is no such function on a device.
std::string body_of(const ir::Activation& activation) {
  using enum ir::ActivationKind;
  const auto& [kind, alpha, beta] = activation;
  if (kind == kIdentity) return "(x)";
  if (const auto limits = ir::limits_of(activation)) {
    return "limited(x, " + float_text(limits->low) + ", " + float_text(limits->high) + ")";
  }
  constexpr std::pair<ir::ActivationKind, const char*> kBodies[] = {
      {kSigmoid, "sigmoid_of(x)"},
      {kTanh, "tanh_of(x)"},
      {kExp, "exp_of(x)"},
      {kSilu, "silu_of(x)"},
      {kGelu, "gelu_of(x)"},
      {kGeluTanh, "gelu_tanh_of(x)"},
      {kAbs, "MAGNITUDE(x)"},
      {kHardSwish, "hard_swish_of(x)"},
      {kNeg, "(-(x))"}};
  for (const auto& [known, body] : kBodies) {
    if (known == kind) return body;
  }
  if (kind == kLeakyRelu) return "leaky_of(x, " + float_text(alpha) + ")";
  if (kind == kHardSigmoid) {
    return "hard_sigmoid_of(x, " + float_text(alpha) + ", " + float_text(beta) + ")";
  }
  return "";
}

}  // namespace

std::string float_text(float number) {
  if (std::isinf(number)) return number > 0 ? "INFINITE" : "(-INFINITE)";
  if (std::isnan(number)) return "QUIET_NAN";
  return exact(number);
}

std::optional<std::string> function_macro(const ir::Activation& activation) {
  const std::string body = body_of(activation);
  if (body.empty()) return std::nullopt;
  return "#define FUNCTION(x) " + body + "\n";
}

Launch apply_function(Programs& programs, const ir::Activation& f, const Buffer& x, const Buffer& y,
                      std::size_t count) {
  const std::string macros = function_macro(f).value() + "#define OPERATION(a, b) (a)\n";
  return {
      &programs.kernel(program_text(macros, {"elementary", "functions", "elementwise"}), "apply"),
      grid_of(count),
      {x, y, number(count)}};
}

}  // namespace halftone::gpu
