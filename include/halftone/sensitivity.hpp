// SPDX-License-Identifier: Apache-2.0
// Measures which layers lose how much in few bits, and quantizes networks within budgets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/quantize.hpp"
#include "halftone/recipe.hpp"
#include "halftone/types/defaults.hpp"
#include "halftone/types/sensitivity.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For sensitivity().
  struct SensitivityOptions {
    Recipe recipe{};  ///< how layers are fitted; what its overrides say is no choice
    /// What layers may get: WEIGHTS[/INPUTS], each [SYSTEM:]BITS, such as "2", "4/8", "3/none" or
    /// "symmetric:8"; or "float". Empty: "1", "2", "3", "4", "5", "6" and "8".
    std::vector<std::string> choices{};
    /// "kl": divergence of the predicted probabilities from those of the float network, in nats per
    /// sample; "error": squared error of the outputs, relative to those of the float network;
    /// "labels": cross entropy with the labels above that of the float network, in nats per sample.
    /// Empty: "kl" of classifiers, else "error".
    std::string loss{};
    /// Samples on which losses and errors are measured; nullopt: those of the fit.
    std::optional<Data> test_data{};
    /// The float network that the model was made from: the layers of the model are measured as they
    /// are. Recipe, choices and state are empty then.
    std::optional<Model> reference{};
    bool measure_time = true;  ///< also of each layer, on this machine
    /// A file that keeps what was measured of each choice, from which the same call continues after
    /// an interruption; empty: none.
    std::filesystem::path state{};
    std::uint64_t seed = 0;  ///< as for quantize(), and of the weights of errors
    /// As for quantize().
    std::optional<std::uint64_t> sample_memory_bytes{};
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// Measures each layer of a float network in each choice, alone and after the layers before it.
  /// The result is that of `halftone sensitivity`: but for times, it depends on network, samples
  /// and options alone, not on threads or the processor.
  /// @param samples  to which layers are fitted
  /// @throws Error as quantize(); kUsage also for no choice, an unknown one or one that is there
  ///         twice, an unknown loss, "labels" without labels, or a reference with recipe, choices
  ///         or state; kFormat if the state is of another network, data, recipe or seed; kIo if it
  ///         cannot be written; kShape if outputs are no scores, or the reference has other layers
  HALFTONE_CPP_API Sensitivity sensitivity(const Model& model, const Data& samples,
                                           const SensitivityOptions& options = {});

  /// Limits of a network, inclusive. One or two are set; what is least then is the first of loss,
  /// bytes and time that has no limit.
  struct Budget {
    std::optional<double> loss{};   ///< as SensitivityOptions::loss
    std::optional<double> bytes{};  ///< of the file
    std::optional<double> us{};     ///< microseconds for a sample, on this machine
    /// Picojoules for a sample: instructions times BudgetOptions::instruction_pj.
    std::optional<double> pj{};
    std::optional<double> instructions{};  ///< for a sample, as C: an estimate of export_c()
    std::optional<double> flash{};  ///< bytes as C, in place of those of the file: export_c()
    std::optional<double> ram{};    ///< bytes of the arena as C, beside another limit
  };

  /// For quantize_within(). Fields that SensitivityOptions has too mean the same.
  struct BudgetOptions {
    Recipe recipe{};
    std::vector<std::string> choices{};
    std::string loss{};
    std::optional<Data> test_data{};
    std::size_t tries = kBudgetTries;  ///< networks that are quantized, at most; at least 1
    std::string format = "circle";     ///< of the file whose bytes count: as Model::to_bytes()
    SaveOptions form{};                ///< of this file
    std::string core = "cortex-m4";    ///< of the C program: as ExportCOptions::core
    std::optional<double> instruction_pj{};  ///< picojoules of an instruction there
    std::filesystem::path state{};
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> sample_memory_bytes{};
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// What quantize_within() returns: the network, and how it was found.
  struct BudgetResult : QuantizeResult {
    std::vector<ChosenLayer> choices;
    std::vector<BudgetTry> tries;
    std::size_t chosen = 0;  ///< index of the network in `tries`
    /// Predicted networks that none beats in both loss and size (the time, if that is limited and
    /// bytes are not), from the smallest to the largest.
    std::vector<NetworkCosts> front;
    std::string recipe;  ///< in TOML: with it, quantize() makes the same network
    Sensitivity sensitivity;
    std::optional<std::size_t> ram_bytes{};  ///< of the arena as C, with a limit on it
  };

  /// Quantizes a float network with the choices that cost least within a budget: measures the
  /// sensitivity, chooses, quantizes, measures the result, and tries again with what that taught.
  /// Without a time in it the result is the same for any number of threads and any processor, and
  /// that of `halftone quantize --budget`. What was measured never exceeds the budget.
  /// @throws Error as sensitivity(); kUsage unless one or two limits are set, for a limit that is
  ///         not positive, or without a try; kUnsupported if the budget cannot be met, with what
  ///         the least or the nearest is, or the format cannot hold the network
  HALFTONE_CPP_API BudgetResult quantize_within(const Model& model, const Data& samples,
                                                const Budget& budget,
                                                const BudgetOptions& options = {});

}  // namespace v0
}  // namespace halftone
