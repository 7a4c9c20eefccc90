// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/encoding.h"

#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/numerics/integer_grid.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::numerics {
namespace {

bool are_equal(const std::shared_ptr<const VectorBasis>& a,
               const std::shared_ptr<const VectorBasis>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

/// Whether the levels of an encoding can be the numbers of codewords.
bool fits_vectors(const MatrixEncoding& encoding) {
  const auto d = static_cast<std::size_t>(encoding.vectors->numbers());
  return encoding.codebook != nullptr && encoding.codebook->name() == "int" && encoding.bits == 8 &&
         !encoding.has_offset && encoding.granularity == Granularity::kGroup &&
         encoding.group_size % d == 0;
}

}  // namespace

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

std::size_t MatrixEncoding::groups_per_row(std::size_t cols) const {
  if (granularity != Granularity::kGroup) return 1;
  return cols / group_size + (cols % group_size != 0);
}

std::size_t MatrixEncoding::num_blocks(std::size_t rows, std::size_t cols) const {
  return granularity == Granularity::kTensor ? 1 : rows * groups_per_row(cols);
}

std::size_t MatrixEncoding::block(std::size_t row, std::size_t group, std::size_t cols) const {
  return granularity == Granularity::kTensor ? 0 : row * groups_per_row(cols) + group;
}

Levels MatrixEncoding::levels(std::size_t block) const {
  const float offset = has_offset ? offsets[block] : 0;
  if (codebook != nullptr) return {codebook, scales[block], offset};
  Basis basis;
  basis.bits = bits;
  basis.offset = offset;
  const auto k = static_cast<std::size_t>(bits);
  for (std::size_t i = 0; i < k; ++i) basis.coefficients[i] = scales[block * k + i];
  return basis;
}

bool MatrixEncoding::is_summed() const {
  return codebook == nullptr || !codebook->coefficients().empty();
}

int MatrixEncoding::weight_steps() const {
  return codebook == nullptr ? numerics::weight_steps(bits) : codebook->weight_steps();
}

bool MatrixEncoding::is_centred() const {
  if (has_offset) return false;
  return codebook == nullptr || codebook->sorted().front() == -codebook->sorted().back();
}

void MatrixEncoding::set_levels(std::size_t block, const Levels& levels) {
  HALFTONE_ASSERT(levels.codebook() == codebook.get() && levels.bits() == bits);
  HALFTONE_ASSERT(has_offset || levels.offset() == 0);
  if (codebook != nullptr) return set_scale(block, levels.scale(), levels.offset());
  if (has_offset) offsets.set(block, levels.offset());
  const Basis basis = levels.basis();
  const auto k = static_cast<std::size_t>(bits);
  for (std::size_t i = 0; i < k; ++i) scales.set(block * k + i, basis.coefficients[i]);
}

NumberType MatrixEncoding::number_type() const {
  const bool are_few = codebook == nullptr || granularity != Granularity::kGroup;
  return scales.type() == NumberType::kFloat16 && are_few ? NumberType::kFloat32 : scales.type();
}

MatrixEncoding MatrixEncoding::with_levels(std::span<const Levels> blocks) const {
  HALFTONE_ASSERT(blocks.size() == num_blocks());
  MatrixEncoding result = *this;
  if (number_type() == NumberType::kFloat32) {
    result.scales = StoredNumbers(NumberType::kFloat32, scales.size());
    result.offsets = StoredNumbers(NumberType::kFloat32, offsets.size());
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) result.set_levels(b, blocks[b]);
  return result.compact();
}

void MatrixEncoding::set_scale(std::size_t block, double scale, double offset) {
  HALFTONE_ASSERT(codebook != nullptr && (has_offset || offset == 0));
  scales.set(block, scale);
  if (scales[block] == 0) {
    const float of_type = scale == 0 ? least_scale(scales.type()) : smallest(scales.type());
    const double least = double{of_type} * scales.factor_of(block);
    scales.set(block, std::copysign(least, scale));
  }
  if (codebook->has_zero_points()) {
    const float stored = scales[block];
    offset = -double{stored * static_cast<float>(codebook->zero_point(double{stored}, offset))};
  }
  if (has_offset) offsets.set(block, offset);
}

void MatrixEncoding::allocate(std::size_t rows, std::size_t cols) {
  const std::size_t blocks = num_blocks(rows, cols);
  scales = StoredNumbers(NumberType::kFloat32, blocks * scales_per_block());
  offsets = StoredNumbers(NumberType::kFloat32, has_offset ? blocks : 0);
}

MatrixEncoding MatrixEncoding::slice(std::size_t first, std::size_t count) const {
  MatrixEncoding part = *this;
  part.scales = scales.slice(first * scales_per_block(), count * scales_per_block());
  if (has_offset) part.offsets = offsets.slice(first, count);
  return part;
}

MatrixEncoding MatrixEncoding::compact() const {
  MatrixEncoding result = *this;
  result.scales = scales.compact();
  result.offsets = offsets.compact();
  return result;
}

void MatrixEncoding::check(std::size_t rows, std::size_t cols) const {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) fail(ErrorKind::kShape, "encoding: " + message);
  };
  const int most = codebook == nullptr ? kMaxBits : kMaxCodeBits;
  require(bits >= 1 && bits <= most,
          "expected 1 to " + std::to_string(most) + " bits, found " + std::to_string(bits));
  require(codebook == nullptr || codebook->bits() == bits,
          "a codebook of other bits than " + std::to_string(bits));
  require((granularity == Granularity::kGroup) == (group_size != 0),
          "a group size of " + std::to_string(group_size) + " does not go with granularity " +
              std::string(to_string(granularity)));
  require(vectors == nullptr || fits_vectors(*this),
          "a vector basis: expected int of 8 bits in groups of whole codewords without offsets");
  const std::size_t blocks = num_blocks(rows, cols);
  const auto require_count = [&](const char* what, std::size_t found, std::size_t expected) {
    require(found == expected, "a matrix of " + std::to_string(rows) + " x " +
                                   std::to_string(cols) + " needs " + std::to_string(expected) +
                                   " " + what + ", found " + std::to_string(found));
  };
  require_count(codebook == nullptr ? "coefficients" : "scales", scales.size(),
                blocks * scales_per_block());
  require_count("offsets", offsets.size(), has_offset ? blocks : 0);
  for (const StoredNumbers* numbers : {&scales, &offsets}) {
    const std::size_t row = numbers->sharing().row;
    require(row == 0 || row == groups_per_row(cols), "factors of rows of " + std::to_string(row) +
                                                         " groups do not go with rows of " +
                                                         std::to_string(groups_per_row(cols)));
  }
  require(scales.all_finite() && offsets.all_finite(), "a scale or offset that is not finite");
  for (std::size_t i = 0; codebook != nullptr && i < blocks; ++i) {
    if (scales[i] != 0) continue;
    fail(ErrorKind::kShape,
         "encoding: scale of block " + std::to_string(i) + ": expected a number other than 0");
  }
}

