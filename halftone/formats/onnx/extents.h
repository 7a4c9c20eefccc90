// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "halftone/ir/shape.h"

namespace halftone::formats::onnx {

/// The product of extents as one extent: a number, or a multiple of the batch.
/// @throws Error kUnsupported for a square of the batch; kShape above 2^40
ir::Dim product_of(std::span<const ir::Dim> dims);

}  // namespace halftone::formats::onnx
