// SPDX-License-Identifier: Apache-2.0
// Operators that reduce the elements along axes to one value.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

enum class ReduceKind : std::uint8_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kL1,         ///< sum |x|
  kL2,         ///< sqrt(sum x^2)
  kSumSquare,  ///< sum x^2
  kLogSum,     ///< log(sum x)
  kLogSumExp,  ///< log(sum e^x), as m + log(sum e^(x - m)) with m the largest x
};
std::string_view to_string(ReduceKind kind);

/// y = the statistic of x over some axes, in ascending order and without the batch. x is float32,
/// integers, or booleans for kMax and kMin. Float32 sums accumulate in double precision. Integers
/// wrap around; kinds whose result is not an integer are computed in double precision. Without
/// elements, sums are 0, products 1, kMax the lowest value of the type (-infinity), kMin the
/// largest. With keep_dims the axes stay with an extent of 1; otherwise they are removed.
struct Reduce {
  static constexpr std::string_view kName = "Reduce";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  ReduceKind kind = ReduceKind::kSum;
  std::vector<std::size_t> axes;
  bool keep_dims = true;
  bool operator==(const Reduce&) const = default;
};

/// y = the index of the largest or smallest element along an axis, int64; of equal ones the first
/// or the last. The axis must not be empty.
struct ArgReduce {
  static constexpr std::string_view kName = "ArgReduce";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  bool largest = true;
  bool last = false;
  bool keep_dims = true;
  bool operator==(const ArgReduce&) const = default;
};

/// y_i = x_0 + ... + x_i along an axis, without x_i if exclusive, from the end if reverse; float32
/// (accumulated in double precision) or integers.
struct CumSum {
  static constexpr std::string_view kName = "CumSum";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  bool operator==(const CumSum&) const = default;
};

ValueType infer_types(const Reduce& op, InputTypes inputs);
ValueType infer_types(const ArgReduce& op, InputTypes inputs);
ValueType infer_types(const CumSum& op, InputTypes inputs);
Tensor evaluate(const Reduce& op, InputTensors inputs);
Tensor evaluate(const ArgReduce& op, InputTensors inputs);
Tensor evaluate(const CumSum& op, InputTensors inputs);
std::string attributes(const Reduce& op);
std::string attributes(const ArgReduce& op);
std::string attributes(const CumSum& op);

}  // namespace halftone::ir
