// SPDX-License-Identifier: Apache-2.0
// A small network of sequences, float and in a vector basis, for tests of tuning.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/numerics/vector_basis.h"
#include "halftone/train/tune/tune.h"

namespace halftone::train::test {

inline constexpr std::size_t kWidth = 64;
inline constexpr std::size_t kTokens = 8;
inline constexpr std::size_t kVocabulary = 20;

/// A matrix of a vector basis that is near float numbers: in each block the codewords nearest to
/// the numbers at one scale.
/// @param values  [rows, 64 k]
inline ir::BlockTensor in_basis(const ir::Tensor& values, const std::string& rate) {
  const auto basis = numerics::shipped_vector_basis(rate);
  // Codewords have a standard deviation of about 40; scales of e3m5 lie around 16.
  const auto encoding = std::make_shared<const numerics::VectorEncoding>(basis, 1 / (16 * 40.0F));
  const std::span<const float> all = values.as<float>();
  const auto d = static_cast<std::size_t>(basis->numbers());
  std::vector<std::byte> bytes(encoding->bytes_of(all.size()));
  std::vector<std::uint16_t> codes(encoding->codes_per_block());
  for (std::size_t block = 0; block < all.size() / kWidth; ++block) {
    const auto numbers = all.subspan(block * kWidth, kWidth);
    double square = 0;
    for (const float x : numbers) square += double{x} * double{x};
    const double scale = 16 * std::sqrt(square / kWidth) + 1;
    for (std::size_t j = 0; j < codes.size(); ++j) {
      double least = HUGE_VAL;
      for (std::size_t code = 0; code < basis->num_codes(); ++code) {
        double error = 0;
        for (std::size_t i = 0; i < d; ++i) {
          const double step = scale * double{encoding->factor};
          error += std::pow(step * basis->codeword(code)[i] - double{numbers[j * d + i]}, 2);
        }
        if (error >= least) continue;
        least = error;
        codes[j] = static_cast<std::uint16_t>(code);
      }
    }
    encoding->pack_codes(codes, static_cast<float>(scale),
                         bytes.data() + block * encoding->block_bytes);
  }
  return {values.shape(), encoding, own_bytes(std::move(bytes))};
}

/// An embedding, a block of attention and a feed-forward network, and a head that is the table of
/// the embedding.
class SequenceNetwork {
 public:
  /// @param rate  of the matrices; empty: they are float32
  explicit SequenceNetwork(std::string rate) : rate_(std::move(rate)) {
    embedding();
    block();
    logits();
  }

  SequenceParts parts;
  NamedConstants tuned;  ///< matrices in codes and gains

 private:
  ir::ValueId constant(ir::Graph& graph, const std::string& name, const ir::Shape& shape) {
    std::shared_ptr<const ir::Constant>& known = constants_[name];
    if (known == nullptr) {
      Random random(constants_.size());
      ir::Tensor values = ir::test::random_tensor(shape, random);
      const bool is_matrix = shape.rank() == 2;
      for (float& x : values.as<float>()) x = is_matrix ? x * 0.3F : 1 + 0.1F * x;
      known = !is_matrix || rate_.empty()
                  ? std::make_shared<const ir::Constant>(std::move(values))
                  : std::make_shared<const ir::Constant>(in_basis(values, rate_));
      if (can_be_tuned(*known)) tuned.emplace(name, known);
    }
    return graph.add_constant(name, known);
  }
  ir::ValueId product(ir::Graph& graph, const std::string& name, ir::ValueId x, ir::Dim outputs,
                      ir::Dim inputs = kWidth) {
    return graph.add_node(name, ir::FullyConnected{},
                          {x, constant(graph, name + ".weight", {outputs, inputs})});
  }
  ir::ValueId norm(ir::Graph& graph, const std::string& name, ir::ValueId x) {
    const ir::ValueId y =
        graph.add_node(name + "/normalized",
                       ir::Normalize{.axes = {2}, .epsilon = 1e-5F, .subtract_mean = false}, {x});
    return graph.add_node(name, ir::Binary{ir::BinaryKind::kMul, {}},
                          {y, constant(graph, name + ".gain", {kWidth})});
  }
  static ir::ValueId add(ir::Graph& graph, const std::string& name, ir::ValueId a, ir::ValueId b) {
    return graph.add_node(name, ir::Binary{ir::BinaryKind::kAdd, {}}, {a, b});
  }
  static ir::ValueType rows(ir::Dim tokens) {
    return ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, tokens, kWidth});
  }
  void embedding() {
    ir::Graph graph;
    const ir::ValueId ids =
        graph.add_input("ids", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch, kTokens}));
    const ir::ValueId table = constant(graph, "table", {kVocabulary, kWidth});
    graph.add_output(graph.add_node("embedding", ir::Gather{.axis = 0}, {table, ids}));
    parts.push_back(std::move(graph));
  }
  void block() {
    ir::Graph graph;
    ir::ValueId x = graph.add_input("rows", rows(kTokens));
    const ir::ValueId normed = norm(graph, "attention_norm", x);
    const ir::ValueId mixed =
        graph.add_node("attention", ir::Attention{2, 1, 0.2F},
                       {product(graph, "q", normed, 64), product(graph, "k", normed, 32),
                        product(graph, "v", normed, 32)});
    x = add(graph, "attended", x, product(graph, "out", mixed, 64));
    const ir::ValueId up = graph.add_node("active", ir::Unary{{ir::ActivationKind::kSilu}},
                                          {product(graph, "up", norm(graph, "ffn_norm", x), 128)});
    graph.add_output(add(graph, "sum", x, product(graph, "down", up, 64, 128)));
    parts.push_back(std::move(graph));
  }
  void logits() {
    ir::Graph graph;
    const ir::ValueId x = norm(graph, "final_norm", graph.add_input("rows", rows(1)));
    graph.add_output(graph.add_node("logits", ir::FullyConnected{},
                                    {x, constant(graph, "table", {kVocabulary, kWidth})}));
    parts.push_back(std::move(graph));
  }

  std::string rate_;
  std::map<std::string, std::shared_ptr<const ir::Constant>> constants_;
};

/// Random ids.
inline std::vector<TokenSample> token_samples(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<TokenSample> samples(count, TokenSample(kTokens));
  for (TokenSample& sample : samples) {
    for (std::int32_t& id : sample) id = static_cast<std::int32_t>(random.below(kVocabulary));
  }
  return samples;
}

}  // namespace halftone::train::test
