// SPDX-License-Identifier: Apache-2.0
// Names of layers in files of PyTorch.
#pragma once

#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// Names the layers that PyTorch's exporters wrote after their modules, the same for both
/// exporters: "features.0" for node_Conv_276 and for /features/features.0/Conv. The name is, in
/// this order, that of the weights without ".weight"; the module that the exporter states
/// (name_scopes, or the path in the node's name); that of the weights. Further layers of a module
/// get a number. Other names stay.
void name_layers(onnx_pb::GraphProto& graph);

}  // namespace halftone::formats::onnx
