// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "halftone/ir/shape.h"

namespace halftone::formats::onnx {

/// The product of extents as one extent: a number, or kBatch if it is the batch times 1.
/// @throws Error kUnsupported for the batch times another number; kShape above 2^40
ir::Dim product_of(std::span<const ir::Dim> dims);

}  // namespace halftone::formats::onnx
