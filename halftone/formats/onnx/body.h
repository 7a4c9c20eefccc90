// SPDX-License-Identifier: Apache-2.0
// Import of the body of a loop as a graph of its own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// A subgraph during its import. Add its inputs, then import it.
class BodyImport {
 public:
  /// @param outer  the enclosing graph, which does not change. What the body takes of its budget is
  ///               gone when this ends
  /// @param loop   the name of the loop, with which the names of its nodes begin
  BodyImport(ImportState& outer, std::string loop);
  ~BodyImport();
  BodyImport(const BodyImport&) = delete;
  BodyImport& operator=(const BodyImport&) = delete;

  /// Adds an input of a type; the body has it under a name.
  void add_input(const std::string& name, const ir::ValueType& type);
  /// The same for slices or states of a value of the enclosing graph, with its type in the file.
  void add_input(const std::string& name, const ir::ValueType& type, ir::ValueId of);
  void bind(const std::string& name, Binding binding);

  /// Imports the nodes. Values of the enclosing graph that they read become constants or further
  /// inputs.
  /// @throws Error as inline_graph(), import_onnx()
  std::vector<ir::ValueId> import(const onnx_pb::GraphProto& proto);

  [[nodiscard]] ir::Graph& graph() { return state_.graph; }
  /// The type in the file of a value of the body that has fewer bits than its elements, if any.
  [[nodiscard]] const std::map<ir::ValueId, std::int32_t>& widened() const {
    return state_.widened;
  }
  /// The values of the enclosing graph that became the last inputs, in order.
  [[nodiscard]] const std::vector<ir::ValueId>& captured() const { return captured_; }

 private:
  void capture(const onnx_pb::GraphProto& proto);
  void capture_name(const std::string& name);
  ir::ValueId captured_value(ir::ValueId id);

  ImportState& outer_;
  std::string loop_;
  ImportState state_;
  std::map<ir::ValueId, ir::ValueId> inner_;  ///< by value of the enclosing graph
  std::vector<ir::ValueId> captured_;
};

/// Whether a value is a constant that is true.
bool holds_true(const ir::Graph& graph, ir::ValueId id);

}  // namespace halftone::formats::onnx
