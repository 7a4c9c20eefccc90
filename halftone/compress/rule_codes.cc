// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/rule_codes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/parameters.h"
#include "halftone/compress/layers.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/systems.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Learned levels that are evenly spaced over the range of each block.
void set_even_levels(numerics::MatrixEncoding& encoding, MatrixView<const float> matrix) {
  std::vector<std::pair<float, float>> ranges(encoding.num_blocks(), {0.0F, 0.0F});
  const bool is_grouped = encoding.granularity == numerics::Granularity::kGroup;
  const std::size_t width = is_grouped ? encoding.group_size : matrix.cols();
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    for (std::size_t col = 0; col < matrix.cols(); ++col) {
      auto& [low, high] = ranges[encoding.block(row, col / width, matrix.cols())];
      low = std::min(low, matrix(row, col));
      high = std::max(high, matrix(row, col));
    }
  }
  for (std::size_t block = 0; block < ranges.size(); ++block) {
    const auto [low, high] = ranges[block];
    const float most = std::max(-low, high);
    encoding.set_levels(block, encoding.has_offset
                                   ? numerics::range_basis(encoding.bits, low, high)
                                   : numerics::range_basis(encoding.bits, -most, most));
  }
}

numerics::MatrixEncoding even_encoding(const WeightFormat& format, MatrixView<const float> matrix) {
  numerics::MatrixEncoding encoding = empty_encoding(format, matrix.rows(), matrix.cols());
  set_even_levels(encoding, matrix);
  return encoding;
}

/// The same with numbers rounded as fits round them, so that they take as many bytes in a file. The
/// scales of groups of a codebook have a short type already.
numerics::MatrixEncoding stored_as_fitted(numerics::MatrixEncoding encoding) {
  const bool has_group_scales =
      encoding.codebook != nullptr && encoding.granularity == numerics::Granularity::kGroup;
  if (has_group_scales) return encoding.compact();
  const ParameterSpace space = ParameterSpace::of(encoding);
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    encoding.set_levels(block, space.to_levels(space.parameters_of(encoding.levels(block)), block));
  }
  return encoding.compact();
}

ir::EncodedTensor rule_weights(const ir::Tensor& weights, const WeightFormat& format) {
  const auto [rows, cols] = ir::matrix_extent(weights.shape());
  const MatrixView<const float> matrix(weights.as<float>(), rows, cols);
  if (format.system->vectors != nullptr) {
    const auto metric = Metric<double>::identity(cols);
    MatrixFit fit = fit_matrix(matrix, {&metric, 1}, format,
                               {.feedback = false, .candidates = 1, .refine = false});
    return {weights.shape(), std::make_shared<const numerics::MatrixEncoding>(fit.encoding),
            std::move(fit.codes)};
  }
  const bool is_grouped = format.granularity == numerics::Granularity::kGroup;
  const numerics::MatrixEncoding encoding =
      stored_as_fitted(format.system->is_learned()
                           ? even_encoding(format, matrix)
                           : numerics::encoding_by_rule(
                                 *format.system, format.bits,
                                 {format.granularity, is_grouped ? format.group_size : 0}, matrix));
  return {weights.shape(), std::make_shared<const numerics::MatrixEncoding>(encoding),
          numerics::encode(matrix, encoding)};
}

/// Whether a value is never negative: what comes out of a Relu.
bool is_positive(const ir::Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return false;
  const ir::Operator& op = graph.node(*producer).op;
  const auto* unary = std::get_if<ir::Unary>(&op);
  const ir::Activation* activation =
      unary != nullptr ? &unary->activation : ir::fused_activation(op);
  if (activation == nullptr) return false;
  const auto limits = ir::limits_of(*activation);
  return limits && limits->low >= 0;
}

std::shared_ptr<const numerics::MatrixEncoding> rule_encoding(const ActivationFormat& format,
                                                              bool is_positive) {
  const std::array range = {is_positive ? 0.0F : -1.0F, 0.0F, 1.0F};
  const WeightFormat one{format.system, format.bits, format.offset, numerics::Granularity::kTensor};
  const MatrixView<const float> values(range.data(), 1, range.size(), range.size());
  return std::make_shared<const numerics::MatrixEncoding>(stored_as_fitted(
      format.system->is_learned()
          ? even_encoding(one, values)
          : numerics::encoding_by_rule(*format.system, format.bits, {one.granularity, 0}, values)));
}

void encode_layer(ir::Graph& graph, NodeId id, const LayerRecipe& recipe) {
  const ir::Node node = graph.node(id);
  ir::Operator op = node.op;
  std::vector<ValueId> inputs = node.inputs;
  const std::size_t weights = weights_input(op);
  if (recipe.weights) {
    const auto& dense = std::get<ir::Tensor>(*graph.constant(inputs[weights]));
    inputs[weights] =
        graph.add_constant(graph.value(inputs[weights]).name, rule_weights(dense, *recipe.weights));
    dense.release_pages();
  }
  if (recipe.activations && !ir::is_table(op)) {
    if (auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      recurrent->state_encoding = rule_encoding(*recipe.activations, false);
    } else if (recipe.activations->scales == ActivationScales::kFitted) {
      inputs[0] = graph.add_node(
          node.name + "/encode",
          ir::Encode{rule_encoding(*recipe.activations, is_positive(graph, inputs[0]))},
          {inputs[0]});
    } else {
      inputs[0] =
          graph.add_node(node.name + "/quantize", fake_quantize(*recipe.activations), {inputs[0]});
    }
  }
  graph.replace_node(id, std::move(op), std::move(inputs));
}

}  // namespace

ir::Graph with_rule_codes(const ir::Graph& graph, const Recipe& recipe) {
  const Recipe own = with_ends(graph, recipe);
  ir::Graph result = with_layers(graph, own);
  for (const NodeId id : quantizable_layers(result)) {
    encode_layer(result, id, own.for_layer(result.node(id).name));
  }
  fix_arithmetic(result, own);
  result.remove_unused_nodes();
  return result;
}

}  // namespace halftone::compress
