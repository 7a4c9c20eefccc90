// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/stored_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/numerics/minifloat.h"

namespace halftone::numerics {
namespace {

/// What sets the types apart.
struct TypeTraits {
  NumberType type;
  std::string_view name;
  int bits;
  bool has_sign;
  int low;  ///< of integers; else 0
  int high;
};

constexpr TypeTraits kTypes[] = {
    {NumberType::kFloat32, "float32", 32, true, 0, 0},
    {NumberType::kFloat16, "float16", 16, true, 0, 0},
    {NumberType::kBfloat16, "bfloat16", 16, true, 0, 0},
    {NumberType::kE8m0, "e8m0", 8, false, 0, 0},
    {NumberType::kE4m3, "e4m3", 8, true, 0, 0},
    {NumberType::kE3m5, "e3m5", 8, false, 0, 0},
    {NumberType::kUint4, "uint4", 4, false, 0, 15},
    {NumberType::kUint6, "uint6", 6, false, 0, 63},
    {NumberType::kInt6, "int6", 6, true, -32, 31},
    {NumberType::kInt8, "int8", 8, true, -128, 127},
};

const TypeTraits& traits_of(NumberType type) {
  return *std::ranges::find(kTypes, type, &TypeTraits::type);
}

constexpr int kE8m0Bias = 127;
constexpr int kE8m0Largest = 254;
constexpr int kE3m5Steps = 32;

/// The exponent of the power of two nearest to x on the logarithmic scale. @pre x > 0
int nearest_exponent(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  constexpr double kMiddle = 0.70710678118654752;    // 2^(-1/2)
  return mantissa < kMiddle ? exponent - 1 : exponent;
}

/// The largest float of a float type in place of one beyond.
float bounded(NumberType type, double x) {
  const double most = type == NumberType::kFloat16    ? largest(kBinary16)
                      : type == NumberType::kBfloat16 ? largest(kE8M7)
                                                      : 0x1.fffffep127;
  return static_cast<float>(std::clamp(x, -most, most));
}

std::uint32_t code_of(NumberType type, double x) {
  switch (type) {
    case NumberType::kFloat32:
      return std::bit_cast<std::uint32_t>(bounded(type, x));
    case NumberType::kFloat16:
      return half_from_float(bounded(type, x));
    case NumberType::kBfloat16:
      return encode(kE8M7, bounded(type, x));
    case NumberType::kE8m0:
      return x > 0 ? static_cast<std::uint32_t>(
                         std::clamp(nearest_exponent(x) + kE8m0Bias, 0, kE8m0Largest))
                   : 0;
    case NumberType::kE4m3:
      return encode(kE4M3, bounded(NumberType::kFloat32, x));
    case NumberType::kE3m5:
      return e3m5_code(x);
    case NumberType::kUint4:
    case NumberType::kUint6:
    case NumberType::kInt6:
    case NumberType::kInt8: {
      const TypeTraits& traits = traits_of(type);
      const double q = std::clamp(std::nearbyint(x), double(traits.low), double(traits.high));
      return static_cast<std::uint8_t>(static_cast<int>(q));
    }
  }
  return 0;
}

float number_of(NumberType type, std::uint32_t code) {
  switch (type) {
    case NumberType::kFloat32:
      return std::bit_cast<float>(code);
    case NumberType::kFloat16:
      return float_from_half(static_cast<std::uint16_t>(code));
    case NumberType::kBfloat16:
      return float_from_bfloat16(static_cast<std::uint16_t>(code));
    case NumberType::kE8m0:
      return std::ldexp(1.0F, static_cast<int>(code) - kE8m0Bias);
    case NumberType::kE4m3:
      return decode(kE4M3, code);
    case NumberType::kE3m5:
      return e3m5_number(static_cast<std::uint8_t>(code));
    case NumberType::kUint4:
    case NumberType::kUint6:
      return static_cast<float>(code);
    case NumberType::kInt6:
    case NumberType::kInt8:
      return static_cast<float>(static_cast<std::int8_t>(code));
  }
  return 0;
}

std::size_t code_bytes(NumberType type) {
  return static_cast<std::size_t>(stored_bits(type) + 7) / 8;
}

std::size_t divide_up(std::size_t n, std::size_t by) { return n / by + (n % by != 0); }

std::uint32_t load(std::span<const std::byte> bytes, NumberType type, std::size_t i) {
  std::uint32_t code = 0;
  const std::size_t width = code_bytes(type);
  std::memcpy(&code, bytes.data() + i * width, width);
  return code;
}

void store(std::span<std::byte> bytes, NumberType type, std::size_t i, std::uint32_t code) {
  const std::size_t width = code_bytes(type);
  std::memcpy(bytes.data() + i * width, &code, width);
}

}  // namespace

std::uint8_t e3m5_code(double x) {
  const double bounded = std::clamp(x, 1.0, 252.0);
  int exponent = std::ilogb(bounded);
  auto mantissa =
      static_cast<int>(std::nearbyint((std::ldexp(bounded, -exponent) - 1) * kE3m5Steps));
  if (mantissa == kE3m5Steps) {
    mantissa = 0;
    ++exponent;
  }
  return static_cast<std::uint8_t>(exponent * kE3m5Steps + mantissa);
}

float e3m5_number(std::uint8_t code) {
  constexpr std::uint32_t kBitsOfOne = 127U << 23;
  return std::bit_cast<float>(kBitsOfOne + (std::uint32_t{code} << 18));
}

std::string_view to_string(NumberType type) { return traits_of(type).name; }

std::optional<NumberType> number_type_from(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &TypeTraits::name);
  if (found == std::end(kTypes)) return std::nullopt;
  return found->type;
}

