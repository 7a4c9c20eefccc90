// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements at indices given by another tensor. Indices are int32 or
// int64; a negative index counts from the end of its axis. evaluate() throws Error kShape if an
// index is out of range.
#pragma once

#include <cstdint>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y[a..., i..., b...] = x[a..., indices[i...], b...], where the axis lies between a and b. Along
/// axis 0, x may be codes of a basis at any granularity, or blocks (an embedding table); then y is
/// float32.
struct Gather {
  static constexpr std::string_view kName = "Gather";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  bool operator==(const Gather&) const = default;
};

/// y[p] = x[p with indices[p] as its index along the axis]. The indices have the rank of x and,
/// along the other axes, at most its extents.
struct GatherElements {
  static constexpr std::string_view kName = "GatherElements";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  bool operator==(const GatherElements&) const = default;
};

/// y[p..., q...] = x[p[:batch_dims], indices[p..., :], q...]: the last axis of indices holds
/// indices along the axes of x after the first batch_dims, which x and indices share.
struct GatherND {
  static constexpr std::string_view kName = "GatherND";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t batch_dims = 0;
  bool operator==(const GatherND&) const = default;
};

/// How an update u changes an element y: u; y + u; y u; the maximum or minimum of both.
enum class Scatter : std::uint8_t { kReplace, kAdd, kMul, kMax, kMin };
std::string_view to_string(Scatter reduction);

/// y = x, except that updates[p] is written at p with indices[p] as its index along the axis, in
/// order. Inputs x, indices, updates; kAdd and kMul do not take booleans.
struct ScatterElements {
  static constexpr std::string_view kName = "ScatterElements";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  std::size_t axis = 0;
  Scatter reduction = Scatter::kReplace;
  bool operator==(const ScatterElements&) const = default;
};

/// y = x, except that updates[p..., q...] is written at x[indices[p..., :], q...], in order.
struct ScatterND {
  static constexpr std::string_view kName = "ScatterND";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  Scatter reduction = Scatter::kReplace;
  bool operator==(const ScatterND&) const = default;
};

/// y has a new axis of extent `depth` with values[1] at the given index and values[0] elsewhere. An
/// index out of range selects no element.
struct OneHot {
  static constexpr std::string_view kName = "OneHot";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  std::size_t depth = 1;
  bool operator==(const OneHot&) const = default;
};

/// Indices of the k largest or smallest elements along an axis, int64, best first; of equal
/// elements the first is better. k may be the handle of an extent. A GatherElements yields the
/// elements themselves.
struct TopK {
  static constexpr std::string_view kName = "TopK";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  std::size_t k = 1;
  bool largest = true;
  bool operator==(const TopK&) const = default;
};

ValueType infer_types(const Gather& op, InputTypes inputs);
ValueType infer_types(const GatherElements& op, InputTypes inputs);
ValueType infer_types(const GatherND& op, InputTypes inputs);
ValueType infer_types(const ScatterElements& op, InputTypes inputs);
ValueType infer_types(const ScatterND& op, InputTypes inputs);
ValueType infer_types(const OneHot& op, InputTypes inputs);
ValueType infer_types(const TopK& op, InputTypes inputs);
Tensor evaluate(const Gather& op, InputTensors inputs);
Tensor evaluate(const GatherElements& op, InputTensors inputs);
Tensor evaluate(const GatherND& op, InputTensors inputs);
Tensor evaluate(const ScatterElements& op, InputTensors inputs);
Tensor evaluate(const ScatterND& op, InputTensors inputs);
Tensor evaluate(const OneHot& op, InputTensors inputs);
Tensor evaluate(const TopK& op, InputTensors inputs);
std::string attributes(const Gather& op);
std::string attributes(const GatherElements& op);
std::string attributes(const GatherND& op);
std::string attributes(const ScatterElements& op);
std::string attributes(const ScatterND& op);
std::string attributes(const OneHot& op);
std::string attributes(const TopK& op);

/// Resolves a negative index. @throws Error kShape if it is out of range
std::size_t resolve_index(std::int64_t index, std::size_t extent);

}  // namespace halftone::ir
