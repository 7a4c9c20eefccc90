// SPDX-License-Identifier: Apache-2.0
// The steps of make_plan().
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// The information for the implementations of a node.
/// @param layouts  of codes, by value
NodeContext context_of(const ir::Graph& graph, const ir::Node& node, const PlanSettings& options,
                       std::span<const CodeLayout> layouts);

struct Choice {
  const Implementation* implementation = nullptr;  ///< null: none accepts the node
  Verdict verdict;                                 ///< of the implementation
  std::vector<Refusal> refused;                    ///< candidates that were not chosen, and why

  /// Why the implementation was chosen, with its estimated time if that is known.
  [[nodiscard]] std::string reason() const;
};

/// Chooses the first implementation that computes the arithmetic of the node, accepts it and
/// supports the layouts of its codes. Apart from layouts, this depends on the network and the
/// options alone.
Choice choose(const NodeContext& context);

/// The layout in which a node reads the codes of its first input if it may choose.
CodeLayout preferred_layout(const NodeContext& context);

/// Chooses a layout for every value of a graph: the one that its readers prefer. Dense values and
/// constants get kPlanes, which has no effect. An Encode whose readers prefer different layouts is
/// split, so that the arithmetic of a layer does not depend on the layer beside it.
/// @return by value
std::vector<CodeLayout> choose_code_layouts(ir::Graph& graph, const PlanSettings& options);

/// A node with conversions around it, computed in one step.
struct CodeFusion {
  ir::NodeId node{};
  FusedCodes codes;
  std::vector<ir::ValueId> inputs;  ///< of the step
  ir::ValueId output{};
};

struct CodeFusions {
  std::vector<CodeFusion> fusions;
  std::set<ir::NodeId> absorbed;  ///< conversions without a step of their own
};

/// A layer of integers with the Requantize that alone reads its sums, and a sum, difference or
/// product of float32 between conversions from and to codes of one type:
///
///     q_a          q_b                q      [w]
///      |            |                  \     /
///     Dequantize  Dequantize            layer
///           \     /                       |
///          Add (Relu)                  Requantize
///              |                          |
///           Quantize                      p
/// @param layouts  of codes, by value
CodeFusions find_code_fusions(const ir::Graph& graph, const PlanSettings& options,
                              std::span<const CodeLayout> layouts);

/// A graph that is ready for the choice of kernels.
struct Prepared {
  ir::Graph graph;
  std::vector<CodeLayout> layouts;  ///< of codes, by value
};

/// Prepares a graph for planning: fixes all extents and removes unneeded and repeated computations.
///
///     x [N, 784] -> Encode -> dense1        x [32, 784] -> Encode -> dense1
///       \-> Encode (same basis) -> dense2                    \-----> dense2
///
///     dense1 (Tanh) -> Encode               dense1 -> Encode (of Tanh: other thresholds)
///
///     conv -> Add residual -> Encode        conv with a residual, whose output is codes
///
/// @throws Error kFormat or kShape as ir::verify(), or if the shapes do not fit the batch
Prepared prepare(ir::Graph graph, const PlanSettings& options);

/// Finds the steps that only one side of a Where with a single boolean needs, as the branches of an
/// If are: they get guards. Conditions come before the steps that they guard.
/// @param plan  reads its graph; writes guards, reasons and the order of its steps
void guard_branches(Plan::Parts& plan);

/// A buffer and its lifetime: steps first to last, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The positions of the buffers.
struct ArenaLayout {
  std::vector<std::size_t> offsets;  ///< one per buffer, multiples of AlignedBuffer::kAlignment
  std::size_t size_bytes = 0;
};

/// Places buffers so that no two with overlapping lifetimes overlap in memory. Places the largest
/// buffer first (the first of equal ones), each at the lowest offset that is free during its
/// lifetime. Cost: the square of the number of buffers.
/// Source: Pisarchyk, Lee, Efficient Memory Management for Deep Neural Net Inference,
/// arXiv:2001.03288, Algorithm 3 (greedy by size).
/// Differs: uses the lowest gap that fits, not the smallest.
ArenaLayout plan_arena(std::span<const Lifetime> pieces);

/// Assigns an offset in one arena to every value and to the scratch memory of every step.
/// @param layouts  of codes, by value
/// @param plan     reads its graph and steps; writes storage, arena_bytes and scratch offsets
void lay_out_memory(std::span<const CodeLayout> layouts, Plan::Parts& plan);

/// The implementations of an operator that are linked, in order of preference: a plan uses the
/// first that accepts. The last one accepts every node.
std::span<const Implementation* const> implementations(const ir::Operator& op);

}  // namespace halftone::runtime
