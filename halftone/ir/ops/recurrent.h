// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, computed step by step along a sequence.
#pragma once

#include <array>
#include <memory>

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/arithmetic.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

enum class RecurrentKind : std::uint8_t { kRnn, kGru, kLstm };

std::string_view to_string(RecurrentKind kind);  ///< "RNN", "GRU", "LSTM"
/// G, the number of gates: 1, 3, 4.
std::size_t num_gates(RecurrentKind kind);

/// The recurrence of a layer. The contribution of the layer's inputs to the gates, W x plus all
/// biases added outside, is projected beforehand for all steps by an ordinary FullyConnected.
/// Notation: x_g is the projected gate g of a step; h and c are the states before it (after it for
/// a reversed sequence); R_g are the H rows of the recurrence weights for gate g; f, g and k are
/// the functions activations[0..2]; * multiplies element by element:
///
///     RNN       h' = f(x + R h)
///     GRU       z = f(x_z + R_z h)       r = f(x_r + R_r h)
///               n = g(x_n + R_n (r * h)), with linear_before_reset g(x_n + r * (R_n h + b_n))
///               h' = (1 - z) * n + z * h
///     LSTM      i = f(x_i + R_i h + p_i * c)
///               a = f(x_a + R_a h + p_a * c), with input_forget 1 - i
///               c' = a * c + i * g(x_c + R_c h), within +-cell_clip
///               o = f(x_o + R_o h + p_o * c')
///               h' = o * k(c')
///
/// Gates are stored in the order z, r, n and i, o, a, c (a: forget), peepholes p in the order i, o,
/// a, as in ONNX. The arguments of f and g are clipped to +-clip. With `state_encoding`, the factor
/// of R (h, or r * h) is replaced by the levels of its codes.
///
/// Inputs: 0 projected gates float32 [T, B, G H] ([B, T, G H] if batch_major); 1 weights R [G H,
/// H], float32 or codes of a basis; 2 b_n [H], only for a GRU with linear_before_reset; 3 the
/// initial h [B, H], or [1, H] for all samples; 4 the initial c, only for an LSTM; 5 lengths of the
/// sequences int32 [B], clamped to [0, T]; 6 p [3 H], only for an LSTM. All but the first two are
/// optional and default to zeros, lengths to T. Output float32 [T, B, H] ([B, T, H]): h' of each
/// step, or with `with_cell` [T, B, 2 H]: h' and c'. Steps past the end of a sequence are zero;
/// with `carry` they repeat the states at its end (if the sequence is not reversed; a reversed one
/// ends in step 0). Source: ONNX operators RNN-14, GRU-14, LSTM-14; Hochreiter and Schmidhuber,
/// Long Short-Term Memory, 1997; Cho et al., 2014 (arXiv:1406.1078). Differs: cell_clip is from
/// TFLite.
struct Recurrent {
  static constexpr std::string_view kName = "Recurrent";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 7;
  RecurrentKind kind = RecurrentKind::kLstm;
  bool reverse = false;
  bool batch_major = false;
  bool linear_before_reset = false;
  bool input_forget = false;
  bool with_cell = false;
  bool carry = false;
  float clip = 0;       ///< 0: none
  float cell_clip = 0;  ///< 0: none
  std::array<Activation, 3> activations = {Activation{ActivationKind::kSigmoid},
                                           Activation{ActivationKind::kTanh},
                                           Activation{ActivationKind::kTanh}};
  /// Null: h is not encoded. Shared, like all encodings.
  std::shared_ptr<const numerics::MatrixEncoding> state_encoding;
  Arithmetic arithmetic = Arithmetic::kAuto;

  bool operator==(const Recurrent& other) const;
};

/// Indices of the inputs of Recurrent.
enum RecurrentInput : std::size_t {
  kGates,
  kRecurrenceWeights,
  kRecurrenceBias,
  kInitialHidden,
  kInitialCell,
  kSequenceLengths,
  kPeepholes,
};

/// The axis of samples in the projected gates and the output.
inline std::size_t batch_axis(const Recurrent& op) { return op.batch_major ? 0 : 1; }

ValueType infer_types(const Recurrent& op, InputTypes inputs);
Tensor evaluate(const Recurrent& op, InputTensors inputs);
std::string attributes(const Recurrent& op);

}  // namespace halftone::ir