bool MatrixEncoding::operator==(const MatrixEncoding& other) const {
  const bool same_codebook =
      codebook == other.codebook ||
      (codebook != nullptr && other.codebook != nullptr && *codebook == *other.codebook);
  return same_codebook && are_equal(vectors, other.vectors) && bits == other.bits &&
         has_offset == other.has_offset && granularity == other.granularity &&
         group_size == other.group_size && scales == other.scales && offsets == other.offsets;
}

std::string_view system_name(const MatrixEncoding& encoding) {
  if (encoding.codebook == nullptr) return "basis";
  if (encoding.vectors == nullptr) return encoding.codebook->name();
  const auto rates = vector_rates();
  const auto found = std::ranges::find(rates, encoding.vectors->rate());
  return found == rates.end() ? "vectors" : *found;
}

MatrixEncoding tensor_encoding(const Basis& basis) {
  return basis_encoding({&basis, 1}, basis.offset != 0, Granularity::kTensor);
}

MatrixEncoding basis_encoding(std::span<const Basis> bases, bool has_offset,
                              Granularity granularity, std::size_t group_size) {
  HALFTONE_ASSERT(!bases.empty());
  MatrixEncoding encoding;
  encoding.bits = bases.front().bits;
  encoding.has_offset = has_offset;
  encoding.granularity = granularity;
  encoding.group_size = group_size;
  encoding.scales = StoredNumbers(NumberType::kFloat32, bases.size() * encoding.scales_per_block());
  encoding.offsets = StoredNumbers(NumberType::kFloat32, has_offset ? bases.size() : 0);
  for (std::size_t i = 0; i < bases.size(); ++i) encoding.set_levels(i, bases[i]);
  return encoding;
}

BitPlanes::BitPlanes(std::size_t num_rows, std::size_t num_cols, int num_bits)
    : rows(num_rows),
      cols(num_cols),
      bits(num_bits),
      planes(num_rows * static_cast<std::size_t>(num_bits), num_cols) {}

BitPlanes BitPlanes::slice(std::size_t first, std::size_t count) const {
  BitPlanes part(count, cols, bits);
  const auto words = planes.words().subspan(plane(first, 0) * planes.row_words());
  std::ranges::copy(words.first(part.planes.words().size()), part.planes.words().begin());
  return part;
}

Code BitPlanes::code(std::size_t row, std::size_t col) const {
  unsigned code = 0;
  for (int j = 0; j < bits; ++j) code |= unsigned{planes.test(plane(row, j), col)} << j;
  return static_cast<Code>(code);
}

void BitPlanes::set_code(std::size_t row, std::size_t col, Code code) {
  for (int j = 0; j < bits; ++j) planes.set(plane(row, j), col, (code >> j & 1) != 0);
}

BitPlanes encode(MatrixView<const float> values, const MatrixEncoding& encoding) {
  encoding.check(values.rows(), values.cols());
  BitPlanes codes(values.rows(), values.cols(), encoding.bits);
  for_each_block(encoding, values.rows(), values.cols(),
                 [&](std::size_t block, std::size_t row, std::size_t first, std::size_t count) {
                   const BlockEncoder encoder(encoding.levels(block));
                   for (std::size_t col = first; col < first + count; ++col) {
                     codes.set_code(row, col, encoder.encode(values(row, col)));
                   }
                 });
  return codes;
}

std::vector<float> decode(const BitPlanes& codes, const MatrixEncoding& encoding) {
  std::vector<float> values(codes.rows * codes.cols);
  decode(codes, encoding, values);
  return values;
}

void decode(const BitPlanes& codes, const MatrixEncoding& encoding, std::span<float> values) {
  HALFTONE_ASSERT(values.size() == codes.rows * codes.cols);
  encoding.check(codes.rows, codes.cols);
  if (codes.bits != encoding.bits) {
    fail(ErrorKind::kShape, "decode: expected codes of " + std::to_string(encoding.bits) +
                                " bits, found " + std::to_string(codes.bits));
  }
  for_each_block(encoding, codes.rows, codes.cols,
                 [&](std::size_t block, std::size_t row, std::size_t first, std::size_t count) {
                   const Levels levels = encoding.levels(block);
                   for (std::size_t col = first; col < first + count; ++col) {
                     values[row * codes.cols + col] = levels.value(codes.code(row, col));
                   }
                 });
}

}  // namespace halftone::numerics
