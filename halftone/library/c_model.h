// SPDX-License-Identifier: Apache-2.0
// Models of the C API, and descriptions of tensors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/ir/graph.h"
#include "halftone/library/c_context.h"

namespace halftone::library {

/// Inputs or outputs in the terms of C.
class Ports {
 public:
  /// @param ids  of values of the graph; codes are described as the float32 that they become
  Ports(const ir::Graph& graph, std::span<const ir::ValueId> ids);

  [[nodiscard]] std::size_t size() const { return ports_.size(); }
  /// What halftone_*_input() and halftone_*_output() return. The info points into this.
  /// @param what  "input" or "output"
  /// @throws Error kUsage for an index out of range
  void describe(std::size_t index, const char* what, halftone_tensor_info* info) const;

 private:
  struct TensorPort {
    std::string name;
    halftone_type type = HALFTONE_FLOAT32;
    std::vector<std::int64_t> extents;
    std::size_t bytes = 0;  ///< 0 if an extent is open
  };
  std::vector<TensorPort> ports_;
};

struct ModelState {
  std::shared_ptr<const Context> context;
  ir::Graph graph;  ///< simplified, to run; with open extents as the file has it
  Ports inputs;
  Ports outputs;
  std::optional<Network> open{};  ///< if it has open extents beside the batch
};

/// Shapes of inputs, by name.
std::map<std::string, ir::Shape> shapes_of(const halftone_input_shape* shapes, std::size_t count);

}  // namespace halftone::library

struct halftone_model {
  std::shared_ptr<const halftone::library::ModelState> state;
};
