// SPDX-License-Identifier: Apache-2.0
// A network in codes without data: what a file format must hold after a fit.
#pragma once

#include "halftone/compress/recipe.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The network with the codes that quantize() gives it by this recipe, but with scales by the rules
/// of the number systems, of weights from the weights and of inputs for the range [-1, 1], or
/// [0, 1] after a Relu. Learned
/// levels are evenly spaced over the range; vectors are the nearest ones. It has the forms of the
/// quantized network, not its answers: whether a file format can hold that network can be asked
/// before the fit.
/// @param graph  as quantize() takes it
/// @throws Error kUsage, kUnsupported as with_layers()
ir::Graph with_rule_codes(const ir::Graph& graph, const Recipe& recipe);

}  // namespace halftone::compress
