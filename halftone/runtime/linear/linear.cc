// SPDX-License-Identifier: Apache-2.0
// Helpers that the implementations of FullyConnected share.
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

std::optional<std::string> why_not_packed(const NodeContext& context) {
  if (context.input(1).encoding.is_dense()) return "the weights are not encoded";
  if (context.constant(1) == nullptr) return "the weights are not constant";
  if (context.has_input(2) && context.constant(2) == nullptr) return "the bias is not constant";
  return std::nullopt;
}

std::optional<std::string> why_not_bits(const numerics::MatrixEncoding& x,
                                        const numerics::MatrixEncoding& w) {
  for (const numerics::MatrixEncoding* each : {&x, &w}) {
    if (each->is_summed()) continue;
    return "bits of " + std::string(system_name(*each)) + " are no signs of coefficients";
  }
  if (w.granularity == numerics::Granularity::kGroup) {
    return "weights have scales per group of " + std::to_string(w.group_size) + " inputs";
  }
  return std::nullopt;
}

std::optional<std::string> why_not_integers(const numerics::MatrixEncoding& encoding) {
  if (encoding.fits_integers()) return std::nullopt;
  return "levels of " + std::string(system_name(encoding)) + " are no 8-bit integers";
}

}  // namespace halftone::runtime
