// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/lower.h"
#include "halftone/formats/low_bit_layer.h"

namespace halftone::formats::circle {
namespace {

using schema::BuiltinOptionsUnion;

template <typename Options>
BuiltinOptionsUnion united(Options options) {
  BuiltinOptionsUnion result;
  result.Set(std::move(options));
  return result;
}

/// Writes one node; an overload per operator of the graph.
class NodeExport {
 public:
  NodeExport(Exporter& exporter, const ir::Node& node) : exporter_(exporter), node_(node) {}

  void operator()(const ir::Unary& op) const;
  void operator()(const ir::Binary& op) const;
  void operator()(const ir::Cast& op) const;
  void operator()(const ir::FullyConnected& op) const;
  void operator()(const ir::MatMul& op) const;
  void operator()(const ir::Softmax& op) const;
  void operator()(const ir::Reshape& op) const;
  void operator()(const ir::Transpose& op) const;
  void operator()(const ir::Concat& op) const;
  void operator()(const ir::Slice& op) const;
  /// Written by the FullyConnected that reads the codes.
  void operator()(const ir::Encode& /*op*/) const {}
  void operator()(const ir::QuantizeLinear& /*op*/) const { add(OperatorCode::kQuantize); }
  void operator()(const ir::DequantizeLinear& /*op*/) const { add(OperatorCode::kDequantize); }
  template <typename Op>
  void operator()(const Op& /*op*/) const {
    fail(ErrorKind::kUnsupported, "cannot be written to this format");
  }

 private:
  [[nodiscard]] const ir::ValueType& input_type(std::size_t i) const {
    return exporter_.graph().value(node_.inputs[i]).type;
  }
  [[nodiscard]] const ir::ValueType& output_type() const {
    return exporter_.graph().value(node_.output).type;
  }
  /// Adds the operator with the node's inputs, and further ones that the file wants.
  void add(OperatorCode code, BuiltinOptionsUnion options = {},
           std::initializer_list<TensorIndex> more = {}) const {
    std::vector<TensorIndex> inputs;
    for (const ir::ValueId input : node_.inputs) inputs.push_back(exporter_.tensor(input));
    inputs.insert(inputs.end(), more);
    exporter_.add(code, std::move(inputs), node_.output, std::move(options));
  }
  template <typename Options>
  void add_arithmetic(OperatorCode code, const ir::Activation& activation) const {
    Options options;
    options.fused_activation_function = activation_type(activation);
    add(code, united(std::move(options)));
  }
  void add_strided_slice(const ir::Slice& op) const;

