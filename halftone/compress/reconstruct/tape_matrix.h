// SPDX-License-Identifier: Apache-2.0
// Numbers of a tape as matrices.
#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace halftone::compress {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstRows = Eigen::Map<const Rows, 0, Eigen::OuterStride<>>;
using MutableRows = Eigen::Map<Rows, 0, Eigen::OuterStride<>>;

/// A matrix [rows, cols] whose rows begin `stride` elements after each other.
inline ConstRows view(const float* data, std::size_t rows, std::size_t cols, std::size_t stride) {
  return {data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}
inline MutableRows view(float* data, std::size_t rows, std::size_t cols, std::size_t stride) {
  return {data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}

}  // namespace halftone::compress
