// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/axis_order.h"

#include <numeric>

#include "halftone/ir/operator.h"

namespace halftone::formats::onnx {

std::vector<std::size_t> channels_first(std::size_t rank) {
  std::vector<std::size_t> permutation(rank);
  std::iota(permutation.begin() + 2, permutation.end(), std::size_t{1});
  permutation[1] = rank - 1;
  return permutation;
}

std::vector<std::size_t> channels_last(std::size_t rank) {
  std::vector<std::size_t> permutation(rank);
  std::iota(permutation.begin() + 1, permutation.end(), std::size_t{2});
  permutation.back() = 1;
  return permutation;
}

ir::Tensor in_order(const ir::Tensor& tensor, const std::vector<std::size_t>& permutation) {
  const ir::Tensor* input = &tensor;
  return ir::evaluate_operator(ir::Transpose{permutation}, {&input, 1});
}

}  // namespace halftone::formats::onnx
