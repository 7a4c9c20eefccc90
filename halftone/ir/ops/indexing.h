// SPDX-License-Identifier: Apache-2.0
// Operators that read or write at places that other tensors name. Indices are int32 or int64; a
// negative one counts from the end of its axis. One that is out of range is an Error kShape when
// the operator is evaluated.
#pragma once

#include <cstdint>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y[a..., i..., b...] = x[a..., indices[i...], b...], the axis between a and b. Along axis 0, x
/// may be codes of a basis at any granularity, as the table of an embedding; y is float32 then.
struct Gather {
  static constexpr std::string_view kName = "Gather";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  bool operator==(const Gather&) const = default;
};

/// y[p] = x[p with indices[p] for its place along the axis]; indices have x's rank and, along the
/// other axes, at most its extents.
struct GatherElements {
  static constexpr std::string_view kName = "GatherElements";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  bool operator==(const GatherElements&) const = default;
};

/// y[p..., q...] = x[p[:batch_dims], indices[p..., :], q...]: the last axis of indices holds places
/// along the axes of x after the first batch_dims, which x and indices share.
struct GatherND {
  static constexpr std::string_view kName = "GatherND";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t batch_dims = 0;
  bool operator==(const GatherND&) const = default;
};

/// What becomes of an element that is written to: u; y + u; y u; the larger or smaller one.
enum class Scatter : std::uint8_t { kReplace, kAdd, kMul, kMax, kMin };
std::string_view to_string(Scatter reduction);

/// y = x, but at p with indices[p] for its place along the axis updates[p] is written, in order.
/// Inputs x, indices, updates; kAdd and kMul want numbers.
struct ScatterElements {
  static constexpr std::string_view kName = "ScatterElements";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  std::size_t axis = 0;
  Scatter reduction = Scatter::kReplace;
  bool operator==(const ScatterElements&) const = default;
};

/// y = x, but updates[p..., q...] is written at x[indices[p..., :], q...], in order.
struct ScatterND {
  static constexpr std::string_view kName = "ScatterND";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  Scatter reduction = Scatter::kReplace;
  bool operator==(const ScatterND&) const = default;
};

/// y has a new axis of `depth` with values[1] at the place that indices name and values[0]
/// elsewhere. Indices out of range name no place.
struct OneHot {
  static constexpr std::string_view kName = "OneHot";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t axis = 0;
  std::size_t depth = 1;
  bool operator==(const OneHot&) const = default;
};

/// The places of the k largest or smallest elements along an axis, int64, best first; of equal
/// elements the first is better. The elements themselves are a GatherElements.
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

/// The element that an index names. @throws Error kShape if it is out of range
std::size_t resolve_index(std::int64_t index, std::size_t extent);

}  // namespace halftone::ir
