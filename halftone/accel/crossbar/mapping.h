// SPDX-License-Identifier: Apache-2.0
// Divides a matrix of codes among the arrays of a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "halftone/accel/crossbar/device.h"

namespace halftone::crossbar {

/// A weight matrix [outputs, inputs] of K-bit codes on arrays. Inputs lie along rows. Every output
/// has ceil(K / cell_bits) *units* side by side, one per group of cell_bits planes:
///
///     two levels:   a pair of columns; +1 is (on, off), -1 is (off, on)
///     more levels:  one column; its conductance grows linearly with the sum of the planes
///
///     array (0, 0)            array (0, 1)
///       input 0   | o0 | o0 |   | o1 | ...      the units of an output may lie on two arrays,
///       input 1   | o0 | o0 |   | o1 |          the columns of a unit never
///       ...
///     array (1, 0)
///       input rows ...
///
/// A device that converts columns has one more column per array, of cells that are off: its current
/// is subtracted from the others.
struct Mapping {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t slices = 1;        ///< units of an output
  std::size_t unit_columns = 2;  ///< columns of a unit
  std::size_t unit_conversions = 1;
  std::size_t array_rows = 0;         ///< of a full array
  std::size_t array_units = 0;        ///< of a full array
  std::size_t reference_columns = 0;  ///< of an array, besides the device's columns
  std::size_t converters = 1;         ///< of an array

  /// @throws Error kUnsupported if an array has fewer columns than a unit
  Mapping(const CrossbarDevice& device, std::size_t num_inputs, std::size_t num_outputs, int bits);

  [[nodiscard]] std::size_t units() const { return outputs * slices; }
  /// Rows of the fullest array in use.
  [[nodiscard]] std::size_t used_rows() const { return std::min(array_rows, inputs); }
  [[nodiscard]] std::size_t row_blocks() const { return (inputs + array_rows - 1) / array_rows; }
  [[nodiscard]] std::size_t unit_blocks() const {
    return (units() + array_units - 1) / array_units;
  }
  [[nodiscard]] std::size_t arrays() const { return row_blocks() * unit_blocks(); }
  /// Occupied cells, with those of reference columns.
  [[nodiscard]] std::size_t cells() const {
    return inputs * (units() * unit_columns + unit_blocks() * reference_columns);
  }
  /// Conversions of all arrays for one plane of inputs.
  [[nodiscard]] std::size_t conversions() const {
    return row_blocks() * units() * unit_conversions;
  }
  /// Conversions that follow one another for one plane of inputs: those of the fullest array
  /// divided by its converters. All arrays work at the same time.
  [[nodiscard]] std::size_t conversion_steps() const;
};

}  // namespace halftone::crossbar
