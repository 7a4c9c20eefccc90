// SPDX-License-Identifier: Apache-2.0
// What a user should know of a network that was just quantized.
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone {

/// Where the output of a quantized network is far from the float network's: what the worst layers
/// cost, measured by giving them their float form again. Candidates are those layers behind which
/// the outputs of layers are worst beside those before them.
/// @param graph  the float network on which the fit was made
/// @return       a line for each layer that alone costs 3 dB or more, the worst first; without such
///               a layer, for each behind which the output is 3 dB worse than before; without
///               these too, a line for the worst together; empty if the output has 20 dB or more
std::vector<std::string> costly_layers(const ir::Graph& graph,
                                       const compress::QuantizedGraph& result,
                                       const data::Dataset& data,
                                       const compress::QuantizeSettings& options);

/// A line if layers of the network to fit are in codes already, which a fit leaves as they are.
std::vector<std::string> kept_layers(const ir::Graph& graph);

/// A line if layers are estimated to be slower on this processor than in float32.
std::vector<std::string> slow_layers(const ir::Graph& quantized);

}  // namespace halftone
