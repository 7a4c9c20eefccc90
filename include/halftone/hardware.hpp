// SPDX-License-Identifier: Apache-2.0
// Networks on hardware that is described: how long they take, which hardware and bits are best, and
// what memristive crossbars make of them.
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
#include "halftone/recipe.hpp"
#include "halftone/types/hardware.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The names of the accelerators that the library describes: "h100", "cortex-m4", ...
  HALFTONE_CPP_API std::vector<std::string> accelerators();
  /// The description of an accelerator in TOML, to be changed; docs/accelerators.md has the keys.
  /// @param name  of accelerators()
  /// @throws Error kUsage if there is none of this name
  HALFTONE_CPP_API std::string accelerator_text(const std::string& name);

  /// For measure_hardware().
  struct MeasureHardwareOptions {
    std::string device{};  ///< "opencl", "cuda:1", "auto": a card; empty or "cpu": the processor
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// Describes the hardware at hand by measuring it, as `halftone estimate --measure` does.
  /// @return a description in TOML, as estimate() takes it
  /// @throws Error kUsage for another device; kDevice if there is no such card, or it fails
  HALFTONE_CPP_API std::string measure_hardware(const MeasureHardwareOptions& options = {});

  /// Time and energy of a network on described hardware, as `halftone estimate` prints them.
  /// @param accelerator  a name of accelerators(), the path of a TOML file, or the text of one
  /// @throws Error kUsage if there is no such accelerator, for a wrong description, method or
  /// split;
  ///         kUnsupported if no unit computes an operation, or memory is too small
  HALFTONE_CPP_API HardwareEstimate estimate(const Model& model, const std::string& accelerator,
                                             const EstimateOptions& options = {});

  /// Time and energy of a language model on described hardware, as `halftone estimate` prints them:
  /// of a prompt, of a token, and the speed by sequences.
  /// @param model  config.json of a Hugging Face folder, whose shape counts; or a file or folder as
  ///               LanguageModel::open() takes it, each matrix in its own type
  /// @throws Error as estimate(); kIo if the model cannot be read; kFormat and kUnsupported for
  /// what
  ///         it says; kUsage for bits outside 1 to 32, for no tokens or sequences, and for
  ///         `weight_bits` or `group_size` of a model in a file
  HALFTONE_CPP_API LanguageEstimate language_estimate(const std::filesystem::path& model,
                                                      const std::string& accelerator,
                                                      const LanguageEstimateOptions& options = {});

  /// For explore().
  struct ExploreOptions : ExploreSearch {
    Recipe recipe{};  ///< how layers are fitted
    /// On which losses are measured; nullopt: every fourth sample, which the fit does not see then.
    std::optional<Data> test_data{};
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// What explore() returns.
  struct ExploreResult {
    std::vector<std::string> layers;  ///< whose bits were chosen
    std::size_t num_hardware = 0;     ///< combinations of the parameters of the space
    std::size_t num_within = 0;       ///< those within the area that compute the network
    double num_designs = 0;           ///< combinations of hardware and bits
    /// Designs within all limits but that of the drop that no other one beats in objective, noise
    /// and area. Ascending objective.
    std::vector<HardwareDesign> front;
    std::vector<VerifiedDesign> verified;  ///< in the order in which they were tried
    std::size_t chosen = 0;                ///< index in `verified`
    bool is_within = false;                ///< whether the chosen design keeps the budget
    std::string accelerator;    ///< of the chosen design, in TOML, as estimate() takes it
    std::string recipe;         ///< of the chosen design, as parse_recipe() takes it
    HardwareEstimate estimate;  ///< of the network with the chosen bits
  };

  /// Chooses hardware and bits for each layer of a float network together, as `halftone explore`
  /// does: measures what each layer loses, finds the front of all designs, quantizes the best ones
  /// and measures them.
  /// @param samples  to which layers are fitted
  /// @param space    the path of a TOML file, or the text of one; docs/explore.md has the keys
  /// @throws Error as quantize() and estimate(); kUsage for a wrong space, objective or limit, or
  /// no
  ///         try; kUnsupported if no design is within the budget
  HALFTONE_CPP_API ExploreResult explore(const Model& model, const Data& samples,
                                         const std::string& space,
                                         const ExploreOptions& options = {});

  /// Runs a network with its layers of bits on simulated memristive crossbars, as `halftone
  /// crossbar` does, beside the digital network.
  /// @param device  "ideal", "pcm", "reram", the path of a TOML file, or the text of one;
  ///                docs/crossbar.md has the keys
  /// @throws Error as evaluate(); kIo if there is no such device; kUsage for a wrong description,
  /// or
  ///         no seed; kUnsupported if no layer can be mapped
  HALFTONE_CPP_API CrossbarResult crossbar(const Model& model, const Data& samples,
                                           const std::string& device,
                                           const CrossbarOptions& options = {});

}  // namespace v0
}  // namespace halftone