int stored_bits(NumberType type) { return traits_of(type).bits; }
bool is_integer(NumberType type) { return traits_of(type).high != 0; }
bool has_sign(NumberType type) { return traits_of(type).has_sign; }
float round_to(NumberType type, double x) { return number_of(type, code_of(type, x)); }
float largest(NumberType type) { return round_to(type, std::numeric_limits<double>::max()); }

float smallest(NumberType type) {
  // Codes ascend with numbers from 0, which is code 0 unless there is no zero.
  const float first = number_of(type, 0);
  return first != 0 ? first : number_of(type, 1);
}

float least_scale(NumberType type) {
  switch (type) {
    case NumberType::kFloat32:
    case NumberType::kFloat16:
    case NumberType::kBfloat16:
      return 0x1p-24F;
    case NumberType::kE8m0:
    case NumberType::kE4m3:
      return number_of(type, type == NumberType::kE8m0 ? 0 : 1);
    case NumberType::kE3m5:
    case NumberType::kUint4:
    case NumberType::kUint6:
    case NumberType::kInt6:
    case NumberType::kInt8:
      return 1;
  }
  return 1;
}

StoredNumbers::StoredNumbers(NumberType type, std::size_t count)
    : type_(type), size_(count), bytes_(count * code_bytes(type)) {
  if (type == NumberType::kE8m0 || type == NumberType::kE3m5) {
    for (std::size_t i = 0; i < count; ++i) store(bytes_, type_, i, code_of(type_, 1));
  }
}

StoredNumbers::StoredNumbers(NumberType type, std::size_t count, NumberType factor_type,
                             FactorSharing sharing)
    : StoredNumbers(type, count) {
  HALFTONE_ASSERT(sharing.row == 0 || (sharing.share != 0 && count % sharing.row == 0));
  factor_type_ = factor_type;
  sharing_ = sharing;
  const std::size_t factors = sharing.share == 0 ? 1 : count == 0 ? 0 : factor_index(count - 1) + 1;
  factors_.resize(factors * code_bytes(factor_type));
  for (std::size_t f = 0; f < factors; ++f) set_factor(f, 1);
}

StoredNumbers StoredNumbers::of(std::span<const float> numbers) {
  StoredNumbers result(NumberType::kFloat32, numbers.size());
  std::ranges::copy(std::as_bytes(numbers), result.bytes_.begin());
  return result;
}

std::size_t StoredNumbers::num_factors() const {
  return factors_.size() / code_bytes(factor_type_);
}

float StoredNumbers::operator[](std::size_t i) const {
  HALFTONE_ASSERT(i < size_);
  const float number = number_of(type_, load(bytes_, type_, i));
  return has_factors() ? number * factor_of(i) : number;
}

