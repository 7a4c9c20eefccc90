// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"

namespace halftone::formats::onnx {

/// The extent whose entries a value counts, of those that an operator found. Our files count them
/// behind ONNX's operators, whose readers have counted them already.
std::optional<ir::Extent> counted_extent(const ir::Graph& graph, ir::ValueId id);

}  // namespace halftone::formats::onnx
