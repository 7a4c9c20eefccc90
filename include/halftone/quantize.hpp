// SPDX-License-Identifier: Apache-2.0
// Quantizes networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/recipe.hpp"
#include "halftone/types/quantize.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For quantize().
  struct QuantizeOptions {
    std::uint64_t seed = 0;  ///< of the choice of activations that are kept for fitting
    Resources resources{};
    /// Memory for values of the samples, in place of reading them again; nullopt: a share of what
    /// is free. It changes no result.
    std::optional<std::uint64_t> sample_memory_bytes{};
    /// "onnx", "tflite" or "circle": a network of 8-bit integers that other runtimes open, rounded
    /// as in this format. Empty: by the recipe.
    std::string integers_for{};
    Progress progress{};  ///< may be empty
  };

  /// What quantize() returns.
  struct QuantizeResult {
    Model model;
    std::vector<LayerReport> layers;  ///< in order of execution
    std::vector<SkippedBlock> skipped_blocks;
    std::size_t equalized_pairs = 0;  ///< consecutive layers that were equalized
    double seconds = 0;
    std::vector<std::string> warnings{};  ///< a line each, such as samples that were left out
  };

  /// Quantizes a network by a recipe, fitted to unlabelled samples. The result depends on network,
  /// samples, recipe and seed alone: it is the same bytes for any number of threads and any
  /// processor, and those of `halftone quantize`. Samples that would decide the fit alone are left
  /// out, and named in the warnings; values may be NaN or infinite where they do not reach outputs.
  /// @throws Error kUnsupported if there is no layer to quantize, or all sampled values of an input
  ///         are equal; kUsage from the recipe; kFormat if weights or activations are not finite;
  ///         kShape if the samples do not fit; kInterrupted
  HALFTONE_CPP_API QuantizeResult quantize(const Model& model, const Data& samples,
                                           const Recipe& recipe = {},
                                           const QuantizeOptions& options = {});

}  // namespace v0
}  // namespace halftone
