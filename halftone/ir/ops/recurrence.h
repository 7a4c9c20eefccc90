// SPDX-License-Identifier: Apache-2.0
// Recurrences of language models: what a token gives depends on a state that earlier tokens of its
// sequence left, whose size does not depend on how many there were.
//
// Each operator has three forms. Samples are whole sequences [B, T, ..] that begin with a state of
// zeros. Rows [N, ..] may be of several sequences: row n is the next token of sequence slots[n],
// and rows of one sequence follow each other. A row at position 0 begins with zeros, whatever the
// state holds. Three inputs come before those of samples then: state [S, ..], slots and positions
// int32 [N]. Operators have one output, so two nodes with the same inputs give the rows and the
// state after them; a graph ties the state, and the runtime computes both nodes at once, in place.
#pragma once

#include <cstdint>

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

enum class RecurrenceForm : std::uint8_t {
  kSamples,  ///< samples to samples
  kRows,     ///< a state and rows to rows
  kState,    ///< a state and rows to the state after them
};
std::string_view to_string(RecurrenceForm form);  ///< "samples", "rows", "state"

/// y_t = f(bias + sum_k kernel[k] x_(t - K + 1 + k)), channel by channel: a causal convolution.
///
/// Inputs: x [.., C], kernel [K, C], optionally bias [C]. State [S, K - 1, C]: the last inputs, the
/// oldest first.
struct ShortConvolution {
  static constexpr std::string_view kName = "ShortConvolution";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 6;
  Activation activation{};
  RecurrenceForm form = RecurrenceForm::kSamples;
  bool operator==(const ShortConvolution&) const = default;
};

/// For channel c of head h = c / (C / H) and group g = c / (C / channel_groups):
///
///     s[n, c] = e^(dt[h] a[n, h]) s[n, c] + dt[h] x[c] b[g, n],  y[c] = sum_n c[g, n] s[n, c] +
///     d[h] x[c]
///
/// Inputs: x [.., C], dt [.., H], a [H] or [N, H], b and c [.., channel_groups N], d [H]. State [S,
/// N, C]. Source: Gu and Dao, 2023, arXiv:2312.00752, Sec. 3 (a head per channel); Dao and Gu,
/// 2024, arXiv:2405.21060, Sec. 3 (one a per head).
struct SelectiveScan {
  static constexpr std::string_view kName = "SelectiveScan";
  static constexpr std::size_t kMinInputs = 6;
  static constexpr std::size_t kMaxInputs = 9;
  std::size_t channel_groups = 1;
  RecurrenceForm form = RecurrenceForm::kSamples;
  bool operator==(const SelectiveScan&) const = default;
};

/// For head h of values and head g = h / (H / key_heads) of queries and keys:
///
///     s = e^decay[h] s,  s += k[g] (beta[h] (v[h] - k[g]^T s))^T,  y[h] = q[g]^T s
///
/// Inputs: q and k [.., key_heads D], v [.., H E], decay and beta [.., H]. State [S, H, D, E].
/// Source: Yang et al., 2024, arXiv:2412.06464, Eq. 10.
struct GatedDelta {
  static constexpr std::string_view kName = "GatedDelta";
  static constexpr std::size_t kMinInputs = 5;
  static constexpr std::size_t kMaxInputs = 8;
  std::size_t key_heads = 1;
  RecurrenceForm form = RecurrenceForm::kSamples;
  bool operator==(const GatedDelta&) const = default;
};

/// The number of inputs before those of samples.
inline std::size_t state_inputs(RecurrenceForm form) {
  return form == RecurrenceForm::kSamples ? 0 : 3;
}

ValueType infer_types(const ShortConvolution& op, InputTypes inputs);
ValueType infer_types(const SelectiveScan& op, InputTypes inputs);
ValueType infer_types(const GatedDelta& op, InputTypes inputs);
Tensor evaluate(const ShortConvolution& op, InputTensors inputs);
Tensor evaluate(const SelectiveScan& op, InputTensors inputs);
Tensor evaluate(const GatedDelta& op, InputTensors inputs);
std::string attributes(const ShortConvolution& op);
std::string attributes(const SelectiveScan& op);
std::string attributes(const GatedDelta& op);

}  // namespace halftone::ir
