// SPDX-License-Identifier: Apache-2.0
// The work of a layer as a nest of loops around one multiply-accumulate (MAC).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halftone::accel::mapping {

inline constexpr std::size_t kMaxDimensions = 8;
inline constexpr std::size_t kMaxDataSpaces = 4;

/// A loop of the nest; its index is 0 <= i < extent.
struct Dimension {
  std::string name;
  std::uint64_t extent = 1;
};

/// stride * index of a dimension.
struct Term {
  std::size_t dimension = 0;
  std::uint64_t stride = 1;
};

/// A tensor that the nest reads, or reads and adds to. The coordinate of each axis is a sum of
/// terms: [stride P + dilation R] is the row that row P of the output reads for row R of a filter.
struct DataSpace {
  std::string name;
  std::vector<std::vector<Term>> axes;
  bool is_output = false;       ///< sums; their axes are one dimension each, with stride 1
  std::uint64_t word_bits = 8;  ///< of an element, where a level does not say otherwise
};

struct Problem {
  std::vector<Dimension> dimensions;
  std::vector<DataSpace> data_spaces;

  /// The product of the extents.
  [[nodiscard]] std::uint64_t macs() const;
};

/// Iterations of each dimension inside some loops; 1 for dimensions that a problem lacks.
using Extents = std::array<std::uint64_t, kMaxDimensions>;

Extents extents_of(const Problem& problem);

/// C[m, n] = sum_k A[m, k] B[k, n]: dimensions M, N, K and data spaces Inputs [M, K], Weights
/// [K, N], Outputs [M, N]. `word_bits` are theirs, in this order.
Problem matrix_product(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                       const std::array<std::uint64_t, 3>& word_bits = {8, 8, 8});

/// Sizes of a convolution of images [N, C, height, width] with filters [M, C, R, S] to outputs
/// [N, M, P, Q]. Padding belongs to the images.
struct ConvolutionSizes {
  std::uint64_t n = 1, c = 1, m = 1, p = 1, q = 1, r = 1, s = 1;
  std::array<std::uint64_t, 2> strides{1, 1};    ///< of P, of Q
  std::array<std::uint64_t, 2> dilations{1, 1};  ///< of R, of S
};

/// Dimensions N, C, M, P, Q, R, S; data spaces Inputs [N, C, stride P + dilation R, stride Q +
/// dilation S], Weights [M, C, R, S], Outputs [N, M, P, Q]. `word_bits` are theirs, in this order.
Problem convolution(const ConvolutionSizes& sizes,
                    const std::array<std::uint64_t, 3>& word_bits = {8, 8, 8});

/// @throws Error kUsage unless there are 1 to kMaxDimensions dimensions and 1 to kMaxDataSpaces
/// data spaces, one of them the output; terms name dimensions, extents, strides and bits are
/// positive, and the output has plain axes. kShape if there are 2^48 MACs or more.
void check(const Problem& problem);

[[nodiscard]] bool has_dimension(const DataSpace& space, std::size_t dimension);
/// Bit d is set for each dimension d that the data space has.
[[nodiscard]] unsigned dimension_mask(const DataSpace& space);

/// Words of a tile: the box between the smallest and the largest coordinates that it reads,
///
///     product over axes of (1 + sum over terms of stride (extent - 1)).
///
/// With strides it may hold words that are not read.
std::uint64_t tile_words(const DataSpace& space, const Extents& extents);

/// Words of a tile that it lacks after `dimension` moved by `step` from the previous tile.
std::uint64_t new_words(const DataSpace& space, const Extents& extents, std::size_t dimension,
                        std::uint64_t step);

}  // namespace halftone::accel::mapping
