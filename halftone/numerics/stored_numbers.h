// SPDX-License-Identifier: Apache-2.0
// Scales and other real numbers, stored in few bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace halftone::numerics {

/// How a real number is stored.
enum class NumberType : std::uint8_t {
  kFloat32,
  kFloat16,   ///< IEEE 754 binary16
  kBfloat16,  ///< the upper half of a float32
  kE8m0,      ///< 2^(code - 127), codes 0 to 254. Source: OCP MX 1.0, section 5.4.1
  kE4m3,      ///< see kE4M3 in minifloat.h
  kE3m5,      ///< 2^e (1 + m / 32), 3 bits of e, 5 bits of m: 1 to 252; no zero and no sign
  kUint4,     ///< 0 to 15
  kUint6,     ///< 0 to 63
  kInt6,      ///< -32 to 31
  kInt8,      ///< -128 to 127
};

std::string_view to_string(NumberType type);  ///< "float32", "e8m0", ...
/// The type of this name, or none.
std::optional<NumberType> number_type_from(std::string_view name);
/// Bits of one number in a file.
int stored_bits(NumberType type);
bool is_integer(NumberType type);
/// Whether there are negative numbers of this type.
bool has_sign(NumberType type);
/// The number of this type nearest to x, ties to even; for kE8m0 nearest on the logarithmic scale.
/// Numbers beyond the largest become the largest. @pre x is finite
float round_to(NumberType type, double x);
/// A small number above 0 of this type, for blocks that are all zero: the smallest, or 2^-24 if
/// there are smaller ones, which binary16 holds too.
float least_scale(NumberType type);
/// The code of the number of e3m5 nearest to x, and the number of a code: 2^(code / 32) (1 + (code
/// mod 32) / 32). @pre x is finite
std::uint8_t e3m5_code(double x);
float e3m5_number(std::uint8_t code);
float largest(NumberType type);   ///< finite
float smallest(NumberType type);  ///< above zero

/// Which numbers of an array share a factor.
struct FactorSharing {
  std::size_t share = 0;  ///< neighbouring numbers of a factor; 0: one factor for all
  std::size_t row = 0;    ///< numbers after which a new factor begins in any case; 0: none
  bool operator==(const FactorSharing&) const = default;
};

/// An array of numbers of one type. Numbers of a small type may share factors:
///
///     number i of a row = fl(code i * factor of i / share)
///
/// as the scales of NVFP4 (E4M3, one float32 for all) and of llama.cpp's K-quants (6 or 8 bits, one
/// float16 for 8 or 16 groups of a row) do. Each number occupies the bytes of its code.
class StoredNumbers {
 public:
  StoredNumbers() = default;
  /// Zeros; ones for types without a zero.
  explicit StoredNumbers(NumberType type, std::size_t count = 0);
  /// The same with factors of one. @pre row divides count
  StoredNumbers(NumberType type, std::size_t count, NumberType factor_type, FactorSharing sharing);
  /// Numbers stored as they are.
  static StoredNumbers of(std::span<const float> numbers);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] NumberType type() const { return type_; }
  [[nodiscard]] bool has_factors() const { return !factors_.empty(); }
  [[nodiscard]] NumberType factor_type() const { return factor_type_; }
  [[nodiscard]] FactorSharing sharing() const { return sharing_; }
  [[nodiscard]] std::size_t num_factors() const;

  [[nodiscard]] float operator[](std::size_t i) const;
  /// Stores the nearest number, for the factor as it is. @pre x is finite
  void set(std::size_t i, double x);
  [[nodiscard]] float factor(std::size_t f) const;
  /// The index of the factor of number i. @pre has_factors()
  [[nodiscard]] std::size_t factor_index(std::size_t i) const;
  /// The factor of number i; 1 if there are none.
  [[nodiscard]] float factor_of(std::size_t i) const;
  void set_factor(std::size_t f, double x);
  /// Sets every factor so that the largest magnitude of its numbers is the largest of the type;
  /// but 1 if they are all zero, and no less than what a float32 or the type holds well. If the
  /// type has no sign, the factor has that of this number. The numbers are yet to be set.
  /// @param numbers  [size()] finite
  void set_factors_for(std::span<const double> numbers);

  /// The numbers [first, first + count), which share no factor with others, or one with all.
  [[nodiscard]] StoredNumbers slice(std::size_t first, std::size_t count) const;
  /// The same numbers as binary16, if these are float32 and binary16 holds each exactly.
  [[nodiscard]] StoredNumbers compact() const;

  /// As in memory and in files: little-endian, one byte for types of up to 8 bits.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
  [[nodiscard]] std::span<const std::byte> factor_bytes() const { return factors_; }
  [[nodiscard]] std::span<std::byte> factor_bytes() { return factors_; }
  /// Bits of the numbers and their factors in a file.
  [[nodiscard]] std::size_t stored_bits() const;
  [[nodiscard]] bool all_finite() const;

  /// Whether the numbers are equal, however they are stored.
  bool operator==(const StoredNumbers& other) const;

 private:
  NumberType type_ = NumberType::kFloat32;
  std::size_t size_ = 0;
  std::vector<std::byte> bytes_;
  NumberType factor_type_ = NumberType::kFloat32;
  FactorSharing sharing_;
  std::vector<std::byte> factors_;
};

}  // namespace halftone::numerics
