// SPDX-License-Identifier: Apache-2.0
// Reader and writer of reductions and sorting along axes; writer of normalizations, which are
// written as reductions.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

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

/// The value with ones before its elements in an axis, of which as many at the end are left out.
ValueId shifted(NodeBuilder& node, ValueId x, std::size_t axis, std::int64_t count, bool reverse) {
  const Extent extent = ir::extent_of(node.type(x).shape[axis]);
  const Extent ones = Extent::least(count, extent);
  const auto kept = static_cast<std::size_t>(checked_dim(extent - ones));
  const auto first = static_cast<std::size_t>(checked_dim(reverse ? ones : Extent(0)));
  ir::Shape shape = node.type(x).shape;
  shape[axis] = checked_dim(ones);
  const ValueId one = node.add_scalar(1.0, node.type(x).encoding.element);
  std::vector<ValueId> parts = {node.emit(ir::BroadcastTo{shape}, {one}),
                                node.emit(ir::Slice{axis, first, 1, kept}, {x})};
  if (reverse) std::swap(parts[0], parts[1]);
  return node.emit(ir::Concat{axis}, std::move(parts));
}

/// The products along an open axis: of 2, 4, 8, .. neighbours.
ValueId products_of_neighbours(NodeBuilder& node, ValueId x, std::size_t axis) {
  constexpr std::int64_t kMaxElements = 1 << 16;
  const bool reverse = node.int_attribute("reverse", 0) != 0;
  if (node.int_attribute("exclusive", 0) != 0) x = shifted(node, x, axis, 1, reverse);
  for (std::int64_t count = 1; count < kMaxElements; count *= 2) {
    x = emit_binary(node, ir::BinaryKind::kMul, x, shifted(node, x, axis, count, reverse));
  }
  return x;
}

/// y_i = x_0 ... x_i along an axis, one product after the other.
void build_cum_prod(NodeBuilder& node) {
  constexpr ir::Dim kMaxProducts = 1024;
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(number_input(node, 1), shape.rank());
  const ir::Dim extent = shape[axis];
  if (ir::is_expression(extent)) {
    return node.set_output(0, products_of_neighbours(node, x, axis));
  }
  if (extent < 1 || extent > kMaxProducts) {
    NodeBuilder::unsupported("expected an axis of 1 to 1024 elements, found " + shape.to_string());
  }
  const bool reverse = node.int_attribute("reverse", 0) != 0;
  const bool exclusive = node.int_attribute("exclusive", 0) != 0;
  const auto element = [&](ir::Dim i) {
    const ir::Dim at = reverse ? extent - 1 - i : i;
    return node.emit(ir::Slice{axis, static_cast<std::size_t>(at), 1, 1}, {x});
  };
  ValueId last = element(0);
  if (exclusive) {
    const ValueId one = node.add_scalar(1.0, node.type(x).encoding.element);
    last = node.emit(ir::BroadcastTo{node.type(last).shape}, {one});
  }
  std::vector<ValueId> products{last};
  for (ir::Dim i = 1; i < extent; ++i) {
    last = emit_binary(node, ir::BinaryKind::kMul, last, element(exclusive ? i - 1 : i));
    products.push_back(last);
  }
  if (reverse) std::ranges::reverse(products);
  node.set_output(0, products.size() == 1 ? last : node.emit(ir::Concat{axis}, products));
}

void build_top_k(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const auto stated = node.opset() < 10 ? std::nullopt : node.extents(1);
  const Extent k =
      stated && stated->values.size() == 1
          ? stated->values[0]
          : Extent(node.opset() < 10 ? node.int_attribute("k", -1) : number_input(node, 1));
  if (k.is_number() && *k.number() < 0)
    fail(ErrorKind::kShape, "k: expected a number of at least 0, found " + k.text());
  ir::TopK op;
  op.axis = ir::normalized_axis(node.int_attribute("axis", -1), node.type(x).shape.rank());
  op.k = static_cast<std::size_t>(checked_dim(k));
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
  if (ir::depends_on_batch(shape[axis])) {
    NodeBuilder::unsupported("cannot compare the samples of the batch");
  }
  const ValueId best = node.emit(ir::ArgReduce{axis, true, false, false}, {x});
  const float ends[] = {0, 1};
  const ValueId values = node.add_constant(ir::Tensor::from<float>({2}, ends));
  const ir::OneHot op{axis, static_cast<std::size_t>(shape[axis])};
  node.set_output(0, node.emit(op, {best, values}));
}

