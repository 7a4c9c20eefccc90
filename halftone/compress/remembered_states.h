// SPDX-License-Identifier: Apache-2.0
// What a network remembers when it runs on one sample after the other.
#pragma once

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The samples of a fit with the states of the network as further inputs: what it remembers before
/// each sample, if all run in order. A layer that reads a state would be fitted to zeros otherwise.
/// A sample that leaves something infinite or NaN is followed by a first run. Data that has the
/// states, and a network without any, or of several samples per run, are returned as they are.
/// @throws Error kShape if the data does not fit; kUnsupported if there is too little memory,
///         or if samples have several sizes and the network has states
data::Dataset with_states(const ir::Graph& graph, const data::Dataset& data);

}  // namespace halftone::compress
