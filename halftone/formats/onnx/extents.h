// SPDX-License-Identifier: Apache-2.0
// Extents in files: numbers, or nodes that compute them from the shapes of inputs.
#pragma once

#include <string>

#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {

class Exporter;

/// The name of an extent, int64 [1]. One that depends on symbols is computed once.
/// @throws Error kUnsupported if no input of the graph has a symbol as an axis
std::string add_extent(Exporter& exporter, const ir::Extent& extent);

/// The name of a float of shape arithmetic, float32 [1]: see ir::Real.
/// @throws Error as add_extent()
std::string add_real(Exporter& exporter, const ir::Extent& bits);

/// The name of a shape, int64 [rank].
/// @throws Error as add_extent()
std::string add_shape(Exporter& exporter, const std::string& prefix, const ir::Shape& shape);

}  // namespace halftone::formats::onnx
