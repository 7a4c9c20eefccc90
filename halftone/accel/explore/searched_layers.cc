// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/searched_layers.h"

#include <map>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/layers.h"

namespace halftone::accel {

compress::LayerChoice choice_of(BitPair bits) {
  compress::LayerChoice choice{std::to_string(bits.weights) + "/" + std::to_string(bits.inputs),
                               {}};
  choice.settings.weight_bits = bits.weights;
  choice.settings.activation_bits = bits.inputs;
  return choice;
}

compress::Recipe with_bits(const compress::Recipe& recipe, std::span<const std::string> layers,
                           std::span<const BitPair> bits) {
  compress::Recipe result = recipe;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    result.overrides.push_back({compress::literal_pattern(layers[i]), choice_of(bits[i]).settings});
  }
  return result;
}

SearchedLayers searched_layers(const ir::Graph& graph, const compress::Recipe& recipe) {
  SearchedLayers result;
  const ir::Graph network = compress::with_layers(graph, recipe);
  std::map<ir::ValueId, Tie> readers;
  for (const ir::NodeId id : compress::quantizable_layers(network)) {
    const ir::Node& node = network.node(id);
    const compress::LayerRecipe layer = recipe.for_layer(node.name);
    if (!layer.weights && !layer.activations) continue;
    result.names.push_back(node.name);
    Tie& tie = readers[node.inputs[ir::weights_input(node.op)]];
    tie.patterns.push_back(compress::literal_pattern(node.name));
    tie.where = "layers with the same weights";
  }
  if (result.names.empty()) {
    fail(ErrorKind::kUnsupported, "the recipe keeps all layers float: there are no bits to choose",
         Hint::kRecipe);
  }
  for (auto& [weights, tie] : readers) {
    if (tie.patterns.size() > 1) result.shared.push_back(std::move(tie));
  }
  return result;
}

}  // namespace halftone::accel
