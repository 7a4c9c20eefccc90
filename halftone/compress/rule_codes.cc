// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/rule_codes.h"

#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/compress/layers.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/systems.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

ir::EncodedTensor rule_weights(const ir::Tensor& weights, const WeightFormat& format) {
  const auto [rows, cols] = ir::matrix_extent(weights.shape());
  const MatrixView<const float> matrix(weights.as<float>(), rows, cols);
  const bool is_grouped = format.granularity == numerics::Granularity::kGroup;
  const numerics::MatrixEncoding encoding =
      format.system->is_learned()
          ? empty_encoding(format, rows, cols)
          : numerics::encoding_by_rule(*format.system, format.bits,
                                       {format.granularity, is_grouped ? format.group_size : 0},
                                       matrix);
  return {weights.shape(), std::make_shared<const numerics::MatrixEncoding>(encoding.compact()),
          numerics::encode(matrix, encoding)};
}

std::shared_ptr<const numerics::MatrixEncoding> rule_encoding(const ActivationFormat& format) {
  constexpr std::array kRange = {-1.0F, 0.0F, 1.0F};
  const WeightFormat one{format.system, format.bits, format.offset, numerics::Granularity::kTensor};
  const MatrixView<const float> values(kRange.data(), 1, kRange.size(), kRange.size());
  return std::make_shared<const numerics::MatrixEncoding>(
      format.system->is_learned()
          ? empty_encoding(one, 1, 1)
          : numerics::encoding_by_rule(*format.system, format.bits, {one.granularity, 0}, values));
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
  }
  if (recipe.activations && !ir::is_table(op)) {
    if (auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      recurrent->state_encoding = rule_encoding(*recipe.activations);
    } else if (recipe.activations->scales == ActivationScales::kFitted) {
      inputs[0] = graph.add_node(node.name + "/encode",
                                 ir::Encode{rule_encoding(*recipe.activations)}, {inputs[0]});
    } else {
      inputs[0] =
          graph.add_node(node.name + "/quantize", fake_quantize(*recipe.activations), {inputs[0]});
    }
  }
  graph.replace_node(id, std::move(op), std::move(inputs));
}

}  // namespace

ir::Graph with_rule_codes(const ir::Graph& graph, const Recipe& recipe) {
  ir::Graph result = with_layers(graph, recipe);
  for (const NodeId id : quantizable_layers(result)) {
    encode_layer(result, id, recipe.for_layer(result.node(id).name));
  }
  fix_arithmetic(result, recipe);
  result.remove_unused_nodes();
  return result;
}

}  // namespace halftone::compress
