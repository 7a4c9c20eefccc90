// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/kernels/groups/multiply_groups.h"

namespace halftone::kernels {
namespace {

void encode_inputs_reference(std::span<const float> x, const EncodedRows& to, std::size_t row,
                             std::size_t begin) {
  float largest = 0;
  bool finite = true;
  for (const float value : x) {
    finite = finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  const float factor = 127 / largest;
  const bool zero = !finite || std::isinf(factor);
  for (std::size_t i = 0; i < x.size(); ++i) {
    to.codes(row)[to.extents().place(begin + i)] =
        zero ? std::int8_t{0} : static_cast<std::int8_t>(std::lrint(x[i] * factor));
  }
  const std::size_t piece = to.extents().piece();
  const std::size_t last = std::min(begin + to.extents().encoding(), to.extents().padded_cols());
  for (std::size_t i = begin + x.size(); i < last; ++i) {
    to.codes(row)[to.extents().place(i)] = 0;
  }
  for (std::size_t p = begin / piece; p < last / piece; ++p) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < piece; ++i) sum += to.codes(row)[p * piece + i];
    const float scale = !finite ? std::numeric_limits<float>::quiet_NaN()
                        : zero  ? 0
                                : largest / 127;
    to.scales(row)[p] = scale;
    to.sums(row)[p] = sum;
    to.shares(row)[p] = scale * static_cast<float>(sum);
  }
}

/// Weights of one row.
struct GroupRow {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<float> offsets;
};

float multiply_row_reference(const GroupRow& w, const EncodedRows& x, std::size_t row) {
  const GroupExtents& extents = x.extents();
  const std::size_t piece = extents.piece();
  float acc = 0;
  for (std::size_t p = 0; p < extents.num_groups() * extents.group / piece; ++p) {
    std::int32_t sum = 0;
    for (std::size_t i = p * piece; i < std::min((p + 1) * piece, extents.cols); ++i) {
      sum += w.codes[i] * x.codes(row)[extents.place(i)];
    }
    const std::size_t g = p * piece / extents.group;
    const float scale = w.scales[g] * x.scales(row)[p];
    const float product = scale * static_cast<float>(sum);
    acc = acc + product;
    if (w.offsets.empty()) continue;
    const float share = w.offsets[g] * x.shares(row)[p];
    acc = acc + share;
  }
  return acc;
}

}  // namespace

void encode_group_rows_reference(MatrixView<const float> values, BlockRange rows,
                                 const EncodedRows& to) noexcept {
  const GroupExtents& extents = to.extents();
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t begin = 0; begin < extents.padded_cols(); begin += extents.encoding()) {
      const std::size_t first = std::min(begin, extents.cols);
      const std::size_t count = std::min(extents.encoding(), extents.cols - first);
      encode_inputs_reference(values.row(row).subspan(first, count), to, row, begin);
    }
  }
}

void multiply_groups_reference(const GroupCodes& format, const PackedGroups::Unpack& unpack,
                               const EncodedRows& x, MatrixView<float> y) {
  const GroupExtents& extents = x.extents();
  GroupRow w;
  w.codes.resize(extents.cols);
  w.scales.resize(extents.num_groups());
  w.offsets.resize(format.has_offsets ? extents.num_groups() : 0);
  for (std::size_t o = 0; o < y.cols(); ++o) {
    unpack(o, w.codes, w.scales, w.offsets);
    for (std::size_t row = 0; row < x.rows(); ++row) y(row, o) = multiply_row_reference(w, x, row);
  }
}

}  // namespace halftone::kernels
