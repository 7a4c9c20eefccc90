// SPDX-License-Identifier: Apache-2.0
// Inputs, outputs, operators and layers of a network.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::report {

struct PortInfo {
  std::string name;
  ir::ValueType type;
};

/// A layer with weights.
struct LayerInfo {
  std::string name;
  std::string op;
  std::string weights;  ///< type of the weights: "basis(2 bits, channel, offset)[700, 784]"
  int weight_bits = 32;
  int activation_bits = 32;
  std::size_t weight_bytes = 0;
};

struct Inspection {
  std::string format;
  std::size_t file_bytes = 0;
  std::size_t parameters = 0;  ///< elements of constants that nodes read, without bases
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  std::map<std::string, std::size_t> operators;  ///< how often each occurs
  std::vector<LayerInfo> layers;
  std::string text;  ///< the whole graph, as ir::to_text() shows it
};

Inspection inspect(const ir::Graph& graph, std::string format, std::size_t file_bytes);

}  // namespace halftone::report
