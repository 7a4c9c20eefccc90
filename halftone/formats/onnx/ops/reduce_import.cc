// SPDX-License-Identifier: Apache-2.0
// Reductions and sorting along axes.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

struct ReduceEntry {
  std::string_view op_type;
  ir::ReduceKind kind;
  std::int64_t axes_are_input_since = 18;
};

constexpr ReduceEntry kKinds[] = {
    {"ReduceSum", ir::ReduceKind::kSum, 13},   {"ReduceMean", ir::ReduceKind::kMean},
    {"ReduceMax", ir::ReduceKind::kMax},       {"ReduceMin", ir::ReduceKind::kMin},
    {"ReduceProd", ir::ReduceKind::kProd},     {"ReduceL1", ir::ReduceKind::kL1},
    {"ReduceL2", ir::ReduceKind::kL2},         {"ReduceSumSquare", ir::ReduceKind::kSumSquare},
    {"ReduceLogSum", ir::ReduceKind::kLogSum}, {"ReduceLogSumExp", ir::ReduceKind::kLogSumExp},
};

/// An input of one integer, which must be known.
std::int64_t number_input(NodeBuilder& node, std::size_t i) {
  const std::vector<std::int64_t> numbers = node.numbers_input(i);
  if (numbers.size() != 1) {
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected one number, found " +
                                std::to_string(numbers.size()));
  }
  return numbers[0];
}

}  // namespace

void build_reduce(NodeBuilder& node) {
  const auto* entry = std::ranges::find(kKinds, node.op_type(), &ReduceEntry::op_type);
  if (entry == std::end(kKinds)) {
    fail(ErrorKind::kInternal, "no reduction for " + node.op_type());
  }
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  const auto request = numbers_of(node, "axes", 1, entry->axes_are_input_since);
  const bool is_empty = !request || request->empty();
  if (is_empty && node.int_attribute("noop_with_empty_axes", 0) != 0) {
    node.set_output(0, x);
    return;
  }
  const auto axes = is_empty ? all_axes(rank) : sorted_axes(*request, rank);
  const bool keep_dims = node.int_attribute("keepdims", 1) != 0;
  node.set_output(0, emit_reduce(node, entry->kind, axes, keep_dims, x));
}

void build_arg_reduce(NodeBuilder& node) {
  const ValueId x = node.input(0);
  ir::ArgReduce op;
  op.axis = ir::normalized_axis(node.int_attribute("axis", 0), node.type(x).shape.rank());
  op.largest = node.op_type() == "ArgMax";
  op.last = node.int_attribute("select_last_index", 0) != 0;
  op.keep_dims = node.int_attribute("keepdims", 1) != 0;
  node.set_output(0, node.emit(op, {x}));
}

void build_cum_sum(NodeBuilder& node) {
  const ValueId x = node.input(0);
  ir::CumSum op;
  op.axis = ir::normalized_axis(number_input(node, 1), node.type(x).shape.rank());
  op.exclusive = node.int_attribute("exclusive", 0) != 0;
  op.reverse = node.int_attribute("reverse", 0) != 0;
  node.set_output(0, node.emit(op, {x}));
}

void build_top_k(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::int64_t k = node.opset() < 10 ? node.int_attribute("k", -1) : number_input(node, 1);
  if (k < 0)
    fail(ErrorKind::kShape, "k: expected a number of at least 0, found " + std::to_string(k));
  ir::TopK op;
  op.axis = ir::normalized_axis(node.int_attribute("axis", -1), node.type(x).shape.rank());
  op.k = static_cast<std::size_t>(k);
  op.largest = node.int_attribute("largest", 1) != 0;
  const ValueId indices = node.emit(op, {x});
  node.set_output(0, node.emit(ir::GatherElements{op.axis}, {x, indices}));
  node.set_output(1, indices);
}

void build_hardmax(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  if (node.opset() < 13) NodeBuilder::unsupported("Hardmax of operator sets below 13");
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", -1), shape.rank());
  if (shape[axis] == ir::kBatch) {
    NodeBuilder::unsupported("cannot compare the samples of the batch");
  }
  const ValueId best = node.emit(ir::ArgReduce{axis, true, false, false}, {x});
  const float ends[] = {0, 1};
  const ValueId values = node.add_constant(ir::Tensor::from<float>({2}, ends));
  const ir::OneHot op{axis, static_cast<std::size_t>(shape[axis])};
  node.set_output(0, node.emit(op, {best, values}));
}

}  // namespace halftone::formats::onnx
