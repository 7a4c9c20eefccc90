// SPDX-License-Identifier: Apache-2.0
// A network as one operator of Halftone's domain, which a runtime that has our operators hands to
// Halftone whole: layers are merged, and codes stay codes between them.
#pragma once

#include "halftone/formats/onnx/export.h"

namespace halftone::formats::onnx {

/// The operator: its inputs and outputs are those of the network, and its attribute kNetworkBytes
/// has the bytes of the ONNX model, as text.
inline constexpr const char* kNetwork = "Network";
inline constexpr const char* kNetworkBytes = "model";

/// The model with its graph as one operator.
/// @throws Error kUnsupported if it has external data
OnnxModel as_one_operator(const OnnxModel& model);

/// Whether the graph of a model is the one operator. Then the network is the model in it.
bool is_one_operator(const onnx_pb::ModelProto& model);

/// The bytes of the network in it. @pre is_one_operator(model)
const std::string& network_bytes(const onnx_pb::ModelProto& model);

}  // namespace halftone::formats::onnx
