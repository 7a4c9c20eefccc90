// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/inexact_layer.h"

#include <variant>

#include "halftone/accel/crossbar/arrays.h"
#include "halftone/accel/crossbar/convolution.h"
#include "halftone/accel/crossbar/network.h"
#include "halftone/accel/crossbar/noise.h"

namespace halftone::crossbar {
namespace {

std::vector<Arrays> arrays_of(const ir::Node& node, const ir::EncodedTensor& weights,
                              const CrossbarDevice& device, std::uint64_t seed) {
  if (const auto* conv = std::get_if<ir::Conv>(&node.op)) {
    return group_arrays(device, weights, static_cast<std::size_t>(conv->groups), seed);
  }
  std::vector<Arrays> arrays;
  arrays.emplace_back(device, weights.codes, *weights.encoding, seed);
  return arrays;
}

}  // namespace

std::optional<std::vector<float>> inexact_layer(const ir::Graph& graph, const ir::Node& node,
                                                const ir::EncodedTensor& weights,
                                                const CrossbarDevice& device, std::uint64_t seed) {
  if (why_digital(graph, node)) return std::nullopt;
  seed = derived_seed(seed, static_cast<std::uint64_t>(node.inputs[1]));
  std::vector<float> seen;
  for (const Arrays& arrays : arrays_of(node, weights, device, seed)) {
    const std::vector<float> group = arrays.seen_weights().weights;
    seen.insert(seen.end(), group.begin(), group.end());
  }
  const std::size_t inputs = weights.codes.cols;
  for (std::size_t o = 0; o < weights.codes.rows; ++o) {
    const float offset = weights.encoding->basis(o, 0, inputs).offset;
    for (std::size_t k = 0; k < inputs; ++k) seen[o * inputs + k] += offset;
  }
  return seen;
}

}  // namespace halftone::crossbar
