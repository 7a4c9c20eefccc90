// SPDX-License-Identifier: Apache-2.0
// What a quantization has measured and fitted so far, and its file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "halftone/base/state/state_file.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/squared_gradients.h"
#include "halftone/lm/quantize/type_costs.h"

namespace halftone::lm {

/// All that takes long. Hidden rows of samples are not kept: they are computed again.
struct QuantizeState {
  std::vector<std::vector<TokenId>> written{};  ///< samples that the model wrote: see SampleWriter
  std::optional<SquaredGradients> gradients{};  ///< to choose types
  TypeCosts costs{};
  FittedMatrices fitted{};
  std::vector<double> losses{};  ///< SampleWalk::losses(); empty: not yet measured
};

/// What a state belongs to: a quantization, or a measurement of what types cost.
inline const StateKind kQuantizationKind = {"the state", "a state of a quantization"};
inline const StateKind kSensitivityKind = {"sensitivities", "measured sensitivities of a model"};

/// The log of a state: a record for the matrices of each block, for costs of the types of a block,
/// for samples, squared gradients and losses. Codes and gradients are the bytes of a record.
class QuantizeStateFile {
 public:
  /// @param path  empty: nothing is kept
  /// @throws Error as StateLog
  QuantizeStateFile(const std::filesystem::path& path, const JobIdentity& identity,
                    const StateKind& kind = kQuantizationKind);

  /// What the file has, or an empty state. Codes remain views of the file. Called once.
  /// @throws Error kFormat if a record has another form
  QuantizeState read();

  /// Appends what the file does not have. What it has must not change.
  /// @throws Error kIo as StateLog::append()
  void save(const QuantizeState& state);

 private:
  void add(const StateRecord& record, QuantizeState& state) const;
  void save_written(const QuantizeState& state);
  void save_costs(const TypeCosts& costs);
  void save_fitted(const FittedMatrices& fitted);
  void remember(const QuantizeState& state);

  std::filesystem::path path_;
  StateLog log_;
  // What the file has.
  std::size_t num_written_ = 0;
  bool has_gradients_ = false;
  bool has_losses_ = false;
  std::set<WeightId> costs_;
  std::set<WeightId> fitted_;
};

}  // namespace halftone::lm
