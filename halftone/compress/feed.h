// SPDX-License-Identifier: Apache-2.0
// Feeds the samples of a data set to the inputs of a graph.
#pragma once

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {

/// Pairs the inputs of a data set with those of a graph, in order, and adapts each sample to the
/// shape that the graph expects (flattened, CHW or HWC). `data` must outlive the result.
/// @throws Error kShape with data set, input and both shapes, if they do not fit or differ in
///         number
runtime::FillInput make_feed(const data::Dataset& data, const ir::Graph& graph);

}  // namespace halftone::compress
