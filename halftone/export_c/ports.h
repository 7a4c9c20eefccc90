// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a C program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/export_c/scope.h"
#include "halftone/ir/graph.h"

namespace halftone::export_c {

/// Codes of 8 bits that an input takes in place of float32 numbers: scale code + offset.
struct InputCodes {
  float scale = 0;
  float offset = 0;
  std::int8_t lowest = 0;
  std::vector<float> levels{};  ///< of the codes from the lowest on
};

/// An input or output of the network.
struct ArenaPort {
  std::string name;
  ir::ValueType type;
  CType c;
  std::size_t offset = 0;     ///< in the arena, bytes
  std::string pointer;        ///< member of the state with its address; empty: arena
  std::vector<float> levels;  ///< that an input of float32 is rounded to
  std::optional<ir::AffineParameters> codes;  ///< what its codes mean, as far as known
  std::optional<InputCodes> taken;            ///< what codes mean that an input takes
};

/// A value that the caller writes or reads.
struct PortValue {
  ir::ValueId named = ir::kAbsent;   ///< of the network
  ir::ValueId stored = ir::kAbsent;  ///< that is in memory: it, or its codes
};

/// The inputs of a graph but for its states. If codes are wanted, removes the encoders of inputs of
/// float32 from nodes.
/// @throws Error kUnsupported if something else than one encoder of evenly spaced levels, whose
///         codes are bytes, reads such an input
std::vector<PortValue> input_values(const ir::Graph& graph, bool wants_codes,
                                    std::vector<NodeToWrite>& nodes);
/// The outputs but for those that states become.
std::vector<PortValue> output_values(const ir::Graph& graph);

/// The port of a value, but for its memory. @param layout  of codes
ArenaPort port_of(const ir::Graph& graph, const PortValue& value, runtime::CodeLayout layout);

}  // namespace halftone::export_c
