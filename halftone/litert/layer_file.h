// SPDX-License-Identifier: Apache-2.0
// Layers of a graph of LiteRT as a TFLite file, which Halftone reads as every other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/litert/host.h"

namespace halftone::litert {

/// Names and order of the ends of a file of layers are those of the tensors.
struct LayerEnds {
  std::vector<int> inputs;  ///< tensors that the layers read and do not compute, without constants
  std::vector<int> outputs;
};

/// A file of these nodes. Constants are copied.
/// @throws Error kUnsupported as Host::tensor()
SharedBytes layer_file(const Host& host, std::span<const int> nodes, const LayerEnds& ends);

}  // namespace halftone::litert
