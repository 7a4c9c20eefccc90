// SPDX-License-Identifier: Apache-2.0
// Networks that compute some of their extents (Graph::define()): what can run before, and the rest,
// which is a network of known extents once these numbers are there.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// What one stage hands the next.
enum class HandOver : std::uint8_t {
  kDense,   ///< dense values: to run one after the other
  kFloats,  ///< dense float32 values: the first stage is a network of its own, to be fitted
};

/// A network split where extents depend on data. Values keep their ids in both graphs.
struct Stages {
  Graph first;  ///< has the inputs of the network, and no definitions
  Graph rest;   ///< the other nodes; its inputs are values of `first`
  /// Those that `first` computes: its outputs after those of the network. With kFloats none: the
  /// rest computes them from what it is handed, and keeps their definitions.
  std::vector<Definition> defined;
};

/// Splits a network before the first extents that it computes. The outputs of `first` are those
/// outputs of the network that it computes, then the values of `defined`, then the inputs of `rest`
/// that it computes, each once.
/// @pre  the graph has definitions, and verify() accepted it
/// @throws Error kUnsupported if the network has states
Stages split_stages(Graph graph, HandOver what);

/// A stage of a network that is fitted: a network of its own, whose computed extents are open.
/// Values keep their ids.
struct FittedStage {
  /// Its inputs are those of the network, and float32 values of stages before. Its outputs are what
  /// the network and later stages read of it: first those of float32 behind layers, last the
  /// numbers of `defined`.
  Graph graph;
  std::vector<Definition> defined;  ///< extents of which this stage needs the numbers; it has them
};

/// All stages of a network, as often as extents depend on data behind others. A network without
/// such extents is its only stage. The search for elements, whose number is such an extent, stands
/// in the stage that needs the number. The first stage is empty if it computes nothing.
/// @throws Error as split_stages()
std::vector<FittedStage> fitted_stages(Graph graph);

/// The symbols that the network computes in the extents of a stage.
std::set<std::string> computed_symbols(const Graph& stage);

/// The network of stages.
/// @param grown    one for each stage: its inputs and outputs are as many, in the same order
/// @param stages   of fitted_stages()
/// @param outputs  of the network that was split
Graph join_stages(const std::vector<Graph>& grown, const std::vector<FittedStage>& stages,
                  std::span<const ValueId> outputs);

/// Checks that each definition is an int64 scalar, and its symbol defined once. That none depends
/// on itself follows from Graph::topological_order().
/// @throws Error kFormat
void check_definitions(const Graph& graph);

/// @param format  in the message
/// @throws Error kUnsupported "FORMAT cannot have extents that depend on data: node .." if a graph
/// has
///         such extents
void require_no_definitions(const Graph& graph, const std::string& format);

/// The first node of a graph that defines an extent, for messages; the graph has definitions.
std::string describe_definition(const Graph& graph);
/// The same of a later stage.
std::string describe_definition(const FittedStage& stage);

}  // namespace halftone::ir
