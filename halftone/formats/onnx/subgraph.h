// SPDX-License-Identifier: Apache-2.0
// Import of the nodes of a graph, and inlining of subgraphs and functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// Adds the initializers of a graph of the file, and frees their bytes in the file's message.
/// @throws Error as decode_tensor(); kUnsupported for sparse ones
void add_initializers(ImportState& state, onnx_pb::GraphProto& graph);

/// Imports a node of the file.
/// @throws Error with the node's name, as its builder; kFormat if an output is already defined
void add_node(ImportState& state, const onnx_pb::NodeProto& proto);

/// The model function that a node calls; null if there is none.
const onnx_pb::FunctionProto* find_function(const ImportState& state,
                                            const onnx_pb::NodeProto& call);

/// Adds the nodes of a subgraph, which can refer to the names of the enclosing graph.
/// @param arguments  names that the subgraph has besides
/// @return the bindings of its outputs
/// @throws Error kUnsupported if graphs are nested too deeply
std::vector<Binding> inline_graph(
    ImportState& state, const onnx_pb::GraphProto& graph,
    const std::vector<std::pair<std::string, Binding>>& arguments = {});

/// Replaces a call by the nodes of its function and binds the call's outputs. The function can
/// refer only to its inputs and attributes.
/// @throws Error as inline_graph()
void inline_function(ImportState& state, const onnx_pb::FunctionProto& function,
                     const onnx_pb::NodeProto& call);

}  // namespace halftone::formats::onnx
