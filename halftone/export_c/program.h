// SPDX-License-Identifier: Apache-2.0
// A network as a list of C functions and one arena.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export_c/ports.h"
#include "halftone/export_c/scope.h"
#include "halftone/ir/graph.h"
#include "halftone/types/export_c.hpp"

namespace halftone::export_c {

/// Where a value lies.
struct Place {
  std::size_t offset = 0;  ///< in the arena, bytes
  std::string pointer;     ///< member of the state with its address; empty: in the arena
  bool operator==(const Place&) const = default;
};

/// A value that the network remembers from run to run, zeros at first.
struct ArenaState {
  std::string name;
  CType c;
  std::size_t elements = 0;  ///< of C
  Place place;               ///< in the arena
  Place next;                ///< where the last layer leaves what it becomes
};

/// An output that lies where the caller or another run has something else: it is copied.
struct ArenaCopy {
  std::string name;
  CType c;
  std::size_t elements = 0;
  Place from;
  Place to;
};

/// A layer with the places of its operands.
struct PlacedLayer {
  LayerFunction layer;
  std::vector<Place> inputs;
  Place output;
  std::size_t scratch = 0;
  std::size_t ram_bytes = 0;  ///< of values and scratch that live while it runs
  std::size_t runs = 1;       ///< how often the layer is computed; by pixel once for each reader
  std::string types;          ///< "int8[1, 640] -> int8[1, 128]"
  std::vector<CType> input_types;
  CType output_type;
};

struct Program {
  std::vector<PlacedLayer> layers;
  std::vector<ArenaPort> inputs;
  std::vector<ArenaPort> outputs;
  std::vector<ArenaCopy> copies;   ///< behind the last layer, before states are changed
  std::vector<ArenaState> states;  ///< in the order in which they are to be changed
  std::size_t arena_bytes = 0;
};

/// Whether the arena has values or scratch of this member: "f64".
bool has_member(const Program& program, std::string_view member);
/// Whether a run takes pointers to inputs and outputs.
bool takes_pointers(const Program& program);

/// Finds a function for each node, and a place for each value: runtime::plan_arena() for one
/// sample. The memory of an input is free once its last reader has run. Images of float32 that
/// readers take pixel by pixel are not stored.
/// @param graph  simplified to run, see passes::simplify()
/// @throws Error kUnsupported if C has no kernel for a node, and as input_values(); kUsage for an
///         unknown core; and as runtime::prepare()
Program make_program(const ir::Graph& graph, const v0::ExportCOptions& options);

}  // namespace halftone::export_c
