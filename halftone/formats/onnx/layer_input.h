// SPDX-License-Identifier: Apache-2.0
// The operands of a layer that may have codes: MatMul, Gemm, Conv, Gather and their like.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

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
