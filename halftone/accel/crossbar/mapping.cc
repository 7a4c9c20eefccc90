// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/mapping.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::crossbar {

Mapping::Mapping(const CrossbarDevice& device, std::size_t num_inputs, std::size_t num_outputs,
                 int bits)
    : inputs(num_inputs), outputs(num_outputs) {
  const bool pairs = device.levels == 2;
  const auto cell_bits = static_cast<std::size_t>(device.cell_bits());
  slices = (static_cast<std::size_t>(bits) + cell_bits - 1) / cell_bits;
  unit_columns = pairs ? 2 : 1;
  const bool by_column = device.adc.converts == Converts::kColumn;
  unit_conversions = by_column ? unit_columns : 1;
  reference_columns = by_column ? 1 : 0;
  converters = device.adc.per_array;
  array_rows = device.rows;
  array_units = device.columns / unit_columns;
  if (array_units == 0) {
    fail(
        ErrorKind::kUnsupported,
        "arrays of " + std::to_string(device.rows) + " x " + std::to_string(device.columns) +
            " cells: a weight of +-1 needs a pair of columns; expected at least 2 columns, found " +
            std::to_string(device.columns));
  }
}

std::size_t Mapping::conversion_steps() const {
  const std::size_t conversions = std::min(array_units, units()) * unit_conversions;
  return (conversions + converters - 1) / converters;
}

}  // namespace halftone::crossbar
