// SPDX-License-Identifier: Apache-2.0
// Graphs and values for the tests and benchmarks of this folder, all derived from seeds.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/ir/test_data.h"

namespace halftone::runtime::testing {

using ir::test::random_tensor;

/// A basis with coefficients near 1, 1/2, 1/4 ... times `scale`.
inline numerics::Basis random_basis(int bits, bool offset, Random& random, float scale = 1) {
  std::vector<float> a;
  for (int i = 0; i < bits; ++i) {
    a.push_back(scale * std::ldexp(0.8F + 0.4F * static_cast<float>(random.uniform()), -i));
  }
  const float c = offset ? 0.1F + 0.2F * static_cast<float>(random.uniform()) : 0.0F;
  return numerics::make_basis(a, c);
}

inline std::shared_ptr<const numerics::MatrixEncoding> activation_encoding(int bits, bool offset,
                                                                           Random& random) {
  return std::make_shared<numerics::MatrixEncoding>(
      numerics::tensor_encoding(random_basis(bits, offset, random)));
}

struct WeightFormat {
  int bits = 1;
  bool offset = false;
  numerics::Granularity granularity = numerics::Granularity::kChannel;
  std::size_t group_size = 0;
};

/// Random weights [o, n] encoded in random bases.
inline ir::EncodedTensor random_weights(std::size_t o, std::size_t n, const WeightFormat& format,
                                        Random& random) {
  numerics::MatrixEncoding encoding;
  encoding.bits = format.bits;
  encoding.has_offset = format.offset;
  encoding.granularity = format.granularity;
  encoding.group_size = format.group_size;
  encoding.allocate(o, n);
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    encoding.set_levels(i, random_basis(format.bits, format.offset, random, 0.5F));
  }
  const ir::Shape shape{static_cast<ir::Dim>(o), static_cast<ir::Dim>(n)};
  const ir::Tensor values = random_tensor(shape, random);
  numerics::BitPlanes codes = numerics::encode({values.as<float>(), o, n}, encoding);
  return {shape, std::make_shared<numerics::MatrixEncoding>(std::move(encoding)), std::move(codes)};
}

/// Extents and encodings of a perceptron; without bits everything is float32.
struct Perceptron {
  std::size_t inputs = 784;
  std::size_t hidden = 700;
  std::size_t outputs = 10;
  std::optional<int> bits = std::nullopt;
};

/// A fully connected layer; without bits it is float32.
struct DenseLayer {
  std::string name;
  std::size_t outputs = 0;
  std::optional<int> bits = std::nullopt;
  ir::ActivationKind activation = ir::ActivationKind::kIdentity;
};

/// Adds a layer with random weights; returns its output.
inline ir::ValueId add_dense_layer(ir::Graph& graph, ir::ValueId x, const DenseLayer& layer,
                                   Random& random) {
  const auto& [name, outputs, bits, activation] = layer;
  const auto n = static_cast<std::size_t>(graph.value(x).type.shape.back());
  ir::ValueId w{};
  if (bits) {
    x = graph.add_node(name + ".encode", ir::Encode{activation_encoding(*bits, true, random)}, {x});
    w = graph.add_constant(name + ".kernel", random_weights(outputs, n, {*bits, true}, random));
  } else {
    w = graph.add_constant(
        name + ".kernel",
        random_tensor({static_cast<ir::Dim>(outputs), static_cast<ir::Dim>(n)}, random));
  }
  const auto bias =
      graph.add_constant(name + ".bias", random_tensor({static_cast<ir::Dim>(outputs)}, random));
  return graph.add_node(name, ir::FullyConnected{{activation}}, {x, w, bias});
}

/// input -> dense1 (tanh) -> dense2 -> softmax, with random weights.
inline ir::Graph make_perceptron(const Perceptron& shape, std::uint64_t seed = 1) {
  Random random(seed);
  ir::Graph graph;
  auto x = graph.add_input(
      "pixels",
      ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, static_cast<ir::Dim>(shape.inputs)}));
  x = add_dense_layer(graph, x, {"dense1", shape.hidden, shape.bits, ir::ActivationKind::kTanh},
                      random);
  x = add_dense_layer(graph, x, {"dense2", shape.outputs, shape.bits}, random);
  graph.add_output(graph.add_node("probabilities", ir::Softmax{1}, {x}));
  return graph;
}

}  // namespace halftone::runtime::testing
