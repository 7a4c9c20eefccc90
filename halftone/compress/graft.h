// SPDX-License-Identifier: Apache-2.0
// Puts quantized layers into a float network: single ones, or all up to one.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// A layer of a float network and the layer of a quantized network that computes the same.
struct LayerPair {
  ir::NodeId original{};
  ir::NodeId quantized{};
};

/// The layers with weights of two networks, in order of execution: each of them, whether its
/// weights have codes or not. The networks may come from different files: what counts is the order,
/// the kind of layer and the shape of its weights, not the names.
/// @throws Error kShape if the networks differ in the number of layers, or a pair does not fit
std::vector<LayerPair> paired_layers(const ir::Graph& reference, const ir::Graph& quantized);

/// Adds a quantized layer beside its original: it reads the original's input, through the encoding
/// or the 8-bit integers that it has in the quantized network, and has the original's attributes.
/// @param graph  the float network or a copy that grew; `pair.original` is a node of it
/// @return       the output of the added layer
ir::ValueId add_beside(ir::Graph& graph, const ir::Graph& quantized, LayerPair pair);

/// A float network and another one on the same inputs.
struct TwoNetworks {
  ir::Graph graph;  ///< its outputs: all those of the first, then all those of the second
  /// Values of the second network, by value of the first; where there is none, they are the same.
  std::map<ir::ValueId, ir::ValueId> counterparts;

  [[nodiscard]] ir::ValueId counterpart(ir::ValueId id) const {
    const auto found = counterparts.find(id);
    return found == counterparts.end() ? id : found->second;
  }
};

/// The float network and beside it that network with these layers replaced by those of a quantized
/// one. What does not depend on the layers is computed once. Values of the reference keep their
/// ids.
TwoNetworks beside(const ir::Graph& reference, const ir::Graph& quantized,
                   std::span<const LayerPair> pairs);

/// The second network of beside(). With all layers it computes what the quantized network does.
ir::Graph graft(const ir::Graph& reference, const ir::Graph& quantized,
                std::span<const LayerPair> pairs);

/// Puts the layers in loops of a quantized network into the loops of a float one, in order.
/// @throws Error as paired_layers()
void graft_bodies(ir::Graph& graph, const ir::Graph& quantized);

/// Both: a network with all layers of a quantized one that has other extents.
/// @throws Error as paired_layers()
ir::Graph graft_all(const ir::Graph& reference, const ir::Graph& quantized);

}  // namespace halftone::compress
