// SPDX-License-Identifier: Apache-2.0
// The nodes of a network that are layers with weights, and what they compute.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/compress/recipe.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The layers that quantize() can treat, in order of execution: FullyConnected, Conv, ConvTranspose
/// and Recurrent nodes with constant float weights, and Gather nodes along the first axis of a
/// constant float table [rows, width]; each depends on an input of the network.
std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph);

/// The names of the layers that quantize() can treat once products with constants are layers, with
/// those in loops.
std::vector<std::string> layer_names(const ir::Graph& graph);

/// The recipe for this network: the settings of `ends` become overrides of its first and last
/// layers, before all others. First are the quantizable layers that no other one feeds, last those
/// that feed no other one: of a classifier the stem and the logits, of a detector each head. Their
/// errors reach the output as they are, and they hold few of the weights. Where they have bits that
/// the number system of the defaults lacks (nf4 has 4), they get a basis.
Recipe with_ends(const ir::Graph& graph, const Recipe& recipe);

/// The recipe with the overrides of these layers alone, for a part of a network.
Recipe recipe_for_layers(const Recipe& recipe, const std::vector<std::string>& layers);

/// @throws Error kUsage if a layer cannot have the arithmetic that the recipe names with the codes
///         that the recipe gives it
void check_arithmetic(const ir::Graph& graph, const Recipe& recipe);

/// The network with layers for those products with constants that the recipe wants encoded.
/// @throws Error kUnsupported if there are no layers; kUsage as Recipe::check_patterns() and
///         check_arithmetic(), or if a layer with vectors is to be refined by gradients
ir::Graph with_layers(const ir::Graph& graph, const Recipe& recipe);

/// Equalizes consecutive layers (passes::equalize()) that both get codes of weights or inputs;
/// other layers keep their weights.
/// @return the number of pairs that changed; 0 unless the recipe asks for it
std::size_t equalize_layers(ir::Graph& graph, const Recipe& recipe);

/// Rounds an activation with scales computed at run time.
ir::FakeQuantize fake_quantize(const ActivationFormat& format);

/// Sets the attribute of a layer if it has codes.
/// @param wanted  kAuto: what the rule says, see ir::arithmetic_by_rule()
void fix_arithmetic(ir::Graph& graph, ir::NodeId layer, ir::Arithmetic wanted);
/// The same for all layers, as the recipe says.
void fix_arithmetic(ir::Graph& graph, const Recipe& recipe);

}  // namespace halftone::compress
