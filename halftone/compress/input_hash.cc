// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/input_hash.h"

#include <algorithm>
#include <span>
#include <vector>

namespace halftone::compress {
namespace {

template <typename T>
void add_number(Hash& hash, const T& value) {
  hash.add(std::as_bytes(std::span(&value, 1)));
}

/// @param data  of one size
void add_values(Hash& hash, const data::Dataset& data) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t input = 0; input < data.inputs().size(); ++input) {
    const std::size_t elements = data.inputs()[input].shape.num_elements();
    std::vector<float> values(kBlock * elements);
    for (std::size_t first = 0; first < data.size(); first += kBlock) {
      const std::size_t count = std::min(kBlock, data.size() - first);
      const std::span<float> block(values.data(), count * elements);
      data.read(input, first, count, block);
      hash.add(std::as_bytes(block));
    }
  }
}

}  // namespace

void add_to_hash(Hash& hash, const ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    hash.add(node.name);
    hash.add(name_of(node.op));
    for (const ir::ValueId input : node.inputs) {
      const ir::Constant* constant = graph.constant(input);
      const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
      if (tensor != nullptr) hash.add(tensor->bytes());
    }
  }
}

void add_to_hash(Hash& hash, const data::Dataset& data) {
  add_number(hash, data.size());
  for (const data::Dataset& part : data.parts()) add_values(hash, part);
  for (std::size_t i = 0; data.has_labels() && i < data.size(); ++i) {
    add_number(hash, data.label(i));
  }
}

}  // namespace halftone::compress
