// SPDX-License-Identifier: Apache-2.0
// Operators that repeat elements, put others around them, or turn their order. They take dense
// elements of any type.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// What lies around a tensor: a value; its mirror image, the edge itself not repeated; its edge;
/// the tensor again.
enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };
std::string_view to_string(PadMode mode);

/// y has before[i] more elements in front of x along axis i, and after[i] behind. Inputs x and, for
/// kConstant, the value [] (0 where it is absent).
struct Pad {
  static constexpr std::string_view kName = "Pad";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 2;
  PadMode mode = PadMode::kConstant;
  std::vector<std::size_t> before;
  std::vector<std::size_t> after;
  bool operator==(const Pad&) const = default;
};

/// x repeated to the shape it has with `shape` by NumPy's rule, which may have extents of 1 where x
/// has others.
struct BroadcastTo {
  static constexpr std::string_view kName = "BroadcastTo";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  Shape shape;
  bool operator==(const BroadcastTo&) const = default;
};

/// x repeats[i] times along axis i.
struct Tile {
  static constexpr std::string_view kName = "Tile";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<std::size_t> repeats;
  bool operator==(const Tile&) const = default;
};

/// Of each sample along batch_axis the first lengths[sample] elements along time_axis in reverse
/// order, the others as they are. Inputs x and lengths, int32 or int64; a length out of range is an
/// Error kShape when the operator is evaluated.
struct ReverseSequence {
  static constexpr std::string_view kName = "ReverseSequence";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  std::size_t batch_axis = 0;
  std::size_t time_axis = 1;
  bool operator==(const ReverseSequence&) const = default;
};

/// The place in an extent that a place outside (or inside) of it shows; none for a constant.
/// @param place  counted from the first element, in front of it negative
/// @pre extent > 0
constexpr std::int64_t padded_place(PadMode mode, std::int64_t place, std::int64_t extent) {
  if (place >= 0 && place < extent) return place;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return place < 0 ? 0 : extent - 1;
  const std::int64_t period = mode == PadMode::kWrap ? extent : 2 * (extent - 1);
  if (period == 0) return 0;
  const std::int64_t rest = (place % period + period) % period;
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
