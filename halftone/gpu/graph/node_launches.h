// SPDX-License-Identifier: Apache-2.0
// The launches of one node. Private to this folder.
#pragma once

#include <optional>

#include "halftone/gpu/attention.h"
#include "halftone/gpu/graph/graph_launches.h"
#include "halftone/gpu/rows.h"

namespace halftone::gpu {

/// Adds the launches of a node to those of its graph.
class NodeLaunches {
 public:
  NodeLaunches(GraphLaunches& graph, ir::NodeId id)
      : to_(graph), id_(id), node_(graph.graph_.node(id)) {}
  /// @throws Error as GpuDevice
  void add();

 private:
  void add_op(const ir::Gather& op);
  void add_op(const ir::Normalize& op);
  void add_op(const ir::Unary& op);
  void add_op(const ir::Binary& op);
  void add_op(const ir::FullyConnected& op);
  void add_op(const ir::Rotary& op);
  /// Rows as a cache has them: themselves, or memory that is to be released.
  const Buffer& rotated(const kernels::CacheShape& cache, const BlockRows& rows, const Buffer& x);
  void add_op(const ir::AppendRows& op);
  void add_op(const ir::Attention& op);
  void add_op(const ir::Slice& op);
  void add_op(const ir::Softmax& op);
  void add_op(const ir::TopK& op);
  void add_op(const ir::GatherElements& op);
  void add_op(const ir::Reduce& op);
  void add_op(const ir::ExpertProduct& op);
  /// @throws Error kInternal
  template <typename Op>
  void add_op(const Op& op);

  void add(Launch launch) { to_.launches_.push_back(std::move(launch)); }
  [[nodiscard]] Programs& programs() const { return to_.constants_.programs(); }
  [[nodiscard]] ir::Shape shape_of(ir::ValueId value) const {
    return to_.graph_.value(value).type.shape.with_batch(to_.rows_);
  }
  [[nodiscard]] ir::Shape shape(std::size_t input) const { return shape_of(node_.inputs[input]); }
  [[nodiscard]] bool has_input(std::size_t index) const { return node_.has_input(index); }
  [[nodiscard]] const SharedConstant& constant(std::size_t index) const {
    return to_.graph_.value(node_.inputs[index]).constant;
  }
  /// Floats of an input, computed or constant.
  const Buffer& input(std::size_t index);
  const Buffer& output();
  /// The operand of a Binary.
  Operand operand(std::size_t index);
  GraphLaunches& to_;
  ir::NodeId id_;
  const ir::Node& node_;
};

/// The function of a kernel; nothing if no kernel has it.
std::optional<Function> function_of(const ir::Activation& activation);
std::optional<Operation> operation_of(ir::BinaryKind kind);

}  // namespace halftone::gpu
