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

/// For each input of a graph, the index of the data set's input: the one of that name if the inputs
/// of the data set have names, else in order. A single input needs no name. States and the initial
/// states of recurrent layers may be missing: they are zero.
/// @throws Error kShape if the inputs differ in number, or names are missing
std::vector<std::optional<std::size_t>> paired_inputs(const data::Dataset& data,
                                                      const ir::Graph& graph);

/// Feeds the paired inputs of a data set to a graph. The batch axis of an input is the symbolic
/// one. If all extents are fixed, it is the first axis without which the extents fit a sample; if
/// there is none, the whole input is one sample.
/// @param data  must outlive the result
/// @throws Error as paired_inputs(); kShape if samples and inputs do not fit
Feed make_feed(const data::Dataset& data, const ir::Graph& graph);

}  // namespace halftone::compress
