// SPDX-License-Identifier: Apache-2.0
// How layers are computed: the part of the options that plans, streams, evaluations and
// measurements share and pass on as a whole.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

struct NodeContext;
class PackedWeights;
class Tuning;

/// Creates the kernel of a layer of ir::Arithmetic::kBits in place of the implementation that was
/// chosen, for example a simulation of hardware. The context is that of Implementation::create();
/// nothing keeps the implementation.
using BitLayerFactory = std::function<std::optional<Kernel>(const NodeContext&)>;

struct ExecutionOptions {
  /// Whether layers of ir::Arithmetic::kIntegers may round their inputs to 8 bits, see
  /// kernels::quantize_rows() and kernels::Int8Levels. If not, they compute bits or float as
  /// ir::arithmetic_by_rule() says, whatever their attribute.
  bool int8_activations = true;
  FloatOrder float_order = FloatOrder::kFastest;  ///< kFixed for results that are written to a file
  /// Measured ways to compute layers, to which a plan adds those it lacks; null: estimates decide.
  /// Changes no result.
  std::shared_ptr<Tuning> tuning{};
  BitLayerFactory bit_layers{};  ///< may be empty
  /// What plans of one network share; null: each packs its own. Changes no result.
  std::shared_ptr<PackedWeights> packed_weights{};
};

}  // namespace halftone::runtime
