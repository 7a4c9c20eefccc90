// SPDX-License-Identifier: Apache-2.0
// What it takes to compute a node, counted from shapes and encodings alone: the same for every
// kernel, processor and estimate.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Bytes of a value that a node reads or writes once.
struct Traffic {
  ValueId value = kAbsent;
  Encoding encoding;
  double bytes = 0;  ///< as stored: of elements, or of codes; of a constant with its scales
};

/// The products of a node in the form of matrices, and the values that it reads and writes.
///
///     y[rows, cols] = x[rows, inner] w[inner, cols], `count` times
///
///     operator         count              rows           inner       cols
///     FullyConnected   1                  rows of x      n           outputs
///     Conv             groups             output pixels  taps C / g  outputs of a group
///     ConvTranspose    groups             input pixels   C / g       taps by outputs of a group
///     MatMul           matrices of y      m              k           n
///     Recurrent        steps              samples        H           G H
///
/// Padding counts as input. Other operators have no products.
struct Work {
  std::size_t count = 0;
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t cols = 0;
  Encoding x;  ///< of the factors; of a Recurrent the encoding of its states
  Encoding w;
  std::vector<Traffic> reads;  ///< inputs that are present
  Traffic writes;

  [[nodiscard]] double products() const {
    return static_cast<double>(count) * static_cast<double>(rows) * static_cast<double>(inner) *
           static_cast<double>(cols);
  }
  [[nodiscard]] double bytes_read() const;
};

/// @param batch  number of samples, for graphs with a symbolic batch
Work work_of(const Graph& graph, const Node& node, std::size_t batch = 1);

}  // namespace halftone::ir
