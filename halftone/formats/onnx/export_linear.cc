// SPDX-License-Identifier: Apache-2.0
// A fully connected layer in float is a Gemm or a MatMul; one in a basis an operator of our own.
#include <algorithm>
#include <numeric>

#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/fully_connected.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using numerics::BasisEncoding;
using onnx_pb::NodeProto;

/// The Encode that a value comes from, or null.
const Node* encode_of(const Exporter& exporter, ValueId id) {
  const auto producer = exporter.graph().producer(id);
  if (!producer) return nullptr;
  const Node& node = exporter.graph().node(*producer);
  return std::holds_alternative<ir::Encode>(node.op) ? &node : nullptr;
}

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent; }

/// The value with its last two axes exchanged: a constant in the file, or a node.
/// @pre rank >= 2
std::string transposed(Exporter& exporter, ValueId id, const std::string& wanted) {
  const ir::Shape& shape = exporter.type(id).shape;
  std::vector<std::size_t> permutation(shape.rank());
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  std::swap(permutation[shape.rank() - 1], permutation[shape.rank() - 2]);
  const ir::Constant* constant = exporter.graph().constant(id);
  if (constant != nullptr) {
    const ir::Tensor* tensor = std::get_if<ir::Tensor>(constant);
    const ir::Tensor turned = ir::evaluate_operator(ir::Transpose{permutation}, {&tensor, 1});
    return exporter.add_initializer(exporter.name(id), encode_tensor(turned));
  }
  const std::string result = exporter.fresh(wanted);
  NodeProto& proto = exporter.add_node("Transpose", {exporter.read(id)}, result);
  set_attribute(proto, "perm", std::vector<std::int64_t>(permutation.begin(), permutation.end()));
  return result;
}

void export_dense(Exporter& exporter, const Node& node, const std::string& output) {
  const std::string x = exporter.read(node.inputs[0]);
  if (exporter.type(node.inputs[0]).shape.rank() == 2) {
    std::vector<std::string> inputs{x, exporter.read(node.inputs[1])};
    if (has_bias(node)) inputs.push_back(exporter.read(node.inputs[2]));
    set_attribute(exporter.add_node("Gemm", inputs, output), "transB", std::int64_t{1});
    return;
  }
  const std::string weight = transposed(exporter, node.inputs[1], output + "/weight");
  const std::string product = has_bias(node) ? exporter.fresh(output + "/product") : output;
  exporter.add_node("MatMul", {x, weight}, product);
  if (has_bias(node)) {
    exporter.add_node("Add", {product, exporter.read(node.inputs[2])}, output);
  }
}

/// [num_bases, bits], or one more with an offset behind.
std::string add_bases(Exporter& exporter, const std::string& wanted, const BasisEncoding& encoding,
                      bool as_vector) {
  std::vector<float> numbers;
  for (const numerics::Basis& basis : encoding.bases) {
    numbers.insert(numbers.end(), basis.a().begin(), basis.a().end());
    if (encoding.has_offset) numbers.push_back(basis.offset);
  }
  const ir::Dim width = encoding.bits + (encoding.has_offset ? 1 : 0);
  const auto count = static_cast<ir::Dim>(encoding.bases.size());
  const ir::Shape shape = as_vector ? ir::Shape{width} : ir::Shape{count, width};
  return exporter.add_initializer(wanted, encode_compact(ir::Tensor::from<float>(shape, numbers)));
}

/// uint8 [outputs, bits, bytes], bit c of a row in bit c mod 8 of byte c / 8.
onnx_pb::TensorProto encode_planes(const numerics::BitPlanes& codes) {
  const std::size_t row_bytes = (codes.cols + 7) / 8;
  const auto bytes = to_bytes(codes.planes, row_bytes);
  const ir::Shape shape{static_cast<ir::Dim>(codes.rows), codes.bits,
                        static_cast<ir::Dim>(row_bytes)};
  return encode_tensor(ir::Tensor::from<std::uint8_t>(shape, bytes));
}

void export_in_basis(Exporter& exporter, const Node& node, const Node* encode,
                     const ir::EncodedTensor* weight, std::int64_t activation,
                     const std::string& output) {
  const BasisEncoding* x_basis =
      encode == nullptr ? nullptr : std::get<ir::Encode>(encode->op).encoding.get();
  const BasisEncoding* w_basis = weight == nullptr ? nullptr : weight->encoding.get();
  std::vector<std::string> inputs(4);
  inputs[0] = exporter.read(encode == nullptr ? node.inputs[0] : encode->inputs[0]);
  if (x_basis != nullptr) inputs[1] = add_bases(exporter, output + "/x", *x_basis, true);
  if (weight != nullptr) {
    const std::string& name = exporter.name(node.inputs[1]);
    inputs[2] = add_bases(exporter, name + "/basis", *w_basis, false);
    inputs[3] = exporter.read_as(node.inputs[1], [&] { return encode_planes(weight->codes); });
  } else {
    inputs[3] = exporter.read(node.inputs[1]);
  }
  if (has_bias(node)) inputs.push_back(exporter.read(node.inputs[2]));
  NodeProto& proto = exporter.add_node("FullyConnected", inputs, output);
  proto.set_domain(std::string(kHalftoneDomain));
  exporter.require_halftone_domain();
  const auto flag = [](bool set) { return std::int64_t{set ? 1 : 0}; };
  set_attribute(proto, "version", std::int64_t{1});
  set_attribute(proto, "inputs", exporter.type(node.inputs[1]).shape[1]);
  set_attribute(proto, "weight_bits", std::int64_t{w_basis == nullptr ? 0 : w_basis->bits});
  set_attribute(proto, "activation_bits", std::int64_t{x_basis == nullptr ? 0 : x_basis->bits});
  set_attribute(proto, "weight_offset", flag(w_basis != nullptr && w_basis->has_offset));
  set_attribute(proto, "activation_offset", flag(x_basis != nullptr && x_basis->has_offset));
  set_attribute(proto, "granularity",
                w_basis == nullptr ? "tensor" : to_string(w_basis->granularity));
  set_attribute(proto, "group_size",
                static_cast<std::int64_t>(w_basis == nullptr ? 0 : w_basis->group_size));
  set_attribute(proto, "activation", activation);
}

}  // namespace

void export_operator(Exporter& exporter, const Node& node, const ir::FullyConnected& op) {
  const ir::Constant* constant = exporter.graph().constant(node.inputs[1]);
  const auto* weight = constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
  const Node* encode = encode_of(exporter, node.inputs[0]);
  const bool in_basis = weight != nullptr || encode != nullptr;
  const auto code = in_basis ? code_of_activation(op.activation) : std::nullopt;
  const bool separate = code ? false : op.activation != ir::Activation{};
  const std::string& output = exporter.name(node.output);
  const std::string result = separate ? exporter.fresh(output + "/linear") : output;
  if (in_basis) {
    export_in_basis(exporter, node, encode, weight, code.value_or(0), result);
  } else {
    export_dense(exporter, node, result);
  }
  if (separate) export_activation(exporter, op.activation, result, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::MatMul& op) {
  const std::string& output = exporter.name(node.output);
  const std::string a = op.transpose_a ? transposed(exporter, node.inputs[0], output + "/a")
                                       : exporter.read(node.inputs[0]);
  const std::string b = op.transpose_b ? transposed(exporter, node.inputs[1], output + "/b")
                                       : exporter.read(node.inputs[1]);
  exporter.add_node("MatMul", {a, b}, output);
}

}  // namespace halftone::formats::onnx