constexpr ReaderEntry kReduceReaders[] = {
    {"", "Hardmax", build_hardmax},        {"", "ReduceSum", build_reduce},
    {"", "ReduceMean", build_reduce},      {"", "ReduceMax", build_reduce},
    {"", "ReduceMin", build_reduce},       {"", "ReduceProd", build_reduce},
    {"", "ReduceL1", build_reduce},        {"", "ReduceL2", build_reduce},
    {"", "ReduceSumSquare", build_reduce}, {"", "ReduceLogSum", build_reduce},
    {"", "ReduceLogSumExp", build_reduce}, {"", "ArgMax", build_arg_reduce},
    {"", "ArgMin", build_arg_reduce},      {"", "CumSum", build_cum_sum},
    {"", "CumProd", build_cum_prod},       {"", "TopK", build_top_k},
};

std::vector<std::int64_t> signed_axes(const std::vector<std::size_t>& axes) {
  return {axes.begin(), axes.end()};
}

/// Adds a reduction from one name to another; the axes are an input from operator set 18 on.
void add_reduction(Exporter& exporter, const ir::Reduce& op, const std::string& input,
                   const std::string& output) {
  if (op.axes.empty()) {
    exporter.add_node("Identity", {input}, output);
    return;
  }
  exporter.require_opset(18);
  const std::string axes = exporter.add_integers("axes", signed_axes(op.axes));
  NodeProto& proto =
      exporter.add_node("Reduce" + std::string(to_string(op.kind)), {input, axes}, output);
  set_attribute(proto, "keepdims", std::int64_t{op.keep_dims ? 1 : 0});
}

/// Whether the axes are the last ones of a shape.
bool are_last(const std::vector<std::size_t>& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - axes.size() + i) return false;
  }
  return !axes.empty();
}

void export_layer_normalization(Exporter& exporter, const Node& node, const ir::Normalize& op) {
  const ir::Shape& shape = exporter.type(node.output).shape;
  const auto dims = shape.dims().last(op.axes.size());
  ir::Tensor ones(ir::ElementType::kFloat32, ir::Shape({dims.begin(), dims.end()}));
  std::ranges::fill(ones.as<float>(), 1.0F);
  const std::string& output = exporter.name(node.output);
  const std::string scale = exporter.add_initializer(output + "/scale", encode_tensor(ones));
  NodeProto& proto =
      exporter.add_node("LayerNormalization", {exporter.read(node.inputs[0]), scale}, output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axes[0]));
  set_attribute(proto, "epsilon", op.epsilon);
}

