// SPDX-License-Identifier: Apache-2.0
// The samples to which a language model is fitted. Private to this folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/sample_warnings.h"
#include "halftone/lm/quantize/samples.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone {

/// Where samples come from.
struct CalibrationSource {
  const std::filesystem::path& model;
  const std::filesystem::path& tokenizer;
  const std::vector<std::filesystem::path>& texts;
  bool is_synthetic = false;  ///< instead of texts: the model writes them
  lm::SampleOptions samples{};
  std::uint64_t seed = 0;
  int threads = 0;
};

/// Of a job that quantizes or measures a language model.
template <typename Job>
CalibrationSource calibration_source(const Job& job) {
  const lm::SampleOptions samples{job.sample_tokens, job.samples, job.held_out};
  return {job.input, job.tokenizer, job.texts, job.synthetic, samples, job.seed, job.threads};
}

/// How second moments are damped.
inline compress::Damping damping_of(const v0::LanguageFitOptions& options) {
  return {.channel = options.damping};
}

/// @throws Error kUsage unless there are either texts or synthetic samples, or if an option is out
///         of range
void check_calibration(const CalibrationSource& source, double damping);

struct CalibrationSamples {
  lm::Samples samples;
  std::vector<lm::SampleText> texts;
};

/// Samples of the texts, or those that the model writes.
/// @param written  those of an interrupted run, to which others are added
/// @param save     called after some were added
/// @throws Error kIo if a text cannot be read; kFormat if one is not UTF-8; as
/// lm::choose_samples(),
///         lm::build_decoder() and lm::write_samples()
CalibrationSamples calibration_samples(const CalibrationSource& source, const lm::ModelParts& model,
                                       const ProgressSink& progress,
                                       std::vector<std::vector<lm::TokenId>>& written,
                                       const std::function<void()>& save);

/// What may be wrong with the samples.
/// @param widest  a matrix with the most inputs, of those that are fitted
std::vector<std::string> sample_warnings(const CalibrationSamples& calibration,
                                         const std::vector<double>& losses, std::size_t widest,
                                         const std::string& matrix);

}  // namespace halftone
