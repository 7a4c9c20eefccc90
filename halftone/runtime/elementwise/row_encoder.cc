// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/elementwise/row_encoder.h"

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/runtime/elementwise/activation.h"

namespace halftone::runtime {
namespace {

kernels::EncodeTable make_table(const numerics::Levels& levels, const ir::Activation& activation) {
  kernels::EncodeTable table(levels);
  if (activation.kind == ir::ActivationKind::kIdentity) return table;
  const auto function = never_decreasing(activation);
  if (!function || !table.move_before(function)) {
    fail(ErrorKind::kUnsupported, "Encode: the codes of " + ir::to_string(activation) +
                                      " cannot be derived from its argument");
  }
  return table;
}

}  // namespace

bool can_encode_argument(const ir::Activation& activation, const numerics::Levels& levels) {
  if (activation.kind == ir::ActivationKind::kIdentity) return true;
  const auto function = never_decreasing(activation);
  return function && kernels::EncodeTable(levels).move_before(function);
}

RowEncoder::RowEncoder(const numerics::Levels& levels, const ir::Activation& activation,
                       CodeLayout layout, std::size_t cols)
    : table_(make_table(levels, activation)), row_bytes_(cols) {
  if (layout == CodeLayout::kInt8) {
    integers_.emplace(table_);
  } else {
    row_bytes_ = table_.bits() * words_for_bits(cols) * sizeof(std::uint64_t);
  }
}

void RowEncoder::operator()(MatrixView<const float> x, std::byte* y) const {
  if (integers_) {
    auto* const q = reinterpret_cast<std::int8_t*>(y);
    kernels::encode_int8(x, *integers_, {q, x.rows(), x.cols(), x.cols()});
  } else {
    auto* const words = reinterpret_cast<std::uint64_t*>(y);
    kernels::encode(x, table_, {words, x.rows() * row_bytes_ / sizeof(*words)});
  }
}

}  // namespace halftone::runtime
