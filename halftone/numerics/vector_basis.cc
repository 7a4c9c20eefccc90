// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/vector_basis.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "halftone/base/error.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::numerics {
namespace {

constexpr int kMaxRowSum = 127;
constexpr float kMaxScale = 252;

/// A shipped matrix, [d, D] by rows.
struct ShippedMatrix {
  std::string_view rate;
  int numbers;
  int signs;
  std::array<std::int8_t, 40> elements;

  [[nodiscard]] std::span<const std::int8_t> matrix() const {
    return std::span(elements).first(static_cast<std::size_t>(numbers) *
                                     static_cast<std::size_t>(signs));
  }
};

// With the least mean squared error of normal numbers of variance 1 at the best scale.
constexpr ShippedMatrix kShipped[] = {
    {"4x8", 4, 8, {0,  26, 16, 6,  -35, -18, -16, 7,  -13, 4, -33, -2, 5, -23, 1,   27,
                   16, 27, -9, 19, -1,  18,  27,  10, -32, 1, 8,   26, 7, 18,  -15, 16}},
    {"4x9", 4, 9, {-5, 12,  -11, -20, 17, -10, 8,  -32, -7,  7,  -4,  -19,
                   13, 10,  -10, -27, 4,  -21, 19, 17,  19,  3,  -13, 9,
                   1,  -10, -28, -15, 24, -1,  -8, -18, -28, -5, 11,  3}},
    {"4x10", 4, 10, {4,   14, 20,  -24, -18, 0,  12,  0,   9,  0,   24,  1,   -4, -10,
                     -10, -8, -25, -3,  -5,  17, 6,   -10, 8,  -8,  20,  -16, 2,  -25,
                     13,  -5, -1,  -12, 21,  7,  -10, 11,  -9, -15, -21, -15}},
    {"2x6", 2, 6, {14, 26, 42, 7, -3, -21, 13, 29, -13, -35, -25, 7}},
    {"2x7", 2, 7, {-33, -3, 5, -21, 18, 28, 9, 6, -31, -16, -10, -10, 17, -32}},
    {"2x8", 2, 8, {11, -5, -1, -26, 28, -16, 31, 9, -28, -14, 24, -30, -8, -1, 2, -19}},
    {"2x10", 2, 10, {43, -1, 31, 0, 19, 6, 6, 0, 9, -5, 0, 45, -6, 28, 0, 17, 3, 11, 8, 4}},
};

constexpr auto kRates = [] {
  std::array<std::string_view, std::size(kShipped)> rates;
  std::ranges::transform(kShipped, rates.begin(), &ShippedMatrix::rate);
  return rates;
}();

/// D of a matrix [d, D], if d x D is a rate; else 0.
int signs_of(int numbers, std::size_t elements) {
  for (const ShippedMatrix& each : kShipped) {
    if (each.numbers == numbers && each.matrix().size() == elements) return each.signs;
  }
  return 0;
}

void check_rows(std::span<const std::int8_t> matrix, std::size_t signs) {
  for (std::size_t first = 0; first < matrix.size(); first += signs) {
    int sum = 0;
    for (const int entry : matrix.subspan(first, signs)) sum += std::abs(entry);
    if (sum > kMaxRowSum) {
      fail(ErrorKind::kFormat, "vector basis: row " + std::to_string(first / signs) +
                                   ": expected magnitudes that sum to at most 127, found " +
                                   std::to_string(sum));
    }
  }
}

/// P b for the signs of a code.
std::int8_t signed_sum(std::span<const std::int8_t> row, std::size_t code) {
  int sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) sum += (code >> k & 1) != 0 ? row[k] : -row[k];
  return static_cast<std::int8_t>(sum);
}

/// Where the search for numbers begins in a table of 2^bits places.
std::size_t hash_of(std::span<const std::int8_t> numbers, int bits) {
  std::uint32_t key = 0;
  std::memcpy(&key, numbers.data(), numbers.size());
  constexpr std::uint32_t kGoldenRatio = 0x9E3779B1;
  return key * kGoldenRatio >> (32 - bits);
}

/// Places per code, so that searches are short.
constexpr int kPlaceBits = 2;
constexpr std::uint16_t kNoCode = 0xFFFF;

void unpack_block_of_vectors(const BlockEncoding& encoding, const std::byte* bytes,
                             const CodeBlock& block) {
  const VectorBasis& basis = *encoding.basis;
  const auto d = static_cast<std::size_t>(basis.numbers());
  block.scales[0] = encoding.factor * e3m5_number(std::to_integer<std::uint8_t>(bytes[0]));
  BitReader codes(bytes + 1);
  for (std::size_t i = 0; i < encoding.block / d; ++i) {
    std::memcpy(block.codes + i * d, basis.codeword(codes.take(basis.signs())).data(), d);
  }
}

}  // namespace

