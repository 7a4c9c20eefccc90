// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph of the file, one after another, and graphs and functions within nodes.
#pragma once

#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// Adds the tensors that a graph of the file holds, and lets go of their bytes there.
/// @throws Error as decode_tensor(); kUnsupported for sparse ones
void add_initializers(ImportState& state, onnx_pb::GraphProto& graph);

/// Builds a node of the file.
/// @throws Error with the node's name, as its builder; kFormat if an output is defined already
void add_node(ImportState& state, const onnx_pb::NodeProto& proto);

/// The function of the model that a node calls; null if it calls none.
const onnx_pb::FunctionProto* find_function(const ImportState& state,
                                            const onnx_pb::NodeProto& call);

/// Adds the nodes of a graph within a node, which sees the names around it.
/// @return what its outputs stand for
/// @throws Error kUnsupported if graphs lie too deep within each other
std::vector<Binding> inline_graph(ImportState& state, const onnx_pb::GraphProto& graph);

/// Adds the nodes of a function in the place of its call and binds the call's outputs. The function
/// sees its inputs and attributes only.
/// @throws Error as inline_graph()
void inline_function(ImportState& state, const onnx_pb::FunctionProto& function,
                     const onnx_pb::NodeProto& call);

}  // namespace halftone::formats::onnx