/// Without axes ONNX copies the elements, while a graph still applies the function to them.
void export_reduction_of_elements(Exporter& exporter, const Node& node, const ir::Reduce& op) {
  const std::string x = exporter.read(node.inputs[0]);
  const std::string& output = exporter.name(node.output);
  switch (op.kind) {
    case ir::ReduceKind::kL1:
    case ir::ReduceKind::kL2:
      exporter.add_node("Abs", {x}, output);
      return;
    case ir::ReduceKind::kSumSquare:
      exporter.add_node("Mul", {x, x}, output);
      return;
    case ir::ReduceKind::kLogSum:
      if (!exporter.type(node.output).is_dense(ir::ElementType::kFloat32)) {
        unsupported("the logarithm of integers");
      }
      exporter.add_node("Log", {x}, output);
      return;
    case ir::ReduceKind::kSum:
    case ir::ReduceKind::kMean:
    case ir::ReduceKind::kMax:
    case ir::ReduceKind::kMin:
    case ir::ReduceKind::kProd:
    case ir::ReduceKind::kLogSumExp:
      break;
  }
  exporter.add_node("Identity", {x}, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Reduce& op) {
  if (op.axes.empty()) return export_reduction_of_elements(exporter, node, op);
  add_reduction(exporter, op, exporter.read(node.inputs[0]), exporter.name(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::ArgReduce& op) {
  NodeProto& proto = exporter.add_node(op.largest ? "ArgMax" : "ArgMin",
                                       {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
  set_attribute(proto, "keepdims", std::int64_t{op.keep_dims ? 1 : 0});
  set_attribute(proto, "select_last_index", std::int64_t{op.last ? 1 : 0});
}

void export_operator(Exporter& exporter, const Node& node, const ir::CumSum& op) {
  const std::string& output = exporter.name(node.output);
  const auto axis = static_cast<std::int64_t>(op.axis);
  const std::string axis_name = exporter.add_initializer(
      output + "/axis", encode_tensor(ir::Tensor::from<std::int64_t>({}, std::span(&axis, 1))));
  NodeProto& proto =
      exporter.add_node("CumSum", {exporter.read(node.inputs[0]), axis_name}, output);
  set_attribute(proto, "exclusive", std::int64_t{op.exclusive ? 1 : 0});
  set_attribute(proto, "reverse", std::int64_t{op.reverse ? 1 : 0});
}

void export_operator(Exporter& exporter, const Node& node, const ir::TopK& op) {
  const std::string& output = exporter.name(node.output);
  const std::string k = add_extent(exporter, ir::extent_of(static_cast<ir::Dim>(op.k)));
  NodeProto& proto = exporter.add_node("TopK", {exporter.read(node.inputs[0]), k},
                                       exporter.fresh(output + "/values"));
  proto.add_output(output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
  set_attribute(proto, "largest", std::int64_t{op.largest ? 1 : 0});
}

/// A LayerNormalization if over the last axes of known extents, which its scales need, otherwise
/// the formula.
void export_operator(Exporter& exporter, const Node& node, const ir::Normalize& op) {
  const ir::Shape& shape = exporter.type(node.output).shape;
  const auto dims = shape.dims().last(op.axes.size());
  const bool is_known = std::ranges::none_of(dims, ir::is_open);
  if (op.subtract_mean && are_last(op.axes, shape.rank()) && is_known) {
    return export_layer_normalization(exporter, node, op);
  }
  const std::string& output = exporter.name(node.output);
  std::string x = exporter.read(node.inputs[0]);
  const auto next = [&](const char* role, std::string_view op_type,
                        const std::vector<std::string>& inputs) {
    std::string name = exporter.fresh(output + role);
    exporter.add_node(op_type, inputs, name);
    return name;
  };
  const auto mean_of = [&](const char* role, const std::string& input) {
    std::string name = exporter.fresh(output + role);
    add_reduction(exporter, {ir::ReduceKind::kMean, op.axes, true}, input, name);
    return name;
  };
  if (op.subtract_mean) x = next("/centred", "Sub", {x, mean_of("/mean", x)});
  const std::string variance = mean_of("/variance", next("/square", "Mul", {x, x}));
  const std::string epsilon = exporter.add_scalar("epsilon", op.epsilon);
  const std::string shifted = next("/shifted", "Add", {variance, epsilon});
  exporter.add_node("Div", {x, next("/deviation", "Sqrt", {shifted})}, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::LocalNormalize& op) {
  const std::size_t size = op.before + op.after + 1;
  if (op.axis != 1 || op.before != (size - 1) / 2) {
    fail(ErrorKind::kUnsupported,
         "expected neighbours along axis 1, split evenly before and after");
  }
  NodeProto& proto =
      exporter.add_node("LRN", {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "size", static_cast<std::int64_t>(size));
  set_attribute(proto, "alpha", op.alpha * static_cast<float>(size));
  set_attribute(proto, "beta", op.beta);
  set_attribute(proto, "bias", op.bias);
}

constexpr WriterEntry kReduceWriters[] = {
    node_writer_entry<Exporter, ir::Reduce, export_operator>(),
    node_writer_entry<Exporter, ir::ArgReduce, export_operator>(),
    node_writer_entry<Exporter, ir::CumSum, export_operator>(),
    node_writer_entry<Exporter, ir::TopK, export_operator>(),
    node_writer_entry<Exporter, ir::Normalize, export_operator>(),
    node_writer_entry<Exporter, ir::LocalNormalize, export_operator>(),
};

}  // namespace

std::span<const ReaderEntry> reduce_readers() { return kReduceReaders; }
std::span<const WriterEntry> reduce_writers() { return kReduceWriters; }

}  // namespace halftone::formats::onnx
