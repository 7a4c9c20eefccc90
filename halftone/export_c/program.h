// SPDX-License-Identifier: Apache-2.0
// A network as a list of C functions and one arena.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export_c/scope.h"
#include "halftone/ir/graph.h"

namespace halftone::export_c {

/// An input or output of the network in the arena.
struct ArenaPort {
  std::string name;
  ir::ValueType type;
  CType c;
  std::size_t offset = 0;                     ///< bytes
  std::vector<float> levels;                  ///< that an input of float32 is rounded to
  std::optional<ir::AffineParameters> codes;  ///< what its codes mean, as far as known
};

/// A value that the network remembers from run to run, zeros at first.
struct ArenaState {
  std::string name;
  CType c;
  std::size_t elements = 0;  ///< of C
  std::size_t offset = 0;    ///< bytes
  std::size_t next = 0;      ///< where the last layer leaves what it becomes
  bool changes = false;      ///< or else it stays as it is
};

/// A layer with the places of its operands in the arena, in bytes.
struct PlacedLayer {
  LayerFunction layer;
  std::vector<std::size_t> inputs;
  std::size_t output = 0;
  std::size_t scratch = 0;
  std::size_t ram_bytes = 0;  ///< of values and scratch that live while it runs
  std::string types;          ///< "int8[1, 640] -> int8[1, 128]"
  std::vector<CType> input_types;
  CType output_type;
};

struct Program {
  std::vector<PlacedLayer> layers;
  std::vector<ArenaPort> inputs;
  std::vector<ArenaPort> outputs;
  std::vector<ArenaState> states;  ///< in the order in which they are to be changed
  std::size_t arena_bytes = 0;
};

/// Whether the arena has values or scratch of this member: "f64".
bool has_member(const Program& program, std::string_view member);

/// Finds a function for each node, and a place for each value: runtime::plan_arena() for one
/// sample. The memory of an input is free once its last reader has run. Images of float32 that
/// readers take pixel by pixel are not stored.
/// @param graph   simplified to run, see passes::simplify()
/// @param prefix  of all names in C
/// @param core    for which kernels are chosen; the program runs on any
/// @throws Error kUnsupported if C has no kernel for a node, and as runtime::prepare()
Program make_program(const ir::Graph& graph, const std::string& prefix, Core core);

}  // namespace halftone::export_c