VectorBasis::VectorBasis(int numbers, std::span<const std::int8_t> matrix)
    : numbers_(numbers),
      signs_(signs_of(numbers, matrix.size())),
      matrix_(matrix.begin(), matrix.end()) {
  if (signs_ == 0) {
    fail(ErrorKind::kFormat,
         "vector basis: expected a matrix of 4 numbers by 8, 9 or 10 signs or of 2 by 6, 7, 8 or "
         "10, found " +
             std::to_string(numbers) + " numbers and " + std::to_string(matrix.size()) +
             " elements");
  }
  const auto signs = static_cast<std::size_t>(signs_);
  check_rows(matrix, signs);
  for (std::size_t code = 0; code < num_codes(); ++code) {
    for (std::size_t first = 0; first < matrix.size(); first += signs) {
      codewords_.push_back(signed_sum(matrix.subspan(first, signs), code));
    }
  }
  places_.assign(num_codes() << kPlaceBits, kNoCode);
  for (std::size_t code = 0; code < num_codes(); ++code) {
    std::size_t place = hash_of(codeword(code), signs_ + kPlaceBits);
    while (places_[place] != kNoCode &&
           !std::ranges::equal(codeword(places_[place]), codeword(code))) {
      place = (place + 1) % places_.size();
    }
    if (places_[place] == kNoCode) places_[place] = static_cast<std::uint16_t>(code);
  }
}

std::optional<std::uint16_t> VectorBasis::code_of(std::span<const std::int8_t> numbers) const {
  HALFTONE_ASSERT(numbers.size() == static_cast<std::size_t>(numbers_));
  std::size_t place = hash_of(numbers, signs_ + kPlaceBits);
  for (; places_[place] != kNoCode; place = (place + 1) % places_.size()) {
    if (std::memcmp(codeword(places_[place]).data(), numbers.data(), numbers.size()) == 0) {
      return places_[place];
    }
  }
  return std::nullopt;
}

std::string VectorBasis::rate() const {
  return std::to_string(numbers_) + "x" + std::to_string(signs_);
}

std::span<const std::string_view> vector_rates() { return kRates; }

std::shared_ptr<const VectorBasis> shipped_vector_basis(std::string_view rate) {
  static const auto all = [] {
    std::array<std::shared_ptr<const VectorBasis>, std::size(kShipped)> bases;
    std::ranges::transform(kShipped, bases.begin(), [](const ShippedMatrix& each) {
      return std::make_shared<const VectorBasis>(each.numbers, each.matrix());
    });
    return bases;
  }();
  const auto found = std::ranges::find(kRates, rate);
  return found == kRates.end() ? nullptr : all[static_cast<std::size_t>(found - kRates.begin())];
}

VectorEncoding::VectorEncoding(std::shared_ptr<const VectorBasis> shared, float factor_in)
    : basis_(std::move(shared)), name_("vector " + basis_->rate()) {
  if (!(factor_in > 0) || !std::isfinite(factor_in * kMaxScale * kMaxRowSum)) {
    fail(ErrorKind::kFormat, name_ +
                                 ": factor of the scales: expected a number above 0 whose products "
                                 "are finite, found " +
                                 std::to_string(factor_in));
  }
  name = name_;
  block = kBlock;
  block_bytes = 1 + codes_per_block() * static_cast<std::size_t>(basis_->signs()) / 8;
  group = kBlock;
  unpack = unpack_block_of_vectors;
  scales = GroupScales::kE3m5;
  basis = basis_.get();
  factor = factor_in;
}

void VectorEncoding::pack_codes(std::span<const std::uint16_t> codes, float scale,
                                std::byte* bytes) const {
  HALFTONE_ASSERT(codes.size() == codes_per_block());
  bytes[0] = static_cast<std::byte>(e3m5_code(scale));
  BitWriter writer(bytes + 1);
  for (const std::uint16_t code : codes) {
    HALFTONE_ASSERT(code < basis_->num_codes());
    writer.put(code, basis_->signs());
  }
}

float VectorEncoding::unpack_codes(const std::byte* bytes, std::span<std::uint16_t> codes) const {
  HALFTONE_ASSERT(codes.size() == codes_per_block());
  BitReader reader(bytes + 1);
  for (std::uint16_t& code : codes) {
    code = static_cast<std::uint16_t>(reader.take(basis_->signs()));
  }
  return e3m5_number(std::to_integer<std::uint8_t>(bytes[0]));
}

}  // namespace halftone::numerics
