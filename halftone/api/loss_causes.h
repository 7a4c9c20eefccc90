// SPDX-License-Identifier: Apache-2.0
// Which layers cause what a quantized network loses. Private to this folder.
#pragma once

#include "halftone/api/model_report.h"
#include "halftone/compress/feed.h"

namespace halftone {

/// The graphs to compare, with float32 at their ends.
struct ComparedGraphs {
  const ir::Graph& reference;
  const ir::Graph& model;
};

struct LossCauseOptions {
  spmd::Devices devices{};
  ProgressSink progress{};  ///< may be empty
  compress::Resize
      resize{};  ///< of graphs that grow from the reference; empty: samples of one size
};

/// Adds NetworkFigures::causes and the loss of each layer. Losses of single layers are estimates to
/// second order (compress::LossMeter::weighted_errors()), on fewer samples where there are many
/// layers; where an operator has no gradient there is none of it.
/// @param data  null: nothing is added
/// @throws Error kShape if the networks differ in their layers; as compress::LossMeter
void add_loss_causes(NetworkFigures& figures, const ComparedGraphs& graphs,
                     const data::Dataset* data, const LossCauseOptions& options);

/// Adds LayerFigures::eight_bit_bytes of the layers that have a name in the reference.
void add_eight_bit_bytes(NetworkFigures& figures, const Network& reference);

}  // namespace halftone
