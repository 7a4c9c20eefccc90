// SPDX-License-Identifier: Apache-2.0
// The activations that are one operator of ONNX, for its reader and its writer.
#pragma once

#include <span>
#include <string_view>

#include "halftone/ir/ops/activation.h"

namespace halftone::formats::onnx {

/// An operator that is one activation.
struct ActivationEntry {
  std::string_view op_type;
  ir::ActivationKind kind;
  const char* alpha = nullptr;  ///< the attribute that holds alpha; null if there is none
  float alpha_default = 0;
  const char* beta = nullptr;  ///< the same for beta
  float beta_default = 0;
  bool is_listed = false;  ///< whether RNN, GRU and LSTM take it among their activations
};

/// All of them.
std::span<const ActivationEntry> activations();
/// Null if no activation has the name.
const ActivationEntry* find_activation(std::string_view op_type);
/// Null if the kind is no operator without further attributes.
const ActivationEntry* find_activation(ir::ActivationKind kind);
/// An activation of RNN, GRU and LSTM by its name in lower-case letters; null if there is none.
const ActivationEntry* find_listed_activation(std::string_view lower_case_name);

}  // namespace halftone::formats::onnx
