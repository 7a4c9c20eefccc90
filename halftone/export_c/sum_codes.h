// SPDX-License-Identifier: Apache-2.0
// Codes of outputs by comparisons of integers, where an output follows from one integer sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/ops/activation.h"
#include "halftone/kernels/encode/encode_table.h"

namespace halftone::export_c {

/// How many thresholds of an encoder are below a number, after limits.
class LevelCounter {
 public:
  LevelCounter(const kernels::EncodeTable& table, const ir::Limits& limits);

  [[nodiscard]] std::size_t levels() const { return thresholds_.size(); }
  [[nodiscard]] std::size_t operator()(double y) const;

 private:
  std::vector<double> thresholds_;
  ir::Limits limits_;
};

/// The float32 output that the runtime computes for an integer sum S:
///     |y - (slope S + intercept)| <= error
struct OutputOfSum {
  double slope = 0;
  double intercept = 0;
  double error = 0;
};

/// Bounds what float32 rounds in a sum that is added up term by term.
class RoundedSum {
 public:
  /// Adds a term. @param reach  upper bound of its amount
  /// @param roundings  of the term itself
  /// @param error      of the term besides, in units of 2^-24
  void add(double reach, int roundings, double error = 0);
  [[nodiscard]] double reach() const { return reach_; }
  /// In units of 2^-24.
  [[nodiscard]] double error() const { return error_; }

 private:
  double reach_ = 0;
  double error_ = 0;
};

/// A sum so close to a threshold that the bound of the error does not tell the code.
struct UnsureSum {
  std::size_t row = 0;  ///< index of the output, and of the padding pattern before it
  std::int32_t sum = 0;
};

struct SumCodes {
  /// [rows, levels], ascending: the level is how many of them S reaches, or does not reach where
  /// the slope is negative.
  std::vector<std::int16_t> thresholds;
  std::vector<bool> falls;        ///< [rows] whether the slope is negative
  std::vector<UnsureSum> unsure;  ///< sums whose code may be another
};

/// Finds the thresholds of each output by bisection.
/// @param outputs  [rows]
/// @param largest  of |S|
/// @return nothing if thresholds do not fit 16 bits or too many sums are unsure
std::optional<SumCodes> find_sum_codes(std::span<const OutputOfSum> outputs, std::int64_t largest,
                                       const LevelCounter& counter);

}  // namespace halftone::export_c
