// SPDX-License-Identifier: Apache-2.0
// Operators that repeat, pad or reverse elements. They take dense elements of any type.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// The elements around a tensor: a constant; its mirror image without the edge; its edge repeated;
/// the tensor repeated.
enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };
std::string_view to_string(PadMode mode);

/// y has before[i] extra elements in front of x along axis i, and after[i] behind it. Inputs: x
/// and, for kConstant, a scalar value (0 if absent).
struct Pad {
  static constexpr std::string_view kName = "Pad";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 2;
  PadMode mode = PadMode::kConstant;
  std::vector<std::size_t> before;
  std::vector<std::size_t> after;
  bool operator==(const Pad&) const = default;
};

/// x broadcast together with `shape` by NumPy's rule; `shape` may have extents of 1 where x has
/// others.
struct BroadcastTo {
  static constexpr std::string_view kName = "BroadcastTo";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  Shape shape;
  bool operator==(const BroadcastTo&) const = default;
};

/// x repeated repeats[i] times along axis i.
struct Tile {
  static constexpr std::string_view kName = "Tile";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<std::size_t> repeats;
  bool operator==(const Tile&) const = default;
};

/// Reverses the first lengths[sample] elements along time_axis of each sample along batch_axis; the
/// others stay. Inputs: x and lengths, int32 or int64. evaluate() throws Error kShape if a length
/// is out of range.
struct ReverseSequence {
  static constexpr std::string_view kName = "ReverseSequence";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t batch_axis = 0;
  std::size_t time_axis = 1;
  bool operator==(const ReverseSequence&) const = default;
};

/// The index of the element that padding shows at an index outside an extent; the index itself if
/// it lies inside; -1 for constant padding.
/// @param index  counted from the first element, negative in front of it
/// @pre extent > 0
constexpr std::int64_t padded_index(PadMode mode, std::int64_t index, std::int64_t extent) {
  if (index >= 0 && index < extent) return index;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return index < 0 ? 0 : extent - 1;
  const std::int64_t period = mode == PadMode::kWrap ? extent : 2 * (extent - 1);
  if (period == 0) return 0;
  const std::int64_t rest = (index % period + period) % period;
  return rest < extent ? rest : period - rest;
}

ValueType infer_types(const Pad& op, InputTypes inputs);
ValueType infer_types(const BroadcastTo& op, InputTypes inputs);
ValueType infer_types(const Tile& op, InputTypes inputs);
ValueType infer_types(const ReverseSequence& op, InputTypes inputs);
Tensor evaluate(const Pad& op, InputTensors inputs);
Tensor evaluate(const BroadcastTo& op, InputTensors inputs);
Tensor evaluate(const Tile& op, InputTensors inputs);
Tensor evaluate(const ReverseSequence& op, InputTensors inputs);
std::string attributes(const Pad& op);
std::string attributes(const BroadcastTo& op);
std::string attributes(const Tile& op);
std::string attributes(const ReverseSequence& op);

}  // namespace halftone::ir
