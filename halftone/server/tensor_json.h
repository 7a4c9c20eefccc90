// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of networks in requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/api/tensor_files.h"
#include "halftone/server/json_body.h"

namespace halftone::server {

/// What a request gives: {"inputs": {"NAME": tensor, ...}} or, of a network with one input,
/// {"input": tensor}. A tensor is lists of numbers in each other, or {"shape": [2, 784], "data":
/// "..."} with the bytes of its elements in base64, the lowest byte first.
/// @throws RequestError 400 that names the input which is wrong
std::vector<ir::Tensor> tensors_of_json(const Json& request, const ir::Graph& graph);
/// The one input: a .npy file, or the bytes of elements, whose number says how many samples it has.
/// @throws RequestError 400
std::vector<ir::Tensor> tensor_of_npy(std::string_view body, const ir::Graph& graph);
std::vector<ir::Tensor> tensor_of_bytes(std::string_view body, const ir::Graph& graph);

/// {"outputs": {"NAME": {"type": "float32", "shape": [...], "data": [[...], ...]}}}; JSON has no
/// infinity and NaN: null.
/// @param packs  data is in base64, as requests have it
Json json_of_tensors(const std::vector<ir::Tensor>& outputs, const ir::Graph& graph, bool packs);

}  // namespace halftone::server
