// SPDX-License-Identifier: Apache-2.0
// A pass over the columns of some rows, each of which changes what the others should be: error
// feedback and coordinate descent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::compress {

/// How `work` and `changes` of a ColumnPass lie in memory.
enum class PassLayout {
  kRows,   ///< [rows, columns], for few rows
  kLanes,  ///< [columns, rows]: rows are lanes of kernels
};

/// The columns of a stream: rows stream, stream + streams, ... of a matrix [columns, lanes].
template <typename T>
MatrixView<T> stream_of(MatrixView<T> all, std::size_t stream, std::size_t streams) {
  return {all.data_handle() + stream * all.stride(), all.rows() / streams, all.cols(),
          streams * all.stride()};
}

template <typename T>
struct ColumnPass {
  /// [n, n] A, upper triangular or symmetric; with kLanes also [1, n], its diagonal; empty: zero.
  MatrixView<const T> couplings;
  MatrixView<T> work;  ///< of columns from n on, which have no weights, nothing is subtracted
  MatrixView<T> changes;
  PassLayout layout = PassLayout::kRows;
  std::size_t step = 1;      ///< columns that are visited together
  std::size_t panel = 64;    ///< columns, in steps, whose changes reach the others together
  bool reaches_all = false;  ///< whether changes reach all columns; else only later ones
  /// kLanes: column c of work and changes has the couplings of c / streams, and reaches those of
  /// its stream, c mod streams. Steps and panels are whole columns of all streams.
  std::size_t streams = 1;

  /// Calls visit(c) for step after step. It sets the changes of the columns [c, c + step), by which
  /// the work of the columns j that they reach becomes
  ///
  ///     work_j -= sum_c A_cj changes_c
  ///
  /// before j is visited. Terms are subtracted in the order of the visits, so that panels change no
  /// result.
  template <typename Visit>
  void run(const Visit& visit) const {
    const std::size_t columns = layout == PassLayout::kRows ? work.cols() : work.rows();
    for (std::size_t first = 0; first < columns; first += panel) {
      const std::size_t end = std::min(first + panel, columns);
      for (std::size_t c = first; c < end; c += step) {
        visit(c);
        subtract(c, step, reaches_all ? first : c + step, end);
      }
      if (reaches_all) subtract(first, end - first, 0, first);
      subtract(first, end - first, end, columns);
    }
  }

 private:
  /// Subtracts the changes of the columns [first, first + count) from the work of [to, end).
  void subtract(std::size_t first, std::size_t count, std::size_t to, std::size_t end) const {
    for (std::size_t s = 0; s < streams; ++s) {
      subtract_stream(s, first / streams, count / streams, to / streams, end / streams);
    }
  }
  /// The same for the columns of a stream.
  void subtract_stream(std::size_t stream, std::size_t first, std::size_t count, std::size_t to,
                       std::size_t end) const {
    const std::size_t n = couplings.cols();
    if (first >= n || to >= std::min(end, n)) return;
    const std::size_t from = std::min(count, n - first);
    const std::size_t until = std::min(end, n) - to;
    const MatrixView<const T> part(couplings.data_handle() + first * couplings.stride() + to, from,
                                   until, couplings.stride());
    if (layout == PassLayout::kRows) {
      if (from == 1) return subtract_column(first, to, part.row(0));
      kernels::matmul(columns_of(changes, first, from), part, columns_of(work, to, until),
                      kernels::Update::kSubtract);
    } else if (couplings.rows() > 1) {
      kernels::matmul(
          kernels::transposed(part), stream_of(changes, stream, streams).rows_from(first, from),
          stream_of(work, stream, streams).rows_from(to, until), kernels::Update::kSubtract);
    } else {
      subtract_own(stream, std::max(first, to), std::min(first + from, to + until));
    }
  }
  /// Of one column, which not all rows change.
  void subtract_column(std::size_t c, std::size_t to, std::span<const T> a) const {
    for (std::size_t r = 0; r < work.rows(); ++r) {
      const T change = changes(r, c);
      if (change == 0) continue;
      T* const w = work.row(r).data() + to;
      for (std::size_t j = 0; j < a.size(); ++j) w[j] -= change * a[j];
    }
  }
  /// Of a diagonal A.
  void subtract_own(std::size_t stream, std::size_t first, std::size_t end) const {
    for (std::size_t c = first; c < end; ++c) {
      const std::size_t at = c * streams + stream;
      for (std::size_t r = 0; r < work.cols(); ++r) work(at, r) -= couplings(0, c) * changes(at, r);
    }
  }
  static MatrixView<T> columns_of(MatrixView<T> all, std::size_t first, std::size_t count) {
    return {all.data_handle() + first, all.rows(), count, all.stride()};
  }
};

}  // namespace halftone::compress
