// SPDX-License-Identifier: Apache-2.0
// Extents as operands of operators, and numbers that the network computes as extents.
#pragma once

#include <span>
#include <string>

#include "halftone/formats/extent_value.h"
#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// An extent as a value, int64 [].
/// @throws Error as ImportState::add_integers()
ir::ValueId extent_value(NodeBuilder& node, const Extent& extent,
                         const std::string& role = "extent");

/// An extent as float32 [].
ir::ValueId extent_real(NodeBuilder& node, const Extent& extent, const std::string& role);

/// The product of extents. @throws Error as checked_dim()
ir::Dim open_product(std::span<const ir::Dim> extents);

/// The larger of an integer and 0. A number that the network computes may be negative; as a part of
/// an expression it may not.
Extent positive_part(NodeBuilder& node, const Extent& integer);
/// The larger of its negative and 0.
Extent negative_part(NodeBuilder& node, const Extent& integer);

/// max(0, ceil(length / step)), the count of steps forward or backward, where both are int64 []
/// that the network computes. A step of 0 is an error of the run: a negative extent.
Extent count_of_steps(NodeBuilder& node, ir::ValueId length, ir::ValueId step);

/// 0, 1, 2, .. below an extent, in an element type.
ir::ValueId counting(NodeBuilder& node, const Extent& count, ir::ElementType element);
/// The same along one axis of a shape whose other extents are 1.
ir::ValueId counting_along(NodeBuilder& node, std::size_t axis, std::size_t rank,
                           const Extent& count, ir::ElementType element);

/// Which elements of a matrix lie on a diagonal or above or below it: kBool [rows, cols], where
/// col - row and k, int64 [], compare so.
ir::ValueId diagonal_mask(NodeBuilder& node, const ir::Shape& matrix, ir::BinaryKind compare,
                          ir::ValueId k);

}  // namespace halftone::formats::onnx
