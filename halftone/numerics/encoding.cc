// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/encoding.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/base/error.h"

namespace halftone::numerics {

std::string_view to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::kTensor:
      return "tensor";
    case Granularity::kChannel:
      return "channel";
    case Granularity::kGroup:
      return "group";
  }
  return "unknown";
}

std::size_t BasisEncoding::groups_per_row(std::size_t cols) const {
  if (granularity != Granularity::kGroup) return 1;
  return cols / group_size + (cols % group_size != 0);
}

std::size_t BasisEncoding::num_bases(std::size_t rows, std::size_t cols) const {
  return granularity == Granularity::kTensor ? 1 : rows * groups_per_row(cols);
}

const Basis& BasisEncoding::basis(std::size_t row, std::size_t group, std::size_t cols) const {
  if (granularity == Granularity::kTensor) return bases.front();
  return bases[row * groups_per_row(cols) + group];
}

void BasisEncoding::check(std::size_t rows, std::size_t cols) const {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) fail(ErrorKind::kShape, "basis encoding: " + message);
  };
  require(bits >= 1 && bits <= kMaxBits,
          "expected 1 to " + std::to_string(kMaxBits) + " bits, found " + std::to_string(bits));
  require((granularity == Granularity::kGroup) == (group_size != 0),
          "a group size of " + std::to_string(group_size) + " does not go with granularity " +
              std::string(to_string(granularity)));
  require(bases.size() == num_bases(rows, cols),
          "a matrix of " + std::to_string(rows) + " x " + std::to_string(cols) + " needs " +
              std::to_string(num_bases(rows, cols)) + " bases, found " +
              std::to_string(bases.size()));
  for (const Basis& each : bases) {
    require(each.bits == bits, "expected bases of " + std::to_string(bits) + " bits, found " +
                                   std::to_string(each.bits));
    require(has_offset || each.offset == 0, "an offset where none is declared");
    const bool finite = std::isfinite(each.offset) &&
                        std::all_of(each.a().begin(), each.a().end(),
                                    [](float coefficient) { return std::isfinite(coefficient); });
    require(finite, "a coefficient that is not finite");
  }
}

BasisEncoding tensor_encoding(const Basis& basis) {
  BasisEncoding encoding;
  encoding.bits = basis.bits;
  encoding.has_offset = basis.offset != 0;
  encoding.bases = {basis};
  return encoding;
}

BitPlanes::BitPlanes(std::size_t num_rows, std::size_t num_cols, int num_bits)
    : rows(num_rows),
      cols(num_cols),
      bits(num_bits),
      planes(num_rows * static_cast<std::size_t>(num_bits), num_cols) {}

Code BitPlanes::code(std::size_t row, std::size_t col) const {
  unsigned code = 0;
  for (int j = 0; j < bits; ++j) code |= unsigned{planes.test(plane(row, j), col)} << j;
  return static_cast<Code>(code);
}

void BitPlanes::set_code(std::size_t row, std::size_t col, Code code) {
  for (int j = 0; j < bits; ++j) planes.set(plane(row, j), col, (code >> j & 1) != 0);
}

BitPlanes encode(MatrixView<const float> values, const BasisEncoding& encoding) {
  encoding.check(values.rows(), values.cols());
  BitPlanes codes(values.rows(), values.cols(), encoding.bits);
  std::vector<LevelTable> tables;
  tables.reserve(encoding.bases.size());
  for (const Basis& basis : encoding.bases) tables.emplace_back(basis);
  for_each_block(encoding, values.rows(), values.cols(),
                 [&](std::size_t index, std::size_t row, std::size_t first, std::size_t count) {
                   for (std::size_t col = first; col < first + count; ++col) {
                     codes.set_code(row, col, tables[index].encode(values(row, col)));
                   }
                 });
  return codes;
}

std::vector<float> decode(const BitPlanes& codes, const BasisEncoding& encoding) {
  encoding.check(codes.rows, codes.cols);
  if (codes.bits != encoding.bits) {
    fail(ErrorKind::kShape, "decode: expected codes of " + std::to_string(encoding.bits) +
                                " bits, found " + std::to_string(codes.bits));
  }
  std::vector<float> values(codes.rows * codes.cols);
  for_each_block(encoding, codes.rows, codes.cols,
                 [&](std::size_t index, std::size_t row, std::size_t first, std::size_t count) {
                   const Basis& basis = encoding.bases[index];
                   for (std::size_t col = first; col < first + count; ++col) {
                     values[row * codes.cols + col] = basis.value(codes.code(row, col));
                   }
                 });
  return values;
}

}  // namespace halftone::numerics
