// SPDX-License-Identifier: Apache-2.0
// Quantizes networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/data_source.h"
#include "halftone/api/network.h"
#include "halftone/compress/quantize.h"
#include "halftone/formats/options.h"

namespace halftone {

/// Quantizes a network by a recipe, fitted to unlabelled samples. Integer weights are fitted again,
/// from the values they represent. The data is that of the float network: integer inputs and
/// outputs are float32 during the fit.
/// @throws Error as prepared() and compress::quantize()
compress::QuantizedGraph quantize(const Network& network, const data::Dataset& data,
                                  const compress::Recipe& recipe = {},
                                  const compress::QuantizeSettings& options = {});

/// A network of 8-bit integers that other runtimes open, with the rounding of the format that it
/// will be written in.
/// @param format  as in to_bytes()
/// @throws Error as prepared() and compress::quantize_to_integers(); kUsage if there is no such
///         format
compress::QuantizedGraph quantize_to_integers(const Network& network, const data::Dataset& data,
                                              const compress::Recipe& recipe,
                                              const compress::QuantizeSettings& options,
                                              std::string_view format);

/// A file to quantize and the file to write.
struct QuantizeJob {
  std::filesystem::path input;
  std::filesystem::path output;
  DataSource data;
  compress::Recipe recipe{};
  compress::QuantizeSettings options{};
  formats::ImportOptions import{};  ///< shapes and values for inputs
  /// Write a network of 8-bit integers that other runtimes open: compress::quantize_to_integers(),
  /// with the rounding of the format of the output.
  bool full_integer = false;
  /// ONNX: write a standard form, which other runtimes open. Whether the recipe has one is checked
  /// before the fit.
  formats::ExportOptions form{};
};

struct QuantizeReport {
  std::uintmax_t input_bytes = 0;   ///< of the file and its external data
  std::uintmax_t output_bytes = 0;  ///< of the file and its external data
  double seconds = 0;
  std::vector<compress::LayerReport> layers{};
  std::vector<compress::SkippedBlock> skipped_blocks{};
  std::size_t equalized_pairs = 0;      ///< see compress::QuantizedGraph
  std::vector<std::string> warnings{};  ///< a line each
  /// constant_bytes() before and after. Files have structure, names and notes of exporters, too.
  std::uint64_t input_weight_bytes = 0;
  std::uint64_t output_weight_bytes = 0;
};

/// Checks, before the fit, that the format of a file can hold a network with the codes of a recipe.
/// @throws Error as formats::check_model(), also of a standard form; kUsage, kUnsupported as
///         compress::with_rule_codes()
void check_quantized(const Network& network, const compress::Recipe& recipe,
                     const std::filesystem::path& output, const formats::ExportOptions& form = {});

/// What the result of a fit says; sizes of files and seconds are 0.
QuantizeReport report_of(const compress::QuantizedGraph& result);

/// Quantizes a file. Checks first that the output format can hold the network. All ranks of the
/// devices call this; the first one writes the file, and only its report has the size of that file.
/// @throws Error as check_output(), load(), save(), data::open_dataset() and quantize(); kUsage for
///         full integers in a standard form, which they have without it
QuantizeReport quantize_file(const QuantizeJob& job);

}  // namespace halftone
