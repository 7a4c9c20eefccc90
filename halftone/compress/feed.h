// SPDX-License-Identifier: Apache-2.0
// Fits the samples of a data set to the inputs of a network.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
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

/// Gives a graph the extents of samples: the same nodes and values, with other numbers in types and
/// attributes.
/// @param samples  of one size
/// @throws Error if the samples do not fit
using Resize = std::function<ir::Graph(const ir::Graph& graph, const data::Dataset& samples)>;

/// For each input of a graph, the index of the data set's input: the one of that name if the inputs
/// of the data set have names, else in order. A single input needs no name. States and the initial
/// states of recurrent layers may be missing: they are zero.
/// @throws Error kShape if the inputs differ in number, or names are missing
std::vector<std::optional<std::size_t>> paired_inputs(const data::Dataset& data,
                                                      const ir::Graph& graph);

/// @throws Error kShape that names two samples if the samples of a data set have several sizes
void require_one_size(const data::Dataset& data);

/// Feeds the paired inputs of a data set to a graph. The batch axis of an input is the symbolic
/// one. If all extents are fixed, it is the first axis without which the extents fit a sample; if
/// there is none, the whole input is one sample.
/// @param data  must outlive the result
/// @throws Error as paired_inputs(); kShape if samples and inputs do not fit, or samples have
///         several sizes
Feed make_feed(const data::Dataset& data, const ir::Graph& graph);

/// The parts of a stream of samples: one for each size.
/// @param data     must outlive the result
/// @param resize   makes the graph of each size; empty: the graph is that of all samples
/// @param samples  maximum number
/// @throws Error   as make_feed() and resize(), with the index of a sample where sizes differ
std::vector<runtime::StreamPart> stream_parts(
    const data::Dataset& data, const ir::Graph& graph, const Resize& resize,
    std::size_t samples = std::numeric_limits<std::size_t>::max());

}  // namespace halftone::compress
