// SPDX-License-Identifier: Apache-2.0
// What a quantization has measured and fitted so far, and its file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/state/job_identity.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/sensitivity.h"
#include "halftone/lm/quantize/type_costs.h"

namespace halftone::lm {

/// All that takes long. Hidden rows of samples are not kept: they are computed again.
struct QuantizeState {
  std::vector<std::vector<TokenId>> written{};   ///< samples that the model wrote: see SampleWriter
  std::optional<Sensitivities> sensitivities{};  ///< to choose types
  TypeCosts costs{};
  FittedMatrices fitted{};
  std::vector<double> losses{};  ///< SampleWalk::losses(); empty: not yet measured
};

/// Reads the file if there is one, else gives an empty state. Codes remain views of the file.
/// @throws Error kFormat if it is not such a file, is damaged, or has the state of another job:
///         names the first part that differs; kIo if it cannot be read
QuantizeState read_quantize_state(const std::filesystem::path& path, const JobIdentity& identity);

/// Replaces the whole file. It is a container of safetensors: codes and sensitivities as tensors,
/// the rest as JSON in the key halftone.quantize_state, with checksums of itself and of the
/// tensors.
/// @throws Error kIo as write_file()
void write_quantize_state(const std::filesystem::path& path, const JobIdentity& identity,
                          const QuantizeState& state);

}  // namespace halftone::lm
