// SPDX-License-Identifier: Apache-2.0
// The layers of a network whose bits are searched.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halftone/accel/explore/space.h"
#include "halftone/compress/recipe.h"
#include "halftone/compress/sensitivity/layer_choice.h"
#include "halftone/ir/graph.h"

namespace halftone::accel {

/// These bits, of the number systems of a recipe: "2/4".
compress::LayerChoice choice_of(BitPair bits);

/// The recipe with a pair of bits for each of these layers, and other layers as in the recipe.
compress::Recipe with_bits(const compress::Recipe& recipe, std::span<const std::string> layers,
                           std::span<const BitPair> bits);

/// The layers of a network that a recipe quantizes.
struct SearchedLayers {
  std::vector<std::string> names;  ///< in order of execution
  std::vector<Tie> shared;         ///< those that read the same weights, which have one code
};

/// @throws Error as compress::with_layers(); kUnsupported if there are none
SearchedLayers searched_layers(const ir::Graph& graph, const compress::Recipe& recipe);

}  // namespace halftone::accel