void StoredNumbers::set(std::size_t i, double x) {
  HALFTONE_ASSERT(i < size_ && std::isfinite(x));
  if (has_factors()) {
    const double shared = factor_of(i);
    x = shared == 0 ? 0 : x / shared;
  }
  store(bytes_, type_, i, code_of(type_, x));
}

float StoredNumbers::factor(std::size_t f) const {
  HALFTONE_ASSERT(f < num_factors());
  return number_of(factor_type_, load(factors_, factor_type_, f));
}

float StoredNumbers::factor_of(std::size_t i) const {
  if (!has_factors()) return 1;
  return factor(factor_index(i));
}

std::size_t StoredNumbers::factor_index(std::size_t i) const {
  const auto [share, row] = sharing_;
  if (share == 0) return 0;
  if (row == 0) return i / share;
  return i / row * divide_up(row, share) + i % row / share;
}

void StoredNumbers::set_factors_for(std::span<const double> numbers) {
  HALFTONE_ASSERT(numbers.size() == size_);
  const double least = std::max(std::numeric_limits<float>::min(), smallest(factor_type_));
  std::vector<double> most(num_factors());
  for (std::size_t i = 0; i < size_; ++i) {
    double& own = most[factor_index(i)];
    if (std::abs(numbers[i]) > std::abs(own)) own = numbers[i];
  }
  for (std::size_t f = 0; f < most.size(); ++f) {
    const double size = std::max(std::abs(most[f]) / largest(type_), least);
    set_factor(f, most[f] == 0 ? 1 : std::copysign(size, has_sign(type_) ? 1 : most[f]));
  }
}

void StoredNumbers::set_factor(std::size_t f, double x) {
  HALFTONE_ASSERT(f < num_factors() && std::isfinite(x));
  store(factors_, factor_type_, f, code_of(factor_type_, x));
}

StoredNumbers StoredNumbers::slice(std::size_t first, std::size_t count) const {
  HALFTONE_ASSERT(first + count <= size_);
  StoredNumbers part;
  part.type_ = type_;
  part.size_ = count;
  const auto cut = [](const std::vector<std::byte>& bytes, std::size_t width, std::size_t begin,
                      std::size_t end) {
    return std::vector<std::byte>(bytes.begin() + static_cast<std::ptrdiff_t>(begin * width),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(end * width));
  };
  part.bytes_ = cut(bytes_, code_bytes(type_), first, first + count);
  if (!has_factors()) return part;
  const auto [share, row] = sharing_;
  part.factor_type_ = factor_type_;
  part.sharing_ = sharing_;
  if (share == 0) {
    part.factors_ = factors_;
    return part;
  }
  HALFTONE_ASSERT(row == 0 ? first % share == 0 : first % row == 0 && count % row == 0);
  const std::size_t end = count == 0 ? 0 : factor_index(first + count - 1) + 1;
  part.factors_ =
      cut(factors_, code_bytes(factor_type_), count == 0 ? 0 : factor_index(first), end);
  return part;
}

StoredNumbers StoredNumbers::compact() const {
  if (size_ == 0 || type_ != NumberType::kFloat32 || has_factors()) return *this;
  std::vector<float> numbers(size_);
  std::memcpy(numbers.data(), bytes_.data(), bytes_.size());
  const auto halves = exact_halves(numbers);
  if (!halves) return *this;
  StoredNumbers result(NumberType::kFloat16, size_);
  std::memcpy(result.bytes_.data(), halves->data(), result.bytes_.size());
  return result;
}

std::size_t StoredNumbers::stored_bits() const {
  return size_ * static_cast<std::size_t>(numerics::stored_bits(type_)) +
         num_factors() * static_cast<std::size_t>(numerics::stored_bits(factor_type_));
}

bool StoredNumbers::operator==(const StoredNumbers& other) const {
  if (size_ != other.size_) return false;
  for (std::size_t i = 0; i < size_; ++i) {
    if ((*this)[i] != other[i]) return false;
  }
  return true;
}

bool StoredNumbers::all_finite() const {
  for (std::size_t i = 0; i < size_; ++i) {
    if (!std::isfinite((*this)[i])) return false;
  }
  return true;
}

}  // namespace halftone::numerics
