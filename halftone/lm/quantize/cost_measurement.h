// SPDX-License-Identifier: Apache-2.0
// Measures what types would do to a model, step by step, in a state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/quantize/quantize_state.h"
#include "halftone/lm/quantize/type_costs.h"

namespace halftone::lm {

/// The types of all matrices of a model that hold their rows: those of types_to_choose(), or of a
/// list. Matrices that none holds are absent.
/// @param names  of types; empty: types_to_choose(is_gguf, ...)
/// @throws Error kUsage for an unknown type, one that comes twice, or if none holds any rows
TypeMenu type_menu(const ModelParts& model, bool is_gguf,
                   const std::vector<std::string>& names = {});

/// Samples to fit that gradients are measured on, at most.
inline constexpr std::size_t kGradientSamples = 8;

/// What costs are measured with.
struct CostMeasurement {
  const ModelParts& model;
  const Folding& folding;  ///< of the model
  const Samples& samples;
  compress::Damping damping{};
  std::uint64_t seed = 0;
  int threads = 1;               ///< of the float model
  ProgressSink progress{};       ///< may be empty
  std::function<void()> save{};  ///< called when the state has something new; may be empty
};

/// Measures what the state does not have: squared gradients of outputs, the costs of the types of
/// the menu, and the losses of the samples.
/// @throws Error as measure_squared_gradients() and measure_type_costs(); kUnsupported as
///         check_gradients()
void measure_costs(const CostMeasurement& how, const TypeMenu& menu, QuantizeState& state);

/// @throws Error kUnsupported if gradients cannot be measured, because blocks have operators
///         without a gradient: those of recurrences
void check_gradients(const Description& description);

}  // namespace halftone::lm
