// SPDX-License-Identifier: Apache-2.0
// Matrix products: a FullyConnected if the matrix is constant, otherwise a MatMul.
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

/// The DequantizeLinear of a constant that computes a value, or null.
const ir::Node* dequantized_constant(NodeBuilder& node, ValueId id) {
  const ir::Graph& graph = node.state().graph;
  const auto producer = graph.producer(id);
  if (!producer) return nullptr;
  const ir::Node& found = graph.node(*producer);
  return std::holds_alternative<ir::DequantizeLinear>(found.op) &&
                 node.constant(found.inputs[0]) != nullptr
             ? &found
             : nullptr;
}

/// Whether a value is a constant matrix [a, b], as floats or as quantized integers.
bool is_weight(NodeBuilder& node, ValueId id) {
  return node.type(id).shape.rank() == 2 &&
         (node.constant(id) != nullptr || dequantized_constant(node, id) != nullptr);
}

/// The transposed weight, created once for all nodes that use it. Quantized weights stay integers:
/// their constant is transposed and then dequantized.
ValueId transposed(NodeBuilder& node, ValueId weight) {
  auto& known = node.state().transposed;
  if (const auto found = known.find(weight); found != known.end()) return found->second;
  ValueId result = ir::kAbsent;
  if (const ir::Node* dequantize = dequantized_constant(node, weight)) {
    auto op = std::get<ir::DequantizeLinear>(dequantize->op);
    if (op.parameters.scales.size() > 1) op.parameters.axis = 1 - op.parameters.axis;
    const ValueId codes = node.emit(ir::Transpose{{1, 0}}, {dequantize->inputs[0]});
    result = node.emit(op, {codes}, "weight");
  } else {
    result = node.emit(ir::Transpose{{1, 0}}, {weight});
  }
  known.emplace(weight, result);
  return result;
}

ValueId scaled(NodeBuilder& node, ValueId id, float factor) {
  if (factor == 1) return id;
  return node.emit(ir::Binary{ir::BinaryKind::kMul, {}}, {id, node.add_scalar(factor)});
}

/// Gemm's third operand as a bias [outputs], if it is the same for every row.
std::optional<ValueId> as_bias(NodeBuilder& node, ValueId c, ir::Dim outputs) {
  const ir::Shape& shape = node.type(c).shape;
  if (shape == ir::Shape{outputs}) return c;
  if (shape == ir::Shape{1, outputs} || (outputs == 1 && shape.rank() == 0)) {
    return node.reshape(c, {outputs});
  }
  const ir::Tensor* constant = node.constant(c);
  if (constant == nullptr || constant->size() != 1 || shape.rank() > 2 ||
      constant->element() != ir::ElementType::kFloat32) {
    return std::nullopt;
  }
  const float value = constant->as<float>()[0];
  ir::Tensor bias = node.allocate(ir::ElementType::kFloat32, {outputs});
  std::ranges::fill(bias.as<float>(), value);
  return node.add_constant(std::move(bias));
}

ValueId add(NodeBuilder& node, ValueId product, ValueId c) {
  const ir::Shape shape = node.type(product).shape;
  const ValueId sum = node.emit(ir::Binary{ir::BinaryKind::kAdd, {}}, {product, c});
  if (!ir::may_be_equal(node.type(sum).shape, shape)) {
    fail(ErrorKind::kShape,
         "C " + node.type(c).shape.to_string() + " does not broadcast to " + shape.to_string());
  }
  return sum;
}

void require_matrix(const ir::Shape& shape, std::size_t i) {
  if (shape.rank() == 2) return;
  fail(ErrorKind::kShape,
       "input " + std::to_string(i) + ": expected a matrix, found " + shape.to_string());
}

/// The weights [n, outputs] in input 1 as codes [outputs, n], if they have few bits.
std::optional<ValueId> encoded_matrix(NodeBuilder& node, bool is_turned) {
  using Order = std::vector<std::size_t>;
  return encoded_weight(node, 1, is_turned ? Order{0, 1} : Order{1, 0});
}

/// Gemm with constant weights: folds alpha into float weights and beta into a constant bias.
/// @param codes  the weights, if they have few bits
ValueId gemm_with_weights(NodeBuilder& node, LayerInput x, std::optional<ValueId> codes,
                          std::optional<ValueId> c) {
  const float alpha = node.float_attribute("alpha", 1);
  if (node.int_attribute("transA", 0) != 0) {
    x.x = node.emit(ir::Transpose{{1, 0}}, {x.x}, "transpose");
  }
  ValueId weight = codes ? *codes : node.input(1);
  if (!codes && node.int_attribute("transB", 0) == 0) weight = transposed(node, weight);
  const bool scale_weight = node.constant(weight) != nullptr;
  if (scale_weight) weight = scaled(node, weight, alpha);
  const bool is_scaled = scale_weight || alpha == 1;
  ir::FullyConnected op;
  op.arithmetic = arithmetic_of(x, codes);
  const auto bias = c && is_scaled ? as_bias(node, *c, node.type(weight).shape[0]) : std::nullopt;
  if (bias) return node.emit(op, {operand(node, x), weight, *bias});
  ValueId product = node.emit(op, {operand(node, x), weight});
  if (!is_scaled) product = scaled(node, product, alpha);
  return c ? add(node, product, *c) : product;
}

void build_gemm(NodeBuilder& node) {
  const LayerInput x = layer_input(node, 0);
  require_matrix(node.type(x.x).shape, 0);
  const auto codes = encoded_matrix(node, node.int_attribute("transB", 0) != 0);
  if (!codes) require_matrix(node.input_type(1).shape, 1);
  const float beta = node.float_attribute("beta", 1);
  std::optional<ValueId> c;
  if (node.has_input(2) && beta != 0) c = scaled(node, node.input(2), beta);
  if (codes || is_weight(node, node.input(1))) {
    node.set_output(0, gemm_with_weights(node, x, codes, c));
    return;
  }
  const ir::MatMul op{node.int_attribute("transA", 0) != 0, node.int_attribute("transB", 0) != 0};
  ValueId product = node.emit(op, {node.input(0), node.input(1)});
  product = scaled(node, product, node.float_attribute("alpha", 1));
  node.set_output(0, c ? add(node, product, *c) : product);
}

void build_matmul(NodeBuilder& node) {
  const LayerInput x = layer_input(node, 0);
  const bool is_layer = node.type(x.x).shape.rank() > 0;
  const auto codes = is_layer ? encoded_matrix(node, false) : std::nullopt;
  if (codes || (is_layer && is_weight(node, node.input(1)))) {
    ir::FullyConnected op;
    op.arithmetic = arithmetic_of(x, codes);
    const ValueId weight = codes ? *codes : transposed(node, node.input(1));
    node.set_output(0, node.emit(op, {operand(node, x), weight}));
  } else {
    node.set_output(0, node.emit(ir::MatMul{}, {node.input(0), node.input(1)}));
  }
}

constexpr ReaderEntry kLinearReaders[] = {
    {"", "Gemm", build_gemm},
    {"", "MatMul", build_matmul},
};

}  // namespace

std::span<const ReaderEntry> linear_readers() { return kLinearReaders; }

}  // namespace halftone::formats::onnx
