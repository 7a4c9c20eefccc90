// SPDX-License-Identifier: Apache-2.0
// A small task for tests of training: a teacher, its samples, a student. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train::test {

inline constexpr std::size_t kSamples = 512;

/// Samples labelled with the answers of a network.
inline data::Dataset taught(const ir::Graph& teacher, std::uint64_t seed) {
  const data::Dataset plain = compress::random_dataset(kSamples, 10, seed);
  std::vector<float> numbers(kSamples * 10);
  plain.inputs()[0].source->read_floats(0, kSamples, numbers);
  const ir::Shape shape{static_cast<ir::Dim>(kSamples), 10};
  const auto scores = ir::test::run_reference(
      teacher, ir::test::list(ir::Tensor::from<float>(shape, std::span<const float>(numbers))));
  std::vector<std::int64_t> labels;
  for (std::size_t s = 0; s < kSamples; ++s) {
    const auto row = scores[0].as<float>().subspan(4 * s, 4);
    labels.push_back(std::ranges::max_element(row) - row.begin());
  }
  return compress::random_dataset(kSamples, 10, seed, labels);
}

inline ir::Graph teacher_network() { return compress::perceptron(10, 20, 4, 1); }

inline ir::Graph student_network(const ir::Graph& teacher, const data::Dataset& data) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = 1;
  recipe.defaults.activation_bits = 2;
  return compress::quantize(teacher, data, recipe, {}).graph;
}

inline LearnOptions few_epochs() {
  LearnOptions options;
  options.epochs = 8;
  options.batch = 64;
  options.optimizer.rate = 5e-3;
  return options;
}

inline StudentOptions by_gradient() {
  StudentOptions options;
  options.weights.rule = options.activations.rule = LevelRule::kGradient;
  return options;
}

inline void expect_same(const ir::Graph& a, const ir::Graph& b) {
  Random random(8);
  const auto inputs = ir::test::list(ir::test::random_tensor({50, 10}, random));
  EXPECT_TRUE(
      ir::test::same_bytes(ir::test::run_reference(a, inputs), ir::test::run_reference(b, inputs)));
}

}  // namespace halftone::train::test