  Exporter& exporter_;
  const ir::Node& node_;
};

void NodeExport::operator()(const ir::Unary& op) const {
  const auto code = builtin_unary(op.activation);
  if (!code) fail(ErrorKind::kUnsupported, "no such operator in the file");
  BuiltinOptionsUnion options;
  if (*code == OperatorCode::kLeakyRelu) {
    schema::LeakyReluOptionsT slope;
    slope.alpha = op.activation.alpha;
    options = united(slope);
  } else if (*code == OperatorCode::kGelu) {
    schema::GeluOptionsT gelu;
    gelu.approximate = op.activation.kind == ir::ActivationKind::kGeluTanh;
    options = united(gelu);
  }
  add(*code, std::move(options));
}

void NodeExport::operator()(const ir::Binary& op) const {
  switch (op.kind) {
    case ir::BinaryKind::kAdd:
      return add_arithmetic<schema::AddOptionsT>(OperatorCode::kAdd, op.activation);
    case ir::BinaryKind::kSub:
      return add_arithmetic<schema::SubOptionsT>(OperatorCode::kSub, op.activation);
    case ir::BinaryKind::kMul:
      return add_arithmetic<schema::MulOptionsT>(OperatorCode::kMul, op.activation);
    case ir::BinaryKind::kDiv:
      return add_arithmetic<schema::DivOptionsT>(OperatorCode::kDiv, op.activation);
    case ir::BinaryKind::kMax:
      return add(OperatorCode::kMaximum);
    case ir::BinaryKind::kMin:
      return add(OperatorCode::kMinimum);
    case ir::BinaryKind::kPow:
      return add(OperatorCode::kPow);
    case ir::BinaryKind::kPRelu:
      return add(OperatorCode::kPrelu);
  }
}

void NodeExport::operator()(const ir::Cast& op) const {
  schema::CastOptionsT options;
  options.in_data_type = tensor_type(input_type(0).encoding.element);
  options.out_data_type = tensor_type(op.element);
  add(OperatorCode::kCast, united(options));
}

void NodeExport::operator()(const ir::FullyConnected& op) const {
  if (!input_type(0).encoding.is_dense() || !input_type(1).encoding.is_dense()) {
    return export_lowbit(exporter_, node_);
  }
  schema::FullyConnectedOptionsT options;
  options.fused_activation_function = activation_type(op.activation);
  options.keep_num_dims = output_type().shape.rank() != 2;
  if (node_.inputs.size() == 2) return add(OperatorCode::kFullyConnected, united(options), {-1});
  add(OperatorCode::kFullyConnected, united(options));
}

void NodeExport::operator()(const ir::MatMul& op) const {
  schema::BatchMatMulOptionsT options;
  options.adj_x = op.transpose_a;
  options.adj_y = op.transpose_b;
  add(OperatorCode::kBatchMatmul, united(options));
}

void NodeExport::operator()(const ir::Softmax& op) const {
  if (op.log) return add(OperatorCode::kLogSoftmax);
  schema::SoftmaxOptionsT options;
  options.beta = op.beta;
  add(OperatorCode::kSoftmax, united(options));
}

void NodeExport::operator()(const ir::Reshape& op) const {
  const auto dims = op.shape.dims();
  if (std::ranges::count(dims, ir::kBatch) > 1) {
    fail(ErrorKind::kUnsupported, "a reshape to more than one batch axis");
  }
  add(OperatorCode::kReshape, {}, {exporter_.integers(dims)});
}

void NodeExport::operator()(const ir::Transpose& op) const {
  const std::vector<std::int64_t> permutation(op.permutation.begin(), op.permutation.end());
  add(OperatorCode::kTranspose, {}, {exporter_.integers(permutation)});
}

void NodeExport::operator()(const ir::Concat& op) const {
  schema::ConcatenationOptionsT options;
  options.axis = static_cast<std::int32_t>(op.axis);
  add(OperatorCode::kConcatenation, united(options));
}

void NodeExport::operator()(const ir::Slice& op) const {
  if (op.step != 1 && op.count > 1) return add_strided_slice(op);
  const std::size_t rank = output_type().shape.rank();
  std::vector<std::int64_t> begins(rank, 0);
  std::vector<std::int64_t> sizes(rank, -1);
  begins[op.axis] = static_cast<std::int64_t>(op.begin);
  sizes[op.axis] = static_cast<std::int64_t>(op.count);
  const TensorIndex begin = exporter_.integers(begins);
  add(OperatorCode::kSlice, {}, {begin, exporter_.integers(sizes)});
}

void NodeExport::add_strided_slice(const ir::Slice& op) const {
  const std::size_t rank = output_type().shape.rank();
  if (rank > 31) fail(ErrorKind::kUnsupported, "a slice of more than 31 axes");
  std::vector<std::int64_t> begins(rank, 0);
  std::vector<std::int64_t> ends(rank, 0);
  std::vector<std::int64_t> steps(rank, 1);
  const auto begin = static_cast<std::int64_t>(op.begin);
  const std::int64_t last = begin + (static_cast<std::int64_t>(op.count) - 1) * op.step;
  begins[op.axis] = begin;
  ends[op.axis] = op.step > 0 ? last + 1 : last - 1;
  steps[op.axis] = op.step;
  schema::StridedSliceOptionsT options;
  const std::int32_t bit = std::int32_t{1} << op.axis;
  options.begin_mask = static_cast<std::int32_t>((std::int64_t{1} << rank) - 1) & ~bit;
  // An end of -1 would count from the back: before the first element the end is open instead.
  options.end_mask = options.begin_mask | (ends[op.axis] < 0 ? bit : 0);
  const TensorIndex first = exporter_.integers(begins);
  const TensorIndex end = exporter_.integers(ends);
  add(OperatorCode::kStridedSlice, united(options), {first, end, exporter_.integers(steps)});
}

}  // namespace

schema::ActivationFunctionType activation_type(const ir::Activation& activation) {
  const auto code = activation_code(activation.kind);
  if (!code) fail(ErrorKind::kUnsupported, to_string(activation) + " cannot be fused in the file");
  return static_cast<schema::ActivationFunctionType>(*code);
}

void export_node(Exporter& exporter, const ir::Node& node) {
  with_context(describe(node), [&] { std::visit(NodeExport(exporter, node), node.op); });
}

}  // namespace halftone::formats::circle
