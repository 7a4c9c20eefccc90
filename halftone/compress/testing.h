// SPDX-License-Identifier: Apache-2.0
// Small networks and data sets for the tests of this module.
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/recipe.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/test_data.h"

namespace halftone::compress {

using ir::test::random_tensor;

inline ir::ValueId add_layer(ir::Graph& graph, const std::string& name, ir::ValueId x,
                             ir::Tensor weights, Random& random,
                             ir::ActivationKind activation = ir::ActivationKind::kIdentity) {
  const ir::Dim outputs = weights.shape()[0];
  const ir::ValueId w = graph.add_constant(name + ".w", std::move(weights));
  const ir::ValueId b =
      graph.add_constant(name + ".b", random_tensor(ir::Shape{outputs}, random, 0.1F));
  return graph.add_node(name, ir::FullyConnected{{activation, 0, 0}}, {x, w, b});
}

inline Recipe recipe_of(int weight_bits, int activation_bits) {
  Recipe recipe;
  recipe.defaults.weight_bits = weight_bits;
  recipe.defaults.activation_bits = activation_bits;
  return recipe;
}

/// n - hidden - outputs with tanh between.
inline ir::Graph perceptron(ir::Dim n, ir::Dim hidden, ir::Dim outputs, std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, n}));
  const auto h = add_layer(graph, "first", x, random_tensor({hidden, n}, random, 0.3F), random,
                           ir::ActivationKind::kTanh);
  graph.add_output(
      add_layer(graph, "second", h, random_tensor({outputs, hidden}, random, 0.3F), random));
  return graph;
}

/// Normally distributed values; element i of a sample is zero where i % 5 == 4.
inline data::Dataset random_dataset(std::size_t samples, std::size_t n, std::uint64_t seed,
                                    std::vector<std::int64_t> labels = {}) {
  Random random(seed);
  std::vector<float> x(samples * n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i % n % 5 == 4 ? 0 : static_cast<float>(random.normal());
  }
  std::optional<SharedBytes> y;
  if (!labels.empty()) {
    const auto array = data::make_npy(std::span<const std::int64_t>(labels), {labels.size()});
    y = own_bytes(data::npy_bytes(array));
  }
  const auto array = data::make_npy(std::span<const float>(x), {samples, n});
  return data::dataset_from_npy("random", own_bytes(data::npy_bytes(array)), y, {});
}

}  // namespace halftone::compress
