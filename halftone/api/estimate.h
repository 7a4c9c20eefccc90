// SPDX-License-Identifier: Apache-2.0
// How long networks take on described hardware.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/estimate.h"
#include "halftone/accel/execute.h"
#include "halftone/accel/language.h"
#include "halftone/accel/training.h"
#include "halftone/api/language_model.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/measure.h"
#include "halftone/api/network.h"
#include "halftone/compress/recipe.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {

/// @param description  a name of accel::shipped_accelerators(), the path of a TOML file, or the
/// text
///                     of one
/// @throws Error as accel::load_accelerator()
accel::Accelerator accelerator_of(const std::string& description);

struct EstimateJob {
  std::optional<std::size_t> batch{};  ///< samples; nullopt: 1, or that of the network
  /// Codes for the layers, given without data: their bits count, not their values.
  std::optional<compress::Recipe> recipe{};
  std::optional<accel::TrainingSettings> training{};  ///< also the way back and the update
  accel::EstimateSettings options{};
};

/// The job of options, without their recipe.
/// @throws Error kUsage for an unknown method or split
EstimateJob job_of(const v0::EstimateOptions& options);

/// The work of a network as it runs, with the codes of a recipe.
/// @throws Error kUsage for a batch of 0; as prepared() and compress::with_rule_codes()
accel::Workload workload_of(Network network, const EstimateJob& job = {});

/// @throws Error as workload_of() and accel::estimate()
accel::Estimate estimate(Network network, const accel::Accelerator& accelerator,
                         const EstimateJob& job = {});

/// What the layers of a network take on described hardware, for one sample.
/// @param layers  names; the encoding of a layer's input counts for the layer
compress::RunCosts estimated_costs(const ir::Graph& network, const std::vector<std::string>& layers,
                                   const accel::Accelerator& accelerator);

/// "1000x784x10": rows, inner extent, columns of a product.
/// @throws Error kUsage unless these are three numbers from 1 to 2^24
accel::Product parse_product(std::string_view text);

/// Runs the products of a workload in their tiles on emulated units.
/// @throws Error as accel::execute(); kInternal if a result or a count differs
std::vector<accel::Executed> run_tiles(const accel::Workload& workload,
                                       const accel::Accelerator& accelerator,
                                       const accel::ExecuteOptions& options = {});

using v0::LanguageEstimateOptions;

/// A language model by its shape, config.json, whose weights have the bits that options say; or a
/// file that has the weights too (see is_language_model()), each in its own type.
/// @throws Error kUsage for bits outside 1 to 32, for no tokens or sequences, for bits and groups
///         of the weights of a file, and for a precision of a file that has one; kIo; as
///         accel::parse_language_model(), lm::open_model() and accel::estimate()
v0::LanguageEstimate estimate_language_model(const std::filesystem::path& path,
                                             const accel::Accelerator& accelerator,
                                             const LanguageEstimateOptions& options);

/// Describes the hardware at hand by measuring it.
/// @param device  empty or "cpu": the processor; "auto", "opencl", "cuda:1", ...: a graphics card
/// @throws Error as accel::measure_device()
accel::Accelerator measure_hardware(const std::string& device, const ProgressSink& progress = {});

/// What a measured network takes on described hardware, whose steps run one after another.
/// @throws Error kUnsupported if it lacks a unit for an operation
PredictedTimes predict(const runtime::Plan& plan, const accel::Accelerator& accelerator);
/// Sets what described hardware takes for what was measured of a model in a file.
/// @param open  how the model was opened: the bits of its weights, activations and cache
/// @throws Error as estimate_language_model()
void predict(LanguageSpeed& speed, const std::filesystem::path& model,
             const accel::Accelerator& accelerator, const OpenOptions& open);

}  // namespace halftone
