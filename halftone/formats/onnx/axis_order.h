// SPDX-License-Identifier: Apache-2.0
// The order of axes: ONNX has the channels of images as axis 1, graphs as the last axis.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

/// The permutation from [N, spatial..., C] to [N, C, spatial...], and back. @pre rank >= 2
std::vector<std::size_t> channels_first(std::size_t rank);
std::vector<std::size_t> channels_last(std::size_t rank);

/// A tensor whose axis i is axis permutation[i] of the one given.
ir::Tensor in_order(const ir::Tensor& tensor, const std::vector<std::size_t>& permutation);

}  // namespace halftone::formats::onnx
