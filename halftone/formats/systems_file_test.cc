// SPDX-License-Identifier: Apache-2.0
// Weights and inputs of every number system in every format: the file reads back as the same
// encodings, stored in the bits that the system says.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "halftone/base/testing.h"
#include "halftone/formats/model.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::formats {
namespace {

using numerics::Granularity;
using numerics::NumberSystem;

constexpr ir::Dim kInputs = 70;  // no multiple of a group or a byte
constexpr ir::Dim kOutputs = 5;

ir::EncodedTensor encoded_weights(const NumberSystem& system, int bits, Random& random,
                                  ir::Dim inputs = kInputs) {
  const ir::Tensor weights = ir::test::random_tensor({kOutputs, inputs}, random);
  const MatrixView<const float> view(weights.as<float>(), kOutputs,
                                     static_cast<std::size_t>(inputs));
  auto encoding = numerics::encoding_by_rule(system, bits, system.blocks, view).compact();
  auto codes = numerics::encode(view, encoding);
  return {weights.shape(), std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
}

std::shared_ptr<const numerics::MatrixEncoding> encoded_input(const NumberSystem& system, int bits,
                                                              Random& random) {
  const ir::Tensor values = ir::test::random_tensor({1, kInputs}, random);
  return std::make_shared<const numerics::MatrixEncoding>(
      numerics::encoding_by_rule(system, bits, {Granularity::kTensor, 0},
                                 {values.as<float>(), 1, kInputs})
          .compact());
}

/// Calls visit(system, bits) for every system with a codebook and some numbers of bits.
template <typename Visit>
void for_each_codebook(const Visit& visit) {
  for (const NumberSystem& system : numerics::number_systems()) {
    if (system.is_learned()) continue;
    for (const int bits : {system.min_bits, std::clamp(5, system.min_bits, system.max_bits),
                           std::clamp(8, system.min_bits, system.max_bits), system.max_bits}) {
      SCOPED_TRACE(std::string(system.name) + " of " + std::to_string(bits) + " bits");
      visit(system, bits);
    }
  }
}

/// Calls visit(file, found) with the weights of a layer after writing and reading each format.
class SystemsFile : public WithFolder {
 protected:
  template <typename Visit>
  void for_each_file(const ir::EncodedTensor& weights, const Visit& visit) {
    ir::Graph graph;
    const auto x = graph.add_input(
        "x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, weights.shape[1]}));
    const auto w = graph.add_constant("w", weights);
    graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
    for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
      SCOPED_TRACE(name);
      save_model(graph, path(name));
      const ir::Graph found = load_model(path(name));
      const ir::Node& layer = found.node(*found.producer(found.outputs()[0]));
      visit(std::get<ir::EncodedTensor>(*found.constant(layer.inputs[1])));
    }
  }
};

TEST_F(SystemsFile, KeepsWeightsOfEveryNumberSystem) {
  Random random(3);
  for_each_codebook([&](const NumberSystem& system, int bits) {
    const ir::EncodedTensor expected = encoded_weights(system, bits, random);
    for_each_file(expected, [&](const ir::EncodedTensor& found) {
      EXPECT_EQ(*found.encoding, *expected.encoding);
      EXPECT_EQ(found.encoding->scales.type(), expected.encoding->scales.type());
      EXPECT_EQ(found.codes, expected.codes);
    });
  });
}

// One codeword, a row that ends within one, and rows of several groups.
TEST_F(SystemsFile, KeepsVectors) {
  Random random(8);
  for (const std::string_view rate : numerics::vector_rates()) {
    for (const ir::Dim inputs : {1, 2, 63, 64, 131}) {
      SCOPED_TRACE(std::string(rate) + " of " + std::to_string(inputs) + " inputs");
      const auto cols = static_cast<std::size_t>(inputs);
      auto encoding = numerics::empty_encoding(numerics::find_system(rate), 8,
                                               {Granularity::kGroup, 64}, kOutputs, cols);
      encoding.scales.set_factor(0, 0.375);
      for (std::size_t i = 0; i < encoding.scales.size(); ++i) {
        encoding.scales.set(i, 0.375 * static_cast<double>(1 + random.next() % 200));
      }
      std::vector<std::uint16_t> vectors(kOutputs *
                                         numerics::vectors_per_row(*encoding.vectors, cols));
      for (auto& each : vectors) {
        each = static_cast<std::uint16_t>(random.next() % encoding.vectors->num_codes());
      }
      auto codes = numerics::planes_of_vectors(vectors, *encoding.vectors, kOutputs, cols);
      const ir::EncodedTensor expected{
          {kOutputs, inputs},
          std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
      for_each_file(expected, [&](const ir::EncodedTensor& found) {
        EXPECT_EQ(*found.encoding, *expected.encoding);
        EXPECT_EQ(found.codes, expected.codes);
        EXPECT_EQ(ir::storage_bytes(found), ir::storage_bytes(expected));
        EXPECT_EQ(ir::storage_bytes(found),
                  kOutputs * numerics::vector_row_bytes(*found.encoding->vectors, cols) +
                      found.encoding->num_blocks() + sizeof(float));
      });
    }
  }
}

bool same_bytes(const numerics::StoredNumbers& a, const numerics::StoredNumbers& b) {
  return std::ranges::equal(a.bytes(), b.bytes()) &&
         std::ranges::equal(a.factor_bytes(), b.factor_bytes()) && a.sharing() == b.sharing();
}

// Rows of 1 to 19 runs of groups, the last of which may be shorter.
TEST_F(SystemsFile, KeepsFactorsThatGroupsShare) {
  Random random(5);
  for (const char* system : {"int_k", "affine_k"}) {
    for (const ir::Dim inputs : {1, 255, 256, 257, 300, 5000}) {
      SCOPED_TRACE(std::string(system) + " of " + std::to_string(inputs) + " inputs");
      const ir::EncodedTensor expected =
          encoded_weights(numerics::find_system(system), 4, random, inputs);
      for_each_file(expected, [&](const ir::EncodedTensor& found) {
        EXPECT_TRUE(same_bytes(found.encoding->scales, expected.encoding->scales));
        EXPECT_TRUE(same_bytes(found.encoding->offsets, expected.encoding->offsets));
        EXPECT_EQ(found.codes, expected.codes);
        EXPECT_EQ(found.encoding->stored_bits(), expected.encoding->stored_bits());
      });
    }
  }
}

TEST_F(SystemsFile, KeepsInputsOfEveryNumberSystem) {
  Random random(4);
  for_each_codebook([&](const NumberSystem& system, int bits) {
    // A factor of all scales makes no sense for one scale; more bits are no codes of a kernel.
    if (bits > numerics::kMaxBits || numerics::scale_storage(system, Granularity::kTensor).factor) {
      return;
    }
    ir::Graph graph;
    const auto x =
        graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, kInputs}));
    const auto w =
        graph.add_constant("w", encoded_weights(numerics::find_system("int"), 4, random));
    const auto encoding = encoded_input(system, bits, random);
    const auto codes = graph.add_node("encode", ir::Encode{encoding}, {x});
    graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {codes, w}));
    for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
      save_model(graph, path(name));
      const ir::Graph found = load_model(path(name));
      const ir::Node& layer = found.node(*found.producer(found.outputs()[0]));
      const auto& read = found.value(layer.inputs[0]).type.encoding.codes;
      ASSERT_NE(read, nullptr) << name;
      EXPECT_EQ(*read, *encoding) << name;
      EXPECT_EQ(read->scales.type(), encoding->scales.type()) << name;
    }
  });
}

}  // namespace
}  // namespace halftone::formats
