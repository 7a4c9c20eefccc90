// SPDX-License-Identifier: Apache-2.0
// Loops: operators that run a graph of their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

class Graph;

/// The axis along which iterations read or write slices; in reverse: the last slice first.
struct SliceAxis {
  std::size_t axis = 0;
  bool reversed = false;
  bool operator==(const SliceAxis&) const = default;
};

/// Runs a graph, the body, again and again. Iteration t computes
///
///     [condition,] states..., slices... = body(t, states..., x_1[t]..., captured...)
///
/// where x[t] is a slice without its axis. Iterations go on until there have been `trips`, or where
/// the condition is false.
///
/// Inputs: the first condition (kBool, one element), a limit of iterations (int64, one element;
/// absent: none), the first states, the values x that are sliced, the captured values.
///
/// An operator has one output. That of a loop is a record of bytes (uint8): the last states that
/// are kept, then each stack of all slices, one after another. LoopResult takes one out.
struct Loop {
  static constexpr std::string_view kName = "Loop";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 4096;
  /// Iterations until a loop counts as one without an end.
  static constexpr std::size_t kMaxIterations = 1'000'000;

  /// Shared, because operators are copied often. Its inputs are t (int64, a scalar), the states,
  /// slices and captured values; its outputs the condition if `is_while`, the states, the slices.
  std::shared_ptr<const Graph> body{};
  bool is_while = false;       ///< whether the body computes a condition
  std::optional<Dim> trips{};  ///< the number of iterations; nullopt: only a run tells
  std::vector<SliceAxis> reads{};
  std::vector<bool> keeps{};  ///< by state: whether the record has its last value
  std::vector<SliceAxis> stacks{};
  std::size_t max_iterations = kMaxIterations;

  [[nodiscard]] std::size_t num_states() const { return keeps.size(); }
  bool operator==(const Loop&) const = default;
};

/// A value out of a record of bytes: that of a type which begins at an offset.
struct LoopResult {
  static constexpr std::string_view kName = "LoopResult";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  ElementType element = ElementType::kFloat32;
  Shape shape{};
  Dim offset = 0;  ///< in bytes
  bool operator==(const LoopResult&) const = default;
};

/// The results of a loop in the order of its record.
std::vector<LoopResult> results_of(const Loop& loop);

/// The index among the outputs of the body of the first state.
inline std::size_t first_state_output(const Loop& loop) { return loop.is_while ? 1 : 0; }

/// Computes the outputs of a body from its inputs.
using RunBody = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
/// The record of a loop whose body somebody else runs.
Tensor run_loop(const Loop& loop, InputTensors inputs, const RunBody& run_body);

/// The error of a loop that has run for `max_iterations`.
[[noreturn]] void fail_endless(std::size_t max_iterations);

ValueType infer_types(const Loop& op, InputTypes inputs);
ValueType infer_types(const LoopResult& op, InputTypes inputs);
Tensor evaluate(const Loop& op, InputTensors inputs);
Tensor evaluate(const LoopResult& op, InputTensors inputs);
std::string attributes(const Loop& op);
std::string attributes(const LoopResult& op);

}  // namespace halftone::ir
