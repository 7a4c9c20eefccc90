// SPDX-License-Identifier: Apache-2.0
// Fits the samples of a data set to the inputs of a network.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {

/// How samples become the inputs of a network.
struct Feed {
  runtime::FillInput fill;
  /// Samples per run of a network without symbolic batch.
  std::optional<std::size_t> fixed_batch;
  std::vector<std::size_t> batch_axes;  ///< by input: the axis along which samples lie
};

/// Inputs of the data set whose names are those of the network's inputs go there, otherwise they go
/// in order. The initial states of recurrent layers may be missing: they are zero.
///
/// The batch axis of an input is the symbolic one. If all extents are fixed, it is the first axis
/// without which the extents fit a sample; if there is none, the whole input is one sample.
/// @param data  must outlive the result
/// @throws Error kShape if samples and inputs do not fit
Feed make_feed(const data::Dataset& data, const ir::Graph& graph);

}  // namespace halftone::compress
