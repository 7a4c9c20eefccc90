// SPDX-License-Identifier: Apache-2.0
// Small models with random weights for tests.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/model/testing.h"
#include "halftone/lm/quantize/samples.h"

namespace halftone::lm {

/// A width with an odd factor, as rotations have to divide it.
inline constexpr SmallSizes kOddSizes = {.width = 12, .inner = 10, .head_width = 6};

/// Rows that whole blocks of most types hold.
inline constexpr SmallSizes kFitSizes = {
    .width = 64, .inner = 128, .heads = 2, .kv_heads = 1, .head_width = 32, .vocabulary = 40};

/// Nine samples to fit and three held out, of 40 tokens.
inline Samples some_samples() {
  Samples samples{8, {}, {}};
  for (TokenId i = 0; i < 12; ++i) {
    std::vector<TokenId> sample;
    for (TokenId k = 0; k < 8; ++k) sample.push_back((i * 7 + k * (i + 3)) % 40);
    (i % 4 == 3 ? samples.held_out : samples.fit).push_back(std::move(sample));
  }
  return samples;
}

/// A GGUF file of this description, without tensors.
inline GgufModel tiny_keys(const Description& d) {
  GgufModel file(d.architecture);
  const auto whole = [&](const char* key, std::size_t value) {
    file.whole(key, static_cast<std::uint32_t>(value));
  };
  whole("block_count", d.blocks);
  whole("context_length", d.context);
  whole("embedding_length", d.width);
  whole("feed_forward_length", d.inner);
  whole("attention.head_count", d.heads);
  whole("attention.head_count_kv", d.kv_heads);
  whole("attention.key_length", d.head_width);
  whole("attention.value_length", d.value_width);
  whole("rope.dimension_count", d.rotary_dims);
  file.number(
      d.norm == Norm::kRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
      static_cast<float>(d.norm_epsilon));
  if (d.experts == 0) return file;
  whole("expert_count", d.experts);
  whole("expert_used_count", d.active_experts);
  whole("expert_feed_forward_length", d.inner);
  return file;
}

/// A GGUF file with the weights that `make` gives, of (id, number of elements).
template <typename Make>
GgufModel tiny_file(const Description& d, Make&& make) {
  GgufModel file = tiny_keys(d);
  std::vector<float> experts;
  for (const WeightId& id : needed_weights(d)) {
    const TensorPlace place = places_of(d, Naming::kGguf, id)[0];
    auto shape = shape_of(d, id);
    std::size_t size = 1;
    for (const std::size_t extent : shape) size *= extent;
    std::vector<float> values = make(id, size);
    if (place.stacked != 0) {
      if (id.expert == 0) experts.clear();
      experts.insert(experts.end(), values.begin(), values.end());
      if (id.expert + 1 < place.stacked) continue;
      shape.insert(shape.begin(), place.stacked);
      values = experts;
    }
    file.tensor({place.name, shape, std::move(values)});
  }
  return file;
}

template <typename Make>
ModelParts tiny_model(const Description& d, Make&& make) {
  return {d, Weights(d, tiny_file(d, make).file())};
}

/// Root mean square of the differences, relative to that of the second.
inline double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / size);
}

/// The logits of a sample of six tokens, which a vocabulary of eleven has.
inline std::vector<float> logits_of(const ModelParts& model) {
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7, 0};
  const DecoderGraphs graphs = build_samples(model.description, model.weights, ids.size());
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::Tensor::from<std::int32_t>({1, 6}, ids));
  std::vector<ir::Tensor> rows = ir::evaluate_graph(graphs.body, inputs);
  const ir::Tensor logits = ir::evaluate_graph(graphs.head, rows)[0].clone();
  return {logits.as<float>().begin(), logits.as<float>().end()};
}

}  // namespace halftone::lm
