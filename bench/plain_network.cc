// SPDX-License-Identifier: Apache-2.0
#include "bench/plain_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/numerics/levels.h"

// The reference was compiled with it; without it, x86-64 has no popcount instruction.
#ifdef __x86_64__
#define HALFTONE_SSE42 [[gnu::target("sse4.2")]]
#else
#define HALFTONE_SSE42
#endif

namespace halftone::bench {
namespace {

HALFTONE_SSE42 int count_differences(const std::uint32_t* a, const std::uint32_t* b,
                                     std::size_t words) {
  int count = 0;
  for (std::size_t w = 0; w < words; ++w) count += std::popcount(a[w] ^ b[w]);
  return count;
}

HALFTONE_SSE42 int count_set(const std::uint32_t* a, std::size_t words) {
  int count = 0;
  for (std::size_t w = 0; w < words; ++w) count += std::popcount(a[w]);
  return count;
}

void softmax(std::span<float> y) {
  const float largest = *std::max_element(y.begin(), y.end());
  float sum = 0;
  for (float& value : y) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (float& value : y) value /= sum;
}

}  // namespace

PlainNetwork::Layer PlainNetwork::make_layer(const ir::Graph& graph, const ir::Node& node,
                                             const numerics::Basis& input) {
  const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(node.inputs.at(1)));
  HALFTONE_ASSERT(weights.encoding->granularity == numerics::Granularity::kChannel);
  const auto bias = std::get<ir::Tensor>(*graph.constant(node.inputs.at(2))).as<float>();
  const numerics::BitPlanes& codes = weights.codes;
  const numerics::LevelTable levels(input);
  Layer layer;
  layer.thresholds.assign(levels.thresholds().begin(), levels.thresholds().end());
  layer.codes.assign(levels.codes().begin(), levels.codes().end());
  layer.input_basis.assign(input.a().begin(), input.a().end());
  layer.weight_bits = static_cast<std::size_t>(codes.bits);
  layer.inputs = codes.cols;
  layer.tanh = std::get<ir::FullyConnected>(node.op).activation.kind == ir::ActivationKind::kTanh;
  const auto n = static_cast<float>(codes.cols);
  for (std::size_t o = 0; o < codes.rows; ++o) {
    const numerics::Basis basis = weights.encoding->basis(o);
    float sum = n * basis.offset;
    for (int j = 0; j < codes.bits; ++j) {
      const auto row = codes.planes.row(codes.plane(o, j));
      for (std::size_t w = 0; w < layer.words(); ++w) {
        layer.weights.push_back(static_cast<std::uint32_t>(row[w / 2] >> (w % 2 * 32)));
      }
      const float a = basis.a()[static_cast<std::size_t>(j)];
      layer.weight_bases.push_back(a);
      sum += a * (2 * static_cast<float>(codes.planes.count(codes.plane(o, j))) - n);
    }
    layer.weight_offsets.push_back(basis.offset);
    layer.constants.push_back(bias[o] + input.offset * sum);
  }
  return layer;
}

PlainNetwork::PlainNetwork(const ir::Graph& graph) {
  std::optional<numerics::Basis> input;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (const auto* encode = std::get_if<ir::Encode>(&node.op)) {
      input = encode->encoding->basis(0);
    } else if (input && std::holds_alternative<ir::FullyConnected>(node.op)) {
      layers_.push_back(make_layer(graph, node, *input));
      values_.emplace_back(layers_.back().constants.size());
      input.reset();
    } else if (std::holds_alternative<ir::Softmax>(node.op)) {
      softmax_ = true;
    } else {
      fail(ErrorKind::kUnsupported, ir::describe(node) + ": expected layers of encoded inputs");
    }
  }
}

void PlainNetwork::Layer::pack(std::span<const float> x, std::vector<std::uint32_t>& planes) const {
  planes.assign(input_bits() * words(), 0);
  for (std::size_t c = 0; c < inputs; ++c) {
    const auto above = std::lower_bound(thresholds.begin(), thresholds.end(), x[c]);
    const unsigned code = codes[static_cast<std::size_t>(above - thresholds.begin())];
    for (std::size_t i = 0; i < input_bits(); ++i) {
      planes[i * words() + c / 32] |= (code >> i & 1) << (c % 32);
    }
  }
}

HALFTONE_SSE42 void PlainNetwork::Layer::multiply(std::span<const std::uint32_t> planes,
                                                  std::span<float> y) const {
  const auto n = static_cast<float>(inputs);
  float input_sum = 0;
  for (std::size_t i = 0; i < input_bits(); ++i) {
    const int set = count_set(planes.data() + i * words(), words());
    input_sum += input_basis[i] * (2 * static_cast<float>(set) - n);
  }
  for (std::size_t o = 0; o < y.size(); ++o) {
    float sum = constants[o] + weight_offsets[o] * input_sum;
    for (std::size_t j = 0; j < weight_bits; ++j) {
      const std::uint32_t* w = weights.data() + (o * weight_bits + j) * words();
      for (std::size_t i = 0; i < input_bits(); ++i) {
        const int differ = count_differences(w, planes.data() + i * words(), words());
        sum += input_basis[i] * weight_bases[o * weight_bits + j] *
               (n - 2 * static_cast<float>(differ));
      }
    }
    y[o] = tanh ? std::tanh(sum) : sum;
  }
}

void PlainNetwork::run(std::span<const float> x, std::span<float> y) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].pack(l == 0 ? x : std::span<const float>(values_[l - 1]), planes_);
    layers_[l].multiply(planes_, values_[l]);
  }
  std::copy(values_.back().begin(), values_.back().end(), y.begin());
  if (softmax_) softmax(y);
}

}  // namespace halftone::bench
