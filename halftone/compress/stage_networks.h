// SPDX-License-Identifier: Apache-2.0
// The stages of a network whose extents depend on data, each with the samples that it receives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halftone/compress/feed.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/stages.h"

namespace halftone::compress {

/// A stage as a network of its own.
struct StageNetwork {
  ir::FittedStage open;  ///< computed extents are symbols
  ir::Graph graph;  ///< with the numbers of its first samples; of the first stage, `open.graph`
  /// What the float stages before hand it; nothing: no sample leaves it anything.
  std::optional<data::Dataset> data{};
  Resize resize{};     ///< gives what grows from `graph` the extents of samples; empty: one size
  std::string name{};  ///< "node 'all' (NonZero)", behind which it is; empty: it is the first
};

/// Runs a float network on samples, one by one, and keeps what enters its later stages: a sample of
/// each stage for each run, of its own size. Runs in which a stage receives nothing are none of its
/// samples. Memory: 512 MiB and 1024 runs at most; the first ones count.
/// @param graph   float32 at its ends; without computed extents it is the only stage
/// @param resize  gives graphs the extents of samples; empty: they have one size
/// @throws Error  as ir::fitted_stages(), stream_parts() and runtime::Stream
std::vector<StageNetwork> stage_networks(const ir::Graph& graph, const data::Dataset& data,
                                         const Resize& resize);

}  // namespace halftone::compress
