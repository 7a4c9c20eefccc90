// SPDX-License-Identifier: Apache-2.0
// What it takes to compute a node, counted from shapes and encodings alone: the same for every
// kernel, processor and estimate.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Bytes of a value that a node reads or writes once; of experts, those of as many as rows choose.
struct Traffic {
  ValueId value = kAbsent;
  Encoding encoding;
  double bytes = 0;  ///< as stored: of elements, or of codes; of a constant with its scales
};

/// Work on single elements.
struct ElementWork {
  double operations = 0;  ///< additions, products, comparisons, roundings
  double functions = 0;   ///< exp, log, tanh, square roots, quotients, ...

  ElementWork& operator+=(const ElementWork& other) {
    operations += other.operations;
    functions += other.functions;
    return *this;
  }
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
///     ExpertProduct    1                  chosen pairs   n           outputs
///     Loop             products of all    1              1           1
///
/// Padding counts as input, and a loop whose number of iterations is not known has one. Other
/// operators have no products.
struct Work {
  std::size_t count = 0;
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t cols = 0;
  std::size_t taps = 1;  ///< of a window: inner = taps x channels
  Encoding x;            ///< of the factors; of a Recurrent the encoding of its states
  Encoding w;
  ElementWork elements;        ///< beside the products: see element_work()
  std::vector<Traffic> reads;  ///< inputs that are present
  Traffic writes;

  [[nodiscard]] double products() const {
    return static_cast<double>(count) * static_cast<double>(rows) * static_cast<double>(inner) *
           static_cast<double>(cols);
  }
  [[nodiscard]] double bytes_read() const;
};

/// The operations on single elements, as the definition of the operator takes them:
///
///     operator             operations               functions
///     fused activation     1 an output              1 an output, if it is no piecewise line
///     bias, residual       1 an output each
///     Recurrent            5 a gate and state       1 a gate and state
///     Unary, Binary        1 an output              1 an output: Exp, Tanh, Div, Pow, ...
///     Pool                 taps an output
///     Reduce, CumSum       1 an input               1 an output: Mean, L2, LogSum, ...
///     Softmax              4 an input               1 an input
///     Normalize            6 an input               1 a row
///     LocalNormalize       2 (before + after + 1)   1 an output
///     Encode               the bits of a code       1 for its activation
///     conversions, Where   1 an output
///     Resize, GridSample   2 taps an output
///     TopK, ArgReduce      1 an input
///     moves                0
/// @param batch  as in work_of()
ElementWork element_work(const Graph& graph, const Node& node, std::size_t batch = 1);

/// @param batch  number of samples, for graphs with a symbolic batch
Work work_of(const Graph& graph, const Node& node, std::size_t batch = 1);

}  // namespace halftone::ir
