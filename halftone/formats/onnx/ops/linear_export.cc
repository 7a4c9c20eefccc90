// SPDX-License-Identifier: Apache-2.0
// A fully connected layer in float is a Gemm or a MatMul.
#include <algorithm>
#include <numeric>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent; }

/// The value with its last two axes swapped: a constant of the file, or a Transpose node.
/// @pre rank >= 2
std::string transposed(Exporter& exporter, ValueId id, const std::string& wanted) {
  const ir::Shape& shape = exporter.type(id).shape;
  std::vector<std::size_t> permutation(shape.rank());
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  std::swap(permutation[shape.rank() - 1], permutation[shape.rank() - 2]);
  if (exporter.codes(id) != nullptr) return exporter.read_numbers(id, permutation);
  const ir::Constant* constant = exporter.graph().constant(id);
  if (constant != nullptr) {
    const ir::Tensor* tensor = std::get_if<ir::Tensor>(constant);
    const ir::Tensor turned = ir::evaluate_operator(ir::Transpose{permutation}, {&tensor, 1});
    return exporter.add_initializer(exporter.name(id), encode_tensor(turned));
  }
  std::string result = exporter.fresh(wanted);
  NodeProto& proto = exporter.add_node("Transpose", {exporter.read(id)}, result);
  set_attribute(proto, "perm", std::vector<std::int64_t>(permutation.begin(), permutation.end()));
  return result;
}

/// Adds a Gemm, with the bias if it may.
void export_gemm(Exporter& exporter, const Node& node, bool with_bias, const std::string& output) {
  const ValueId weights = node.inputs[1];
  const bool has_codes = exporter.codes(weights) != nullptr;
  std::vector<std::string> inputs{
      exporter.read(node.inputs[0]),
      has_codes ? exporter.read_numbers(weights, {0, 1}) : exporter.read(weights)};
  if (with_bias) inputs.push_back(exporter.read(node.inputs[2]));
  set_attribute(exporter.add_node("Gemm", inputs, output), "transB", std::int64_t{1});
}

void export_dense(Exporter& exporter, const Node& node, const std::string& output) {
  const bool is_gemm = exporter.type(node.inputs[0]).shape.rank() == 2;
  const bool adds = has_bias(node) && (!is_gemm || exporter.adds_bias_apart(node));
  const std::string product = adds ? exporter.fresh(output + "/product") : output;
  if (is_gemm) {
    export_gemm(exporter, node, has_bias(node) && !adds, product);
  } else {
    const std::string x = exporter.read(node.inputs[0]);
    const std::string weight = transposed(exporter, node.inputs[1], output + "/weight");
    exporter.add_node("MatMul", {x, weight}, product);
  }
  if (adds) exporter.add_node("Add", {product, exporter.read(node.inputs[2])}, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::FullyConnected& op) {
  if (belongs_to_recurrent(exporter.graph(), node)) return;
  const LowBitLayer layer = take_apart(exporter.graph(), node);
  const bool in_basis = layer.in_basis() && !exporter.is_standard();
  const bool fused = in_basis ? activation_code(op.activation.kind).has_value()
                              : op.activation == ir::Activation{};
  const std::string& output = exporter.name(node.output);
  std::string result = fused ? output : exporter.fresh(output + "/linear");
  if (in_basis) {
    export_in_basis(exporter, node, "FullyConnected", result);
  } else if (becomes_matmul_nbits(exporter, node)) {
    export_matmul_nbits(exporter, node, result);
  } else {
    export_dense(exporter, node, result);
  }
  if (!fused) export_activation(exporter, op.activation, result, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::MatMul& op) {
  const std::string& output = exporter.name(node.output);
  const std::string a = op.transpose_a ? transposed(exporter, node.inputs[0], output + "/a")
                                       : exporter.read(node.inputs[0]);
  const std::string b = op.transpose_b ? transposed(exporter, node.inputs[1], output + "/b")
                                       : exporter.read(node.inputs[1]);
  exporter.add_node("MatMul", {a, b}, output);
}

constexpr WriterEntry kLinearWriters[] = {
    node_writer_entry<Exporter, ir::FullyConnected, export_operator>(),
    node_writer_entry<Exporter, ir::MatMul, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> linear_writers() { return kLinearWriters; }

}  // namespace halftone::formats::onnx
