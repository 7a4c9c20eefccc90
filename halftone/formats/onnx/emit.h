// SPDX-License-Identifier: Apache-2.0
// Shorthands for operators that builders compose, and the operands of a layer that may have codes:
// MatMul, Gemm, Conv, Gather and their like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

ir::ValueId emit_unary(NodeBuilder& node, ir::ActivationKind kind, ir::ValueId x);
ir::ValueId emit_binary(NodeBuilder& node, ir::BinaryKind kind, ir::ValueId a, ir::ValueId b);
ir::ValueId emit_where(NodeBuilder& node, ir::ValueId condition, ir::ValueId a, ir::ValueId b);
ir::ValueId emit_cast(NodeBuilder& node, ir::ElementType element, ir::ValueId x);
ir::ValueId emit_transpose(NodeBuilder& node, std::vector<std::size_t> permutation, ir::ValueId x);
/// @param axes  in any order
ir::ValueId emit_reduce(NodeBuilder& node, ir::ReduceKind kind, std::vector<std::size_t> axes,
                        bool keep_dims, ir::ValueId x);

/// Inserts an axis of extent 1, or removes one.
ir::ValueId unsqueezed(NodeBuilder& node, ir::ValueId x, std::size_t axis);
ir::ValueId squeezed(NodeBuilder& node, ir::ValueId x, std::size_t axis);

/// The axes as non-negative indices, in ascending order.
/// @throws Error kShape if an axis is out of range or repeated
std::vector<std::size_t> sorted_axes(const std::vector<std::int64_t>& axes, std::size_t rank);

/// All axes of a shape.
std::vector<std::size_t> all_axes(std::size_t rank);

/// Integers that are an attribute in older operator sets and an input in newer ones; nullopt if the
/// file has neither.
/// @param since  the first operator set in which they are an input
/// @throws Error kUnsupported if they are not known during the import
std::optional<std::vector<std::int64_t>> numbers_of(NodeBuilder& node, const char* attribute,
                                                    std::size_t input, std::int64_t since);

/// An input of one integer.
/// @throws Error kUnsupported if it is not known during the import; kShape for another count
std::int64_t number_input(NodeBuilder& node, std::size_t i);

/// The input of a layer, as float32, and the system to which it is rounded, or null.
struct LayerInput {
  ir::ValueId x;
  std::shared_ptr<const numerics::MatrixEncoding> encoding;
};
LayerInput layer_input(NodeBuilder& node, std::size_t i);
/// The value that the layer reads: codes if the input is rounded.
ir::ValueId operand(NodeBuilder& node, const LayerInput& input);

/// An input that is a weight of few bits, as a constant of codes with its axes in another order:
/// the same constant for all layers that read it so. Nothing if it is another value or codes cannot
/// have its blocks; then NodeBuilder::input() gives its numbers.
std::optional<ir::ValueId> encoded_weight(NodeBuilder& node, std::size_t i,
                                          const std::vector<std::size_t>& permutation);
/// The same for a weight that is no value of the file.
std::optional<ir::ValueId> encoded_weight(NodeBuilder& node,
                                          const std::shared_ptr<const QuantizedWeight>& weight,
                                          const std::vector<std::size_t>& permutation);

/// @throws Error kFormat unless all scales are finite
void check_scales(const ir::Tensor& scales);

/// The arithmetic of a layer with these operands: values of few bits are decoded, as other runtimes
/// do.
ir::Arithmetic arithmetic_of(const LayerInput& input, const std::optional<ir::ValueId>& weight);

}  // namespace halftone::formats::onnx
