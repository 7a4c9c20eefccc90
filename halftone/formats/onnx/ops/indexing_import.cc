// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering at indices in a tensor. Gather is in slicing_import.cc.
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Scatter;
using ir::ValueId;

std::size_t axis_of(NodeBuilder& node, std::int64_t otherwise) {
  return ir::normalized_axis(node.int_attribute("axis", otherwise),
                             node.input_type(0).shape.rank());
}

Scatter reduction_of(const NodeBuilder& node) {
  const std::string name = node.string_attribute("reduction", "none");
  for (const Scatter kind :
       {Scatter::kReplace, Scatter::kAdd, Scatter::kMul, Scatter::kMax, Scatter::kMin}) {
    if (to_string(kind) == name) return kind;
  }
  fail(ErrorKind::kFormat, "reduction: expected none, add, mul, max or min, found '" + name + "'");
}

/// Indices as int64. ONNX allows any numeric type for the indices of OneHot.
ValueId whole_indices(NodeBuilder& node, std::size_t i) {
  return emit_cast(node, ir::ElementType::kInt64, node.input(i));
}

void build_gather_elements(NodeBuilder& node) {
  node.set_output(0,
                  node.emit(ir::GatherElements{axis_of(node, 0)}, {node.input(0), node.input(1)}));
}

void build_gather_nd(NodeBuilder& node) {
  const std::int64_t batch_dims = node.int_attribute("batch_dims", 0);
  if (batch_dims < 0 || batch_dims >= static_cast<std::int64_t>(node.input_type(0).shape.rank())) {
    fail(ErrorKind::kShape, "batch_dims: expected at least 0 and less than the rank, found " +
                                std::to_string(batch_dims) + " for an input " +
                                node.input_type(0).shape.to_string());
  }
  const ir::GatherND op{static_cast<std::size_t>(batch_dims)};
  node.set_output(0, node.emit(op, {node.input(0), node.input(1)}));
}

void build_scatter_elements(NodeBuilder& node) {
  const ir::ScatterElements op{axis_of(node, 0), reduction_of(node)};
  node.set_output(0, node.emit(op, {node.input(0), node.input(1), node.input(2)}));
}

void build_scatter_nd(NodeBuilder& node) {
  const ir::ScatterND op{reduction_of(node)};
  node.set_output(0, node.emit(op, {node.input(0), node.input(1), node.input(2)}));
}

/// The number of classes, which the network may compute; of any numeric type in ONNX.
std::size_t depth_of(NodeBuilder& node) {
  const auto known = node.extents(1);
  if (known && known->values.size() == 1 && !known->values[0].is_number()) {
    if (known->values[0].depends_on_batch()) NodeBuilder::unsupported("a depth that is the batch");
    return static_cast<std::size_t>(checked_dim(known->values[0]));
  }
  const float depth = node.scalar_input(1);
  if (!(depth >= 1 && depth <= static_cast<float>(1U << 31))) {
    fail(ErrorKind::kShape,
         "depth: expected a number of at least 1, found " + std::to_string(depth));
  }
  return static_cast<std::size_t>(depth);
}

void build_one_hot(NodeBuilder& node) {
  const ValueId indices = whole_indices(node, 0);
  const std::size_t depth = depth_of(node);
  const std::size_t rank = node.type(indices).shape.rank();
  const ir::OneHot op{ir::normalized_axis(node.int_attribute("axis", -1), rank + 1), depth};
  node.set_output(0, node.emit(op, {indices, node.input(2)}));
}

constexpr ReaderEntry kIndexingReaders[] = {
    {"", "GatherElements", build_gather_elements}, {"", "GatherND", build_gather_nd},
    {"", "Scatter", build_scatter_elements},       {"", "ScatterElements", build_scatter_elements},
    {"", "ScatterND", build_scatter_nd},           {"", "OneHot", build_one_hot},
};

}  // namespace

std::span<const ReaderEntry> indexing_readers() { return kIndexingReaders; }

}  // namespace halftone::formats::onnx
