// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/checked_save.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "halftone/api/evaluate.h"
#include "halftone/base/error.h"
#include "halftone/compress/layer_report.h"
#include "halftone/formats/model.h"

namespace halftone {
namespace {

/// |found - expected| / |expected|, of vectors.
double relative_error(std::span<const float> found, std::span<const float> expected) {
  double error = 0;
  double signal = 0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const double wanted = static_cast<double>(expected[i]);
    error += std::pow(static_cast<double>(found[i]) - wanted, 2);
    signal += wanted * wanted;
  }
  return error == 0 ? 0 : std::sqrt(error / signal);
}

}  // namespace

void check_same_outputs(const ir::Graph& found, const ir::Graph& expected,
                        const data::Dataset& data) {
  constexpr std::size_t kSamples = 16;
  constexpr double kMaxError = 0.1;
  const data::Dataset& all = data.parts()[0];  // of one size
  const data::Dataset samples(all.name(), all.size(), {all.inputs().begin(), all.inputs().end()},
                              {}, kSamples);
  std::vector<double> errors(samples.size());
  compress::EvaluateSettings options;
  options.execution.int8_activations = false;
  options.visit = [&](std::size_t sample, std::span<const float> a, std::span<const float> b) {
    errors[sample] = relative_error(a, b);
  };
  const Network reference(expected);
  evaluate(Network(found), samples, &reference, options);
  std::ranges::sort(errors);
  const double error = errors[errors.size() / 4];
  if (!(error > kMaxError)) return;
  fail(ErrorKind::kUnsupported,
       "does not read back: expected the outputs of the network on its samples, found others, by " +
           std::to_string(std::lround(100 * error)) + " % for most samples; write another format");
}

std::uintmax_t save_checked(const ir::Graph& network, const std::filesystem::path& path,
                            const formats::ExportOptions& form, const data::Dataset& data) {
  constexpr std::uintmax_t kMaxBytes = std::uintmax_t{256} << 20;  // plans pack weights once more
  if (compress::constant_bytes(network) > kMaxBytes)
    return formats::save_model(network, path, form);
  return formats::save_model(network, path, form, [&](const ir::Graph& found) {
    check_same_outputs(found, network, data);
  });
}

}  // namespace halftone
