// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/base/view.h"
#include "halftone/ir/ops/activation.h"
#include "halftone/kernels/encode/encode_int8.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// Whether the codes of activation(x) can be found from x, and faster.
bool can_encode_argument(const ir::Activation& activation, const numerics::Levels& levels);

/// Encodes rows of float32 values in a CodeLayout.
class RowEncoder {
 public:
  /// @param activation  the codes are those of activation(x), found without computing it
  /// @param cols        elements per row
  /// @throws Error kUnsupported unless can_encode_argument()
  RowEncoder(const numerics::Levels& levels, const ir::Activation& activation, CodeLayout layout,
             std::size_t cols);

  /// Bytes of the codes of one row.
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  /// @param x  [rows, cols]
  /// @param y  [rows, row_bytes()]
  void operator()(MatrixView<const float> x, std::byte* y) const;

 private:
  kernels::EncodeTable table_;
  std::size_t row_bytes_;
  std::optional<kernels::Int8EncodeTable> integers_;  ///< nothing for bit planes
};

}  // namespace halftone::runtime
