// SPDX-License-Identifier: Apache-2.0
// The launches of one step. Private to this folder.
#pragma once

#include "halftone/gpu/attention.h"
#include "halftone/gpu/graph/graph_launches.h"
#include "halftone/gpu/graph/node_launches.h"
#include "halftone/gpu/graph/steps.h"

namespace halftone::gpu {

/// Adds the launches of a step to those of its graph.
class StepLaunches {
 public:
  StepLaunches(GraphLaunches& graph, const LaunchStep& step) : to_(graph), step_(step) {}
  /// @throws Error as GpuDevice
  void add();

 private:
  void add_step(const PlainStep& step);
  void add_step(const RowsStep& step);
  void add_step(const JoinedStep& step);
  void add_step(const GatedStep& step);
  void add_step(const HeadsStep& step);

  void add_norm(const ir::Normalize& op, const Tails& tails);
  void add_apart(const GatedStep& step);
  [[nodiscard]] const ir::Node& node(ir::NodeId id) const { return to_.graph_.node(id); }
  [[nodiscard]] const SharedConstant& constant(ir::NodeId id, std::size_t input) const {
    return to_.graph_.value(node(id).inputs[input]).constant;
  }
  [[nodiscard]] std::vector<SharedConstant> constants(const std::vector<ir::NodeId>& nodes,
                                                      std::size_t input) const;
  /// Memory of a value, the output of the step.
  const Buffer& make(ir::ValueId value) {
    return to_.memory_.make(value, to_.shape_of(value).element_count() * sizeof(float));
  }
  Tails tails_of(const RowsStep& step);
  HeadRows heads_of(const HeadSource& source);
  /// The extents of the first product that reads a value as codes.
  [[nodiscard]] std::optional<kernels::GroupExtents> read_extents(ir::ValueId value) const;

  GraphLaunches& to_;
  const LaunchStep& step_;
};

}  // namespace halftone::gpu
